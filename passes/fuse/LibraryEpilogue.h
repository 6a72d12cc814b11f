//===- LibraryEpilogue.h - ops that a library call applies ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_LIBRARYEPILOGUE_H
#define SINTER_PASSES_FUSE_LIBRARYEPILOGUE_H

#include "passes/Target.h"
#include "passes/fuse/Epilogue.h"

#include "llvm/ADT/DenseSet.h"

namespace sinter::passes {

/// Finds the ops that library calls apply to their results, and the values that
/// they keep. Contractions must be visited from the last to the first: the
/// gradient of a relu determines that the call which computes the relu keeps
/// its mask.
class LibraryEpilogues {
public:
  /// Without a target every epilogue is allowed that only reads.
  explicit LibraryEpilogues(const Target *target) : target(target) {}

  /// The epilogue of `contraction`, a library call. May rewrite ops of the
  /// epilogue: an added splat becomes a bias, and the mask of a relu becomes
  /// one that is kept.
  Epilogue of(mlir::Operation *contraction);

private:
  class Growth;
  mlir::Value keptMask(ir::WhereOp where, mlir::Operation *backward);

  const Target *target;
  /// The masks that calls of relus keep for gradients.
  llvm::DenseSet<mlir::Operation *> masks;
};

/// True when a call of `contraction` can end with `postOps`. Values are kept
/// and gradients applied only by products without batch dimensions. Without a
/// target, only post-ops that just read fit. `narrow`: as for
/// Target::canFuseEpilogue.
bool isApplied(const Target *target, mlir::Operation *contraction,
               llvm::ArrayRef<PostOp> postOps, mlir::FloatType narrow = {});

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_LIBRARYEPILOGUE_H
