//===- ElementwiseFolds.cpp - identities of elementwise ops ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Every identity holds for NaN, infinities and -0.0. For example x + 0.0 is not
// x if x is -0.0, and x * 0.0 is not 0 if x is NaN.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/ops/Folds.h"

using namespace mlir;
using namespace sinter::ir;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// The operand of `x` if it is an OpTy, else null.
template <class OpTy> static Value operandOf(Value x) {
  auto op = x.getDefiningOp<OpTy>();
  return op ? op.getX() : Value();
}

/// `x` if it is the result of one of `OpTys`: applying these again changes
/// nothing. Else null.
template <class... OpTys> static Value keepIfMadeBy(Value x) {
  return (x.getDefiningOp<OpTys>() || ...) ? x : Value();
}

OpFoldResult NegOp::fold(FoldAdaptor) { return operandOf<NegOp>(getX()); }
OpFoldResult NotOp::fold(FoldAdaptor) { return operandOf<NotOp>(getX()); }
OpFoldResult BitNotOp::fold(FoldAdaptor) { return operandOf<BitNotOp>(getX()); }
OpFoldResult FloorOp::fold(FoldAdaptor) {
  return keepIfMadeBy<FloorOp, CeilOp, RoundOp>(getX());
}
OpFoldResult CeilOp::fold(FoldAdaptor) {
  return keepIfMadeBy<FloorOp, CeilOp, RoundOp>(getX());
}
OpFoldResult RoundOp::fold(FoldAdaptor) {
  return keepIfMadeBy<FloorOp, CeilOp, RoundOp>(getX());
}
OpFoldResult ReluOp::fold(FoldAdaptor) { return keepIfMadeBy<ReluOp>(getX()); }
OpFoldResult StopGradientOp::fold(FoldAdaptor) {
  return keepIfMadeBy<StopGradientOp>(getX());
}

OpFoldResult AbsOp::fold(FoldAdaptor) {
  if (getType().getElementType().isUnsignedInteger())
    return getX();
  if (Value negated = operandOf<NegOp>(getX())) {
    getXMutable().assign(negated);
    return getResult();
  }
  return keepIfMadeBy<AbsOp>(getX());
}

//===----------------------------------------------------------------------===//
// Two operands; the constant of a commutative op is its rhs
//===----------------------------------------------------------------------===//

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isIntSplat(adaptor.getRhs(), 0) || isFloatSplat(adaptor.getRhs(), -0.0))
    return getLhs();
  return {};
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getRhs(), 0))
    return getLhs();
  if (getLhs() == getRhs() && isa<IntegerType>(getType().getElementType()))
    return splatAttr(getType(), 0);
  return {};
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getRhs(), 1))
    return getLhs();
  if (isIntSplat(adaptor.getRhs(), 0))
    return adaptor.getRhs();
  return {};
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getRhs(), 1) ? OpFoldResult(getLhs()) : OpFoldResult();
}

OpFoldResult PowOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getRhs(), 1))
    return getLhs();
  // x^0 is 1 for every x, even NaN.
  if (isSplat(adaptor.getRhs(), 0) || isFloatSplat(adaptor.getRhs(), -0.0))
    return splatAttr(getType(), 1);
  return {};
}

OpFoldResult MaxOp::fold(FoldAdaptor) {
  return getLhs() == getRhs() ? OpFoldResult(getLhs()) : OpFoldResult();
}

OpFoldResult MinOp::fold(FoldAdaptor) {
  return getLhs() == getRhs() ? OpFoldResult(getLhs()) : OpFoldResult();
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isIntSplat(adaptor.getRhs(), -1))
    return getLhs();
  return isIntSplat(adaptor.getRhs(), 0) ? OpFoldResult(adaptor.getRhs())
                                         : OpFoldResult();
}

OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isIntSplat(adaptor.getRhs(), 0))
    return getLhs();
  return isIntSplat(adaptor.getRhs(), -1) ? OpFoldResult(adaptor.getRhs())
                                          : OpFoldResult();
}

OpFoldResult XorOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return splatAttr(getType(), 0);
  return isIntSplat(adaptor.getRhs(), 0) ? OpFoldResult(getLhs())
                                         : OpFoldResult();
}

OpFoldResult ShiftLeftOp::fold(FoldAdaptor adaptor) {
  return isIntSplat(adaptor.getRhs(), 0) ? OpFoldResult(getLhs())
                                         : OpFoldResult();
}

OpFoldResult ShiftRightOp::fold(FoldAdaptor adaptor) {
  return isIntSplat(adaptor.getRhs(), 0) ? OpFoldResult(getLhs())
                                         : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Choice and cast
//===----------------------------------------------------------------------===//

OpFoldResult WhereOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  SplatElementsAttr condition = asSplat(adaptor.getCondition());
  if (!condition)
    return {};
  return condition.getSplatValue<bool>() ? getLhs() : getRhs();
}

/// True when every value of `from` has the same value in `to`.
static bool isLossless(Type from, Type to) {
  if (from == to || from.isInteger(1))
    return true;
  if (to.isInteger(1))
    return false;
  unsigned fromWidth = from.getIntOrFloatBitWidth(),
           toWidth = to.getIntOrFloatBitWidth();
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat)
    return toFloat && fromWidth < toWidth;
  bool isUnsigned = from.isUnsignedInteger();
  if (toFloat) {
    // The mantissa of f16 is long enough for the magnitudes of 8 bits, that of
    // bf16 just so.
    return fromWidth - (isUnsigned ? 0 : 1) <= toFloat.getFPMantissaWidth();
  }
  if (isUnsigned == to.isUnsignedInteger())
    return fromWidth <= toWidth;
  return isUnsigned && fromWidth < toWidth;
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  // cast(cast(x)) -> cast(x), if the first cast is lossless and the second
  // means the same from the first type on: integers wrap into integers, but
  // floats saturate.
  auto inner = getX().getDefiningOp<CastOp>();
  if (!inner)
    return {};
  Type from = inner.getX().getType().getElementType(),
       middle = inner.getType().getElementType();
  Type to = getType().getElementType();
  if (!isLossless(from, middle))
    return {};
  if (isa<IntegerType>(from) && isa<FloatType>(middle) &&
      isa<IntegerType>(to) && !to.isInteger(1) && !isLossless(from, to))
    return {};
  // A value widened from 16 bits is stored and multiplied in 16 bits, so a
  // small integer keeps that cast.
  if (isa<IntegerType>(from) && (middle.isF16() || middle.isBF16()) &&
      isa<FloatType>(to))
    return {};
  if (inner.getX().getType() == getType())
    return inner.getX();
  getXMutable().assign(inner.getX());
  return getResult();
}
