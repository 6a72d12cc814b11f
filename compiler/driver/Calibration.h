//===- Calibration.h - ops too wide for fp16 --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// --calibrate=DATA compiles the program for the CPU in float32, so that its
// results are the ranges of all values that fp16 would round, and runs it on
// one batch, forward and backward. An op stays float32 if its values come near
// the largest fp16 number, or if rounding them to fp16 loses too much.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_CALIBRATION_H
#define SINTER_COMPILER_DRIVER_CALIBRATION_H

#include "compiler/driver/Driver.h"

#include "llvm/ADT/StringMap.h"

struct sinter_artifact;

namespace sinter::compiler {

/// Bytes of inputs by name.
using GivenInputs = llvm::StringMap<std::vector<char>>;

/// The source of the inputs that a run is not given.
struct CalibrationData {
  std::string spec;   // as a trainer's --data
  std::string labels; // the input that holds the loss's labels; "": none
  /// Whether bytes are divided by 255, as a trainer does, or refused.
  bool takesBytes = false;
};

/// Runs "main" of a program for the CPU once for each of `runs`. Inputs that
/// are not given are read from the first rows of the columns of `data`. Returns
/// what went wrong, "" if nothing; `outputs` gets the bytes of each output of
/// each run.
using ProgramRunner = std::function<std::string(
    const sinter_artifact &artifact, const CalibrationData &data,
    llvm::ArrayRef<GivenInputs> runs,
    std::vector<std::vector<std::vector<char>>> &outputs)>;

/// Rows that a run of all batches read.
struct BatchRows {
  int64_t batches = 0;
  int64_t used = 0;
  int64_t left = 0; // at the end; they do not fill a batch
};

/// Runs "main" of a program for the CPU on each whole batch of `data`, in
/// order, and calls `take` with the bytes of its outputs. Returns what went
/// wrong, there or in `take`; "" if nothing.
using BatchRunner = std::function<std::string(
    const sinter_artifact &artifact, const CalibrationData &data,
    llvm::function_ref<std::string(llvm::ArrayRef<std::vector<char>> outputs)>
        take,
    BatchRows &rows)>;

/// Fills state.calibrated; reports failures.
ExitCode calibrate(const Options &options, CompileState &state,
                   llvm::ArrayRef<TargetFactory> targets,
                   const ProgramRunner &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_CALIBRATION_H
