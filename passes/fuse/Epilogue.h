//===- Epilogue.h - what joins the kernel of a contraction ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_EPILOGUE_H
#define SINTER_PASSES_FUSE_EPILOGUE_H

#include "ir/Dialect.h"

namespace sinter::passes {

struct Epilogue {
  /// The contraction and what joins it, in the order of the block. Constants
  /// and broadcasts among them may have other users.
  llvm::SmallVector<mlir::Operation *> members;
  mlir::Value result; // what is stored
  /// Further values that are stored, by library calls only.
  llvm::SmallVector<mlir::Value> kept{};
};

/// The elementwise ops after `contraction` that a generated kernel can compute
/// while it has an element of the result, together with what only they need and
/// what costs no more to read than to compute.
Epilogue generatedEpilogue(mlir::Operation *contraction);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_EPILOGUE_H
