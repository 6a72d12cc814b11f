//===- EpilogueStep.h - one op that a library call applies ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_EPILOGUESTEP_H
#define SINTER_PASSES_FUSE_EPILOGUESTEP_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// True for a constant whose elements are equal.
bool isSplat(mlir::Value value);

/// If `value` is widened from a stored value, adds the cast to `members`.
void takeWidening(mlir::Value value,
                  llvm::SmallVectorImpl<mlir::Operation *> &members);

/// Adds `user`, the only user of `value`, and the ops that it needs to
/// `members`, if it is an op that libraries apply to the result of
/// `contraction`. The addition of a splat becomes that of a bias.
bool takeEpilogueStep(mlir::Operation *user, mlir::Value value,
                      mlir::Operation *contraction,
                      llvm::SmallVectorImpl<mlir::Operation *> &members);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_EPILOGUESTEP_H
