//===- MicroBatches.h - splits the batch to fit a limit ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// --allow-microbatch, and what is said about batches where a program does not
// fit. Whether a split fits is not estimated: it is planned, in trials that say
// nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MICROBATCHES_H
#define SINTER_COMPILER_DRIVER_MICROBATCHES_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// What is wrong with --allow-microbatch beside the other options, "" if
/// nothing.
std::string checkMicroBatches(const Options &options);

/// With --allow-microbatch, where the program of the whole batch does not fit
/// into --memory-limit however much is computed again: sets `options` to the
/// fewest micro-batches of equal size that fit, and says so in one line. Where
/// none fits, says what would and returns kExitMemory. Without the flag,
/// nothing. `model` is read unless it is there, and can be compiled from after.
ExitCode splitBatch(Options &options, ModelFile &model,
                    llvm::ArrayRef<TargetFactory> targets);

/// For whyTooLarge: "; the largest batch that fits is 21; with
/// --allow-microbatch 2 micro-batches of 16 fit". `batch` is the one that does
/// not fit; "" where no smaller one does, or it cannot be set.
std::string batchesThatFit(const Options &options, const ModelFile &model,
                           llvm::ArrayRef<TargetFactory> targets,
                           int64_t batch);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MICROBATCHES_H
