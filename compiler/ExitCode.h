//===- ExitCode.h - how the tools end ---------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The exit codes of every tool; the numbers are those of sinter_status.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EXITCODE_H
#define SINTER_COMPILER_EXITCODE_H

namespace sinter::compiler {

enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,       // a bad flag or unreadable input; also "not yet"
  kExitUnsupported = 3, // operators that Sinter cannot compile
  kExitContract = 4,
  kExitMismatch = 5,
  kExitMemory = 6,
  kExitDevice = 7,
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EXITCODE_H
