//===- Contraction.h - contractions as products of matrices -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The form of all generated contractions: C[b,m,n] = sum over k of A[b,m,k] *
// B[b,k,n], where each of the four dimensions consists of loops. A product of
// matrices has at most one loop per dimension. A convolution has loops over
// channels and over window positions; an operand is read only at positions
// inside it. The sum runs over k in ascending order.
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
/// `constant`, divided by `divisor`. If that is not an integer in [0, size),
/// the operand has no element there and the product is 0.
struct WindowPosition {
  llvm::SmallVector<ProductTerm> terms;
  int64_t constant, divisor, size;
  int64_t stride; // elements per position
  /// False if every multiple of `divisor` that occurs is inside.
  bool mayLeave = true;
};

/// An operand. Its element is offset + sum of `terms` + sum of position *
/// stride of the windows, in the dense tensor `base`.
struct ProductOperand {
  mlir::Value base;
  int64_t offset = 0;
  llvm::SmallVector<ProductTerm> terms;
  llvm::SmallVector<WindowPosition> windows;

  /// The elements between steps of a loop; 0 if the loop only moves a window.
  int64_t stride(ProductDim dim, unsigned loop) const;
  bool movesWindow(ProductDim dim, unsigned loop) const;
};

struct Contraction {
  /// The contraction in the body of a kernel. Nothing if there is none, or if
  /// it cannot be expressed: it reads several values, or has a dimension of
  /// 2^31 or more.
  static std::optional<Contraction> read(mlir::Block &body);

  /// Whether generated kernels can count the steps of the contraction `op`,
  /// with its sum in `stretches` equal parts: each dimension of the product,
  /// padding and dilation included, must fit in 32 bits.
  static bool isCountable(mlir::Operation *op, int64_t stretches = 1);

  /// The contraction op in the body; null if there is none.
  static mlir::Operation *find(mlir::Block &body);

  llvm::ArrayRef<int64_t> loopsOf(ProductDim dim) const {
    return loops[static_cast<unsigned>(dim)];
  }
  int64_t size(ProductDim dim) const;
  /// Turns this into the product of the transposes: rows become columns.
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
