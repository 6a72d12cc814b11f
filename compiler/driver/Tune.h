//===- Tune.h - decisions by measurement ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// --tune: a greedy search. Each question of the passes that has another answer
// is tried with it, all equal layers at once; what makes the program faster is
// kept. Each trial compiles the whole program and times it against the best one
// so far, in turns.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_TUNE_H
#define SINTER_COMPILER_DRIVER_TUNE_H

#include "compiler/driver/DecisionTable.h"
#include "compiler/driver/Driver.h"

#include "sinter/abi.h"

#include <functional>
#include <memory>
#include <string>

namespace sinter::compiler {

/// A program that was loaded to be timed, on made-up inputs.
class TimedProgram {
public:
  virtual ~TimedProgram() = default;
  /// Runs it (a trainer: makes steps) `count` times, one after another, and
  /// stores the time of all. Returns what went wrong, "" if nothing.
  virtual std::string run(int64_t count, double &milliseconds) = 0;
};

/// Loads `artifact`, which must outlive the result, on the device that it is
/// for. Null if that fails; `problem` says why.
using LoadTimed = std::function<std::unique_ptr<TimedProgram>(
    const sinter_artifact &artifact, std::string &problem)>;

/// Searches for about --tune-time seconds and leaves the fastest decisions in
/// `table`. Prints what it keeps. Reports errors.
ExitCode tune(const Options &options, const CompileState &state,
              const SharedModel &model, llvm::ArrayRef<TargetFactory> factories,
              const LoadTimed &load, DecisionTable &table);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_TUNE_H
