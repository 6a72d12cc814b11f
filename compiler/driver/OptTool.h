//===- OptTool.h - the logic of sinter-opt ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_OPTTOOL_H
#define SINTER_COMPILER_DRIVER_OPTTOOL_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// mlir-opt with our dialects, passes and phases. Ours, besides upstream's
/// flags:
///   --list-passes            every pass of ours with its summary
///   --phase=NAME             runs one phase of the table
///   --phase-options="..."    sinterc's options for it
int optMain(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_OPTTOOL_H
