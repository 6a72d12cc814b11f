//===- DiffTool.h - sinter-inspect diff A B ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_DIFFTOOL_H
#define SINTER_COMPILER_INSPECT_DIFFTOOL_H

#include "compiler/driver/Driver.h"
#include "compiler/verify/Bisect.h"

namespace sinter::compiler {

/// Whether these arguments, without the command, name two files.
bool namesTwoFiles(llvm::ArrayRef<std::string> args);

/// Compares the two files of `args`: models (their graphs, programs or
/// numbers), libraries and trainers, or traces.
/// Returns kExitDone if they do not differ, kExitFailed if they do, another
/// code on errors.
int diffFiles(llvm::ArrayRef<std::string> args,
              llvm::ArrayRef<TargetFactory> targets, const RunFunctions &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_DIFFTOOL_H
