//===- RunTool.h - sinter-inspect RUN... ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_RUN_RUNTOOL_H
#define SINTER_COMPILER_INSPECT_RUN_RUNTOOL_H

#include "compiler/inspect/run/Run.h"

#include "llvm/ADT/ArrayRef.h"

namespace sinter::compiler {

/// Takes the runs out of the words of a command line. `args` keeps the other
/// words. A folder that has only checkpoints is a run if `takesCheckpoints`.
std::vector<std::string> takeRuns(std::vector<std::string> &args,
                                  bool takesCheckpoints);

/// Reads all of `paths`; an error is printed. Returns the exit code. Two runs
/// of one name get their paths as titles.
int readRuns(llvm::ArrayRef<std::string> paths, std::vector<Run> &runs);

/// Whether `command` reports about runs.
bool isRunCommand(llvm::StringRef command);

/// Whether `args`, which may begin with a command, ask for a report about runs:
/// [summary|log|show|diff] RUN...
bool asksForRuns(llvm::ArrayRef<std::string> args);

/// The command. Returns the exit code.
int inspectRuns(llvm::ArrayRef<std::string> args);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_RUN_RUNTOOL_H
