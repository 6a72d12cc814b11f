//===- Quantization.h - ranges of 8-bit codes -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// --quantize=int8 --calibrate=DATA: runs the simplified program in float32 on
// all rows of the data, chooses the range of the input of each contraction with
// constant weights, and compares the quantised program with the float32 one on
// the same rows. With error=BOUND, the contractions whose own results lose most
// stay float32 until the error of every output is at most the bound.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_QUANTIZATION_H
#define SINTER_COMPILER_DRIVER_QUANTIZATION_H

#include "compiler/driver/Calibration.h"

namespace sinter::compiler {

/// Fills state.quantization, and prints what was quantised and what it cost;
/// reports failures.
ExitCode calibrateQuantization(const Options &options, CompileState &state,
                               llvm::ArrayRef<TargetFactory> targets,
                               const BatchRunner &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_QUANTIZATION_H
