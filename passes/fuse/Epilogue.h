//===- Epilogue.h - ops in the kernel of a contraction ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_EPILOGUE_H
#define SINTER_PASSES_FUSE_EPILOGUE_H

#include "ir/exec/Exec.h"

namespace sinter::passes {

struct Epilogue {
  /// The contraction and the ops that are computed with it, in the order of the
  /// block. Constants and broadcasts among them may have other users.
  llvm::SmallVector<mlir::Operation *> members;
  mlir::Value result; // what is stored
  /// Further values that are stored.
  llvm::SmallVector<mlir::Value> kept{};
  /// What a library call applies, in order.
  llvm::SmallVector<exec::PostOpKind> postOps{};
  /// Why it ends where it does, for what reads the results; "" if nothing does.
  std::string whyEnds{};

  /// All values that are stored.
  llvm::SmallVector<mlir::Value> results() const {
    llvm::SmallVector<mlir::Value> all{result};
    all.append(kept);
    return all;
  }

  /// Whether a library call reads a slice of `extent` besides its operands.
  bool reads(sinter_post_extent extent) const {
    return llvm::any_of(postOps, [&](exec::PostOpKind kind) {
      const sinter_post_op_traits &traits = exec::traitsOf(kind);
      return traits.slice == SINTER_POST_SLICE_READ && traits.extent == extent;
    });
  }
};

/// Finds the elementwise ops after `contraction` that a generated kernel can
/// apply to each element of the result. Includes ops that only these need, and
/// those that cost no more to compute than to read. What is kept besides the
/// result would be stored without the epilogue as well: the new values of a
/// weight and of its moments, from the weight's gradient.
Epilogue generatedEpilogue(mlir::Operation *contraction);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_EPILOGUE_H
