//===- QuantizedValue.h - values that stand for 8-bit codes -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Takes values of the form (codes - zero point) * scale apart, for the pass
// NarrowProducts.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_QUANTIZEDVALUE_H
#define SINTER_PASSES_SIMPLIFY_QUANTIZEDVALUE_H

#include "passes/ValueBuilder.h"

namespace sinter::passes {

/// A value as (codes - zero) * scale. Each part has the shape of the value; the
/// codes are 8-bit integers, zero points int32, scales float32. Null: a zero
/// point of 0, a scale of 1.
struct Quantized {
  mlir::Value codes, zero, scale;
};

/// Takes operands of contractions apart. New ops are built by `b`, new
/// constants beside those that they replace.
class QuantizedReader {
public:
  explicit QuantizedReader(ValueBuilder &b) : b(b) {}

  /// The parts of an operand of float32 or int32; an int32 has no scale.
  /// Nothing if it is not quantised to 8 bits.
  std::optional<Quantized> read(mlir::Value value) const;

  /// `value` without `dims`, along which it must not vary; null if it may.
  mlir::Value withoutDims(mlir::Value value,
                          llvm::ArrayRef<int64_t> dims) const;

private:
  std::optional<Quantized> integersOf(mlir::Value value) const;
  std::optional<Quantized> floatsOf(mlir::Value value) const;
  std::optional<Quantized> constantOf(mlir::Value value) const;
  template <class Parts>
  std::optional<Quantized> throughTranspose(mlir::Value value,
                                            Parts parts) const;

  ValueBuilder &b;
};

/// Whether every sum of `terms` products of two such values fits int32.
bool sumsFit(const Quantized &lhs, const Quantized &rhs, double terms);

/// The value of `conv` by the 8-bit convolution; null with `reason` if it has
/// none. Ops are built in front of `conv`.
mlir::Value narrowConvolution(ir::ConvOp conv, llvm::StringRef &reason);

/// The value of `dot` as a product whose weights are read as the codes that
/// they are stored as; null if there is none, with `reason` if the weights are
/// quantised. Ops are built in front of `dot`.
mlir::Value weightOnlyProduct(ir::DotGeneralOp dot, llvm::StringRef &reason);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_QUANTIZEDVALUE_H
