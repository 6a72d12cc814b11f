//===- OperandPlace.h - where a contraction reads an operand ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_OPERANDPLACE_H
#define SINTER_BACKENDS_CUDA_CODEGEN_OPERANDPLACE_H

#include "backends/common/codegen/Contraction.h"
#include "backends/cuda/codegen/Threads.h"

namespace sinter::cuda {

/// The values (i32) of the loops that make up `index`, outermost first.
llvm::SmallVector<mlir::Value> splitIndex(Threads &t, mlir::Value index,
                                          llvm::ArrayRef<int64_t> loops);

/// What a thread moves at once of a tile of an operand, `outer` rows or columns
/// and `depth` steps of the sum, both powers of two: neighbours along the
/// dimension along which more of them lie together, 16 bytes at most.
struct PiecesOfTile {
  PiecesOfTile(const codegen::Contraction &contraction,
               const codegen::ProductOperand &operand,
               codegen::ProductDim outerDim, int64_t outer, int64_t depth);

  bool isAlongDepth;
  int64_t elements;
};

/// An element of an operand, by the dimensions of the product that are known so
/// far.
class OperandPlace {
public:
  OperandPlace(Threads &threads, const codegen::ProductOperand &operand);

  /// The place at which the loops of `dim` have `values` (i32).
  OperandPlace at(codegen::ProductDim dim,
                  llvm::ArrayRef<mlir::Value> values) const;

  /// Of the element, in elements (i64), once all dimensions are known.
  mlir::Value offset() const;
  /// Whether there is one; null: there is.
  mlir::Value isInside() const;

private:
  mlir::Value sum(mlir::Value start, llvm::ArrayRef<codegen::ProductTerm> terms,
                  codegen::ProductDim dim,
                  llvm::ArrayRef<mlir::Value> values) const;

  Threads *t;
  const codegen::ProductOperand *operand;
  mlir::Value linear;                     // i64, without windows
  llvm::SmallVector<mlir::Value> windows; // i32, before division
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_OPERANDPLACE_H
