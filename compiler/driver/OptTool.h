//===- OptTool.h - the logic of sinter-opt ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_OPTTOOL_H
#define SINTER_COMPILER_DRIVER_OPTTOOL_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// mlir-opt with Sinter's dialects, passes and phases. It adds these flags to
/// those of mlir-opt:
///   --list-passes            lists all passes with their summaries
///   --phase=NAME             runs one phase of the table
///   --phase-options="..."    sinterc's options for it
int optMain(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_OPTTOOL_H
