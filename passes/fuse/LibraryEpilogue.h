//===- LibraryEpilogue.h - what a library call applies ----------*- C++ -*-===//
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

/// Finds what library calls apply to their results and what they keep beside
/// them. Contractions are asked about from the last to the first: the gradient
/// of a relu then says that the call which computes the relu keeps its mask.
class LibraryEpilogues {
public:
  /// Without a target every epilogue is allowed that reads only.
  explicit LibraryEpilogues(const Target *target) : target(target) {}

  /// The epilogue of `contraction`, a library call. May rewrite what the
  /// epilogue takes: equal numbers as a bias, and the mask of a relu as one
  /// that is kept.
  Epilogue of(mlir::Operation *contraction);

private:
  class Growth;
  mlir::Value keptMask(ir::WhereOp where, mlir::Operation *backward);

  const Target *target;
  /// The comparisons that the calls of relus keep for gradients.
  llvm::DenseSet<mlir::Operation *> masks;
};

/// True when a call of `contraction` can end with `postOps`, of which all but
/// the last are known to fit. Without a target: with those that only read.
bool isApplied(const Target *target, mlir::Operation *contraction,
               llvm::ArrayRef<PostOp> postOps);

/// A relu whose mask the call that computes it may keep.
struct MaskedRelu {
  ir::CompareOp compare;
  ir::ReluOp relu;
  mlir::Operation *forward = nullptr; // the contraction before it
};

/// The relu whose gradient `where` applies to a result of `backward`; null
/// unless bits of one call would do for the other.
MaskedRelu findMaskedRelu(ir::WhereOp where, mlir::Operation *backward,
                          const Target *target);

/// True for a gradient of a GELU that a library call may apply: of its only
/// user's result. The others are decomposed.
bool followsLibraryCall(ir::GeluGradOp grad, const Target *target);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_LIBRARYEPILOGUE_H
