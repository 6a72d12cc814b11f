//===- RunTool.h - the logic of sinter-run ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_RUNTOOL_H
#define SINTER_TOOLS_LIB_RUNTOOL_H

#include "compiler/driver/Driver.h"

namespace sinter::tools {

/// Runs, compares and measures a model or a compiled library. Returns the exit
/// code.
int sinterRun(int argc, char **argv,
              llvm::ArrayRef<compiler::TargetFactory> targets);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_RUNTOOL_H
