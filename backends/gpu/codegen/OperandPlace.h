//===- OperandPlace.h - where a contraction reads an operand ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_OPERANDPLACE_H
#define SINTER_BACKENDS_GPU_CODEGEN_OPERANDPLACE_H

#include "backends/common/codegen/Contraction.h"
#include "backends/gpu/codegen/Threads.h"

namespace sinter::gpu {

/// The values (counts) of the loops that make up `index`, outermost first.
llvm::SmallVector<mlir::Value> splitIndex(Threads &t, mlir::Value index,
                                          llvm::ArrayRef<int64_t> loops);

/// The elements that a thread moves at once of a tile of an operand, which has
/// `outer` rows or columns and `depth` steps of the sum, both powers of two.
/// They are neighbours along the dimension with more contiguous elements, 16
/// bytes at most.
struct PiecesOfTile {
  PiecesOfTile(const codegen::Contraction &contraction,
               const codegen::ProductOperand &operand,
               codegen::ProductDim outerDim, int64_t outer, int64_t depth);

  bool isAlongDepth;
  int64_t elements;
};

/// The address of an element of an operand, built up from the dimensions of the
/// product one by one.
class OperandPlace {
public:
  OperandPlace(Threads &threads, const codegen::ProductOperand &operand);

  /// This address with the loops of `dim` set to `values` (counts).
  OperandPlace at(codegen::ProductDim dim,
                  llvm::ArrayRef<mlir::Value> values) const;

  /// The element's offset in elements (i64), once all dimensions are set.
  mlir::Value offset() const;
  /// Whether the element exists; null: it does.
  mlir::Value isInside() const;

private:
  mlir::Value sum(mlir::Value start, llvm::ArrayRef<codegen::ProductTerm> terms,
                  codegen::ProductDim dim,
                  llvm::ArrayRef<mlir::Value> values) const;

  Threads *t;
  const codegen::ProductOperand *operand;
  mlir::Value linear;                     // i64, without windows
  llvm::SmallVector<mlir::Value> windows; // counts, before division
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_OPERANDPLACE_H
