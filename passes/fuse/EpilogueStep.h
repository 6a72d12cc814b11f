//===- EpilogueStep.h - one op that a library call applies ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_EPILOGUESTEP_H
#define SINTER_PASSES_FUSE_EPILOGUESTEP_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// True for a constant of equal numbers.
bool isSplat(mlir::Value value);

/// Adds the cast that `value` is, if it widens what is stored.
void takeWidening(mlir::Value value,
                  llvm::SmallVectorImpl<mlir::Operation *> &members);

/// Adds `user`, the only user of `value`, and what it needs to `members` if it
/// is an op that libraries apply to the result of `contraction`. A number that
/// is added becomes a bias.
bool takeEpilogueStep(mlir::Operation *user, mlir::Value value,
                      mlir::Operation *contraction,
                      llvm::SmallVectorImpl<mlir::Operation *> &members);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_EPILOGUESTEP_H
