//===- OpClasses.h - kinds of ops that passes ask for -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_OPCLASSES_H
#define SINTER_PASSES_OPCLASSES_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// True when element i of the result is computed from elements i of the
/// operands and from nothing else. Such an op can be swapped with a reshape or
/// transpose.
inline bool isElementwise(mlir::Operation *op) {
  return op->hasTrait<mlir::OpTrait::Elementwise>();
}

/// The 16-bit floats from which `value` is cast to float32; null if it is not
/// such a cast.
inline mlir::Value widened(mlir::Value value) {
  auto cast = value.getDefiningOp<ir::CastOp>();
  if (!cast || !cast.getType().getElementType().isF32())
    return {};
  mlir::Type from = cast.getX().getType().getElementType();
  return from.isF16() || from.isBF16() ? cast.getX() : mlir::Value();
}

/// `value`, or the value that it is widened from.
inline mlir::Value asStored(mlir::Value value) {
  mlir::Value narrow = widened(value);
  return narrow ? narrow : value;
}

/// The 8-bit integers from which `value` is cast to int32; null if it is not
/// such a cast.
inline mlir::Value widenedBytes(mlir::Value value) {
  auto cast = value.getDefiningOp<ir::CastOp>();
  if (!cast || !cast.getType().getElementType().isSignlessInteger(32))
    return {};
  auto from =
      llvm::dyn_cast<mlir::IntegerType>(cast.getX().getType().getElementType());
  return from && from.getWidth() == 8 ? cast.getX() : mlir::Value();
}

/// The operands that a contraction multiplies; if both are widened from one
/// type of 16-bit floats, or both from 8-bit integers of any sign, the values
/// before the casts.
inline std::pair<mlir::Value, mlir::Value>
multiplied(mlir::Operation *contraction) {
  mlir::Value lhs = contraction->getOperand(0),
              rhs = contraction->getOperand(1);
  if (mlir::Value x = widenedBytes(lhs), y = widenedBytes(rhs); x && y)
    return {x, y};
  mlir::Value a = widened(lhs), b = widened(rhs);
  if (!a || !b ||
      ir::tensorType(a).getElementType() != ir::tensorType(b).getElementType())
    return {lhs, rhs};
  return {a, b};
}

/// True for the operands and results of an attention, or its gradient, that are
/// float32 when the others are 16 bits: statistics, and the mask, in which
/// numbers that stand for -inf would become -inf. A value may be the mask and
/// another operand as well.
inline bool staysFloat32(mlir::OpOperand &operand) {
  auto isOf = [&](mlir::MutableOperandRange range) {
    return llvm::any_of(
        range, [&](mlir::OpOperand &other) { return &other == &operand; });
  };
  if (auto grad = llvm::dyn_cast<ir::AttentionGradOp>(operand.getOwner()))
    return &operand == &grad.getStatsMutable() || isOf(grad.getMaskMutable());
  auto forward = llvm::dyn_cast<ir::AttentionOp>(operand.getOwner());
  return forward && isOf(forward.getMaskMutable());
}
inline bool staysFloat32(mlir::OpResult result) {
  if (auto grad = llvm::dyn_cast<ir::AttentionGradOp>(result.getOwner()))
    return result == grad.getMaskGrad();
  auto forward = llvm::dyn_cast<ir::AttentionOp>(result.getOwner());
  return forward && result == forward.getStats();
}

/// The value of a constant whose elements are one floating-point number,
/// widened.
inline std::optional<double> splatNumber(mlir::Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto splat =
      constant ? llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue())
               : nullptr;
  if (!splat || !llvm::isa<mlir::FloatType>(splat.getElementType()))
    return std::nullopt;
  llvm::APFloat number = splat.getSplatValue<llvm::APFloat>();
  bool losesInfo;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// Copies an elementwise op with `operands` of another common shape, at the
/// insertion point of the builder.
inline mlir::Operation *cloneWithShape(mlir::OpBuilder &builder,
                                       mlir::Operation *op,
                                       mlir::ValueRange operands,
                                       llvm::ArrayRef<int64_t> shape) {
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addAttributes(op->getAttrs());
  for (mlir::Type type : op->getResultTypes())
    state.addTypes(llvm::cast<mlir::RankedTensorType>(type).clone(shape));
  return builder.create(state);
}

} // namespace sinter::passes

#endif // SINTER_PASSES_OPCLASSES_H
