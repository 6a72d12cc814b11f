//===- FailingCommand.h - runs the command of --check -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_FAILINGCOMMAND_H
#define SINTER_COMPILER_VERIFY_FAILINGCOMMAND_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sinter::compiler {

/// A command for /bin/sh in which {} stands for a file.
class FailingCommand {
public:
  /// `match`: a regular expression that a line of its output must match; "":
  /// the exit status counts alone.
  FailingCommand(std::string command, std::string match)
      : command_(std::move(command)), match_(std::move(match)) {}

  /// Runs the command on `path` and remembers how it fails. Returns why that is
  /// no failure, "" if it is one.
  std::string begin(llvm::StringRef path);
  /// Whether it fails in the same way. A run that takes ten times as long as
  /// the first one, and ten seconds more, does not.
  bool failsOn(llvm::StringRef path);
  /// The command with the file's name.
  std::string line(llvm::StringRef path) const;
  /// "exit status 5", "signal 11".
  std::string howItFails() const;
  int numRuns() const { return numRuns_; }

private:
  struct Outcome {
    int status = 0; // 128 + n for signal n; -1: not started or too slow
    bool matches = false;
  };
  Outcome run(llvm::StringRef path);

  std::string command_, match_;
  int status_ = 0, numRuns_ = 0;
  unsigned limitSeconds_ = 0; // 0: none
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_FAILINGCOMMAND_H
