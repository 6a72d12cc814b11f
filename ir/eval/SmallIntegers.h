//===- SmallIntegers.h - evaluation in 16-bit integers ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The weights of a quantised model are codes of a few bits that some ops unpack
// and shift. A Tensor would take eight bytes for each element of each step.
// These evaluations take two, and give the same values. They know few ops, and
// only whole numbers of 16 bits; whoever calls them goes back to Tensors where
// they have no value.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EVAL_SMALLINTEGERS_H
#define SINTER_IR_EVAL_SMALLINTEGERS_H

#include "ir/StoredIntegers.h"
#include "ir/Tensor.h"

#include "mlir/IR/Operation.h"

namespace sinter::ir {

/// Whole numbers of 16 bits that stand for elements of `type`, integers or
/// float32. A float of -0 counts as 0.
struct SmallIntegers {
  mlir::RankedTensorType type;
  std::vector<int16_t> numbers; // row-major, or a single one for all elements
  IntegerRange bounds;          // perhaps wider than the range of the numbers

  static std::optional<SmallIntegers> fromAttr(mlir::ElementsAttr value);
  static std::optional<SmallIntegers> fromTensor(const Tensor &tensor);

  bool isSplat() const { return numbers.size() == 1; }
  /// Makes `bounds` those of the numbers.
  void tightenBounds();
  /// One number for each element.
  void expandSplat();
};

/// The result of `op` for its operands, whose numbers it may use up. Nothing
/// for ops other than casts, views, concatenations, sums, differences, shifts
/// to the right and bitwise and; nor if results may not fit the element type or
/// 16 bits.
std::optional<SmallIntegers>
evaluateSmall(mlir::Operation *op,
              llvm::MutableArrayRef<SmallIntegers> operands);

} // namespace sinter::ir

#endif // SINTER_IR_EVAL_SMALLINTEGERS_H
