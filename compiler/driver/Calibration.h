//===- Calibration.h - ops too wide for fp16 --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// --calibrate=DATA: the program is compiled for the CPU in float32, with the
// range of every value that fp16 would round as a result, and run on one batch,
// forward and backward. Ops whose values come near the largest fp16 number, or
// mostly lie below the smallest, stay float32.
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

/// What the inputs that no run gives are read from.
struct CalibrationData {
  std::string spec;   // as a trainer's --data
  std::string labels; // the input that the loss's labels are; "": none
};

/// Runs "main" of a program for the CPU once for each of `runs`: inputs that
/// are not given are columns of `data`, its first rows. Returns what went
/// wrong, "" if nothing; `outputs` gets the bytes of each output of each run.
using ProgramRunner = std::function<std::string(
    const sinter_artifact &artifact, const CalibrationData &data,
    llvm::ArrayRef<GivenInputs> runs,
    std::vector<std::vector<std::vector<char>>> &outputs)>;

/// Fills options.calibrated. Failure was reported.
ExitCode calibrate(Options &options, llvm::ArrayRef<TargetFactory> targets,
                   const ProgramRunner &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_CALIBRATION_H
