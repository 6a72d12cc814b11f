//===- Contraction.h - contractions as products of matrices -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What generated contractions start from: C[b,m,n] = sum over k of A[b,m,k] *
// B[b,k,n], where each of the four dimensions is made of loops. A product of
// matrices has a loop or none per dimension; a convolution has the channels and
// the positions of its windows, which an operand is read at where they lie
// inside of it. The sum runs over k in ascending order.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_CONTRACTION_H
#define SINTER_BACKENDS_COMMON_CODEGEN_CONTRACTION_H

#include "ir/Dialect.h"

#include <array>
#include <optional>

namespace sinter::codegen {

enum class ProductDim : unsigned { batch, rows, columns, depth };
inline constexpr unsigned kProductDims = 4;

/// `factor` times the value of loop number `loop` of `dim`.
struct ProductTerm {
  ProductDim dim;
  unsigned loop;
  int64_t factor;
};

/// A position along a dimension of an operand: the sum of `terms` and
/// `constant`, divided by `divisor`. Where that is no integer from 0 to below
/// `size`, the operand has no element and the product is 0.
struct WindowPosition {
  llvm::SmallVector<ProductTerm> terms;
  int64_t constant, divisor, size;
  int64_t stride; // elements per position
  /// False when every multiple of `divisor` that occurs is inside.
  bool mayLeave = true;
};

/// Element offset + sum of `terms` + sum of position * stride of the dense
/// bytes of `base`.
struct ProductOperand {
  mlir::Value base;
  int64_t offset = 0;
  llvm::SmallVector<ProductTerm> terms;
  llvm::SmallVector<WindowPosition> windows;

  /// The elements between steps of a loop; 0 where it moves a window only.
  int64_t stride(ProductDim dim, unsigned loop) const;
  bool movesWindow(ProductDim dim, unsigned loop) const;
};

struct Contraction {
  /// The contraction in the body of a fusion; nothing when there is none, or it
  /// cannot be expressed: what reads several values, or has dimensions of 2^31
  /// and more.
  static std::optional<Contraction> read(mlir::Block &body);

  /// True when kernels of ours can count the steps of `op`, a contraction whose
  /// sum is in `stretches` equal parts: 32 bits for each of the dimensions that
  /// a product has, padding and dilation included.
  static bool isCountable(mlir::Operation *op, int64_t stretches = 1);

  /// The op itself, anywhere in the body; null if there is none.
  static mlir::Operation *find(mlir::Block &body);

  llvm::ArrayRef<int64_t> loopsOf(ProductDim dim) const {
    return loops[static_cast<unsigned>(dim)];
  }
  int64_t size(ProductDim dim) const;
  /// The product of the transposes: rows become columns.
  void transpose();

  mlir::Operation *op;
  /// Sizes of the loops of each dimension, outermost first.
  std::array<llvm::SmallVector<int64_t>, kProductDims> loops;
  ProductOperand a, b;
  /// Position in the dense result.
  llvm::SmallVector<ProductTerm> result;
};

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_CONTRACTION_H
