//===- MicroBatches.h - splits the batch to fit a limit ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// --allow-microbatch, and the batches that an error message suggests when a
// program does not fit. Silent trial compilations up to the plan decide whether
// a split fits; nothing is estimated.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MICROBATCHES_H
#define SINTER_COMPILER_DRIVER_MICROBATCHES_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// How --allow-microbatch contradicts the other options; "" if it does not.
std::string checkMicroBatches(const Options &options);

/// With --allow-microbatch, if the program of the whole batch does not fit into
/// --memory-limit even with recomputation: sets `state` to the fewest
/// micro-batches of equal size that fit, and prints that in one line. If none
/// fits, reports the smallest limit and returns kExitMemory. Without the flag
/// does nothing. Reads `model` unless it was read; the caller can compile it.
ExitCode splitBatch(const Options &options, CompileState &state,
                    SharedModel &model, llvm::ArrayRef<TargetFactory> targets);

/// For whyTooLarge: "; the largest batch that fits is 21; with
/// --allow-microbatch 2 micro-batches of 16 fit". `batch` does not fit. "" if
/// no smaller batch fits, or the batch cannot be set.
std::string batchesThatFit(const Options &options, const CompileState &state,
                           const SharedModel &model,
                           llvm::ArrayRef<TargetFactory> targets,
                           int64_t batch);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MICROBATCHES_H
