//===- Check.h - sinterc --check, sizes that are not known ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECK_H
#define SINTER_COMPILER_CHECK_H

#include "compiler/Driver.h"

namespace sinter::compiler {

/// Stands for every size that is not known: divisible, and not too large.
inline constexpr int64_t kMadeUpSize = 8;

/// Binds the sizes that `model` and the command line leave open, for answers
/// that need some size; false if there are none.
bool makeUpSizes(const OnnxModel &model, Options &options);
/// Says so on stderr.
void noteMadeUpSizes(const Options &options);

/// Lists every operator of the model that cannot be imported or that the target
/// has no code for and, with --train, every one that a gradient would have to
/// pass and cannot. Sizes that the model leaves open are made up. Nothing is
/// compiled. kExitUnsupported if there is any.
ExitCode checkCoverage(Options options, TargetSet targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECK_H
