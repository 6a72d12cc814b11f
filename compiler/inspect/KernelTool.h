//===- KernelTool.h - sinter-inspect kernels FILE NAME ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_KERNELTOOL_H
#define SINTER_COMPILER_INSPECT_KERNELTOOL_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// Whether these arguments, without the command, ask for the code of kernels or
/// for one kernel, and not for the list of all.
bool asksForKernels(llvm::ArrayRef<std::string> args);

/// What is wrong with --sort=`order`, "" without the option; "" if nothing is.
std::string checkKernelSort(llvm::StringRef order);

/// Shows the kernel that the second word of `args` names, or all kernels: what
/// it computes, its code in one form, and its figures. Returns the exit code.
int inspectKernels(llvm::ArrayRef<std::string> args,
                   llvm::ArrayRef<TargetFactory> targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_KERNELTOOL_H
