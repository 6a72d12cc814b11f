//===- Shape.cpp - decompositions of shape ops ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"

using namespace mlir;
using namespace sinter::ir;

SmallVector<Value> IndexFaultOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getIndices());
  auto number = [&](int64_t value) { return scalarI64(c.b, c.loc, value); };
  const int64_t count = tensorType(getIndices()).getNumElements();
  if (count == 0)
    return {c.b.create<ConstantOp>(c.loc, getType(), splatAttr(getType(), 0))};
  Value flat = castTo(c.b, c.loc, reshapeTo(c.b, c.loc, getIndices(), {count}),
                      c.b.getI64Type());
  auto isBeyond = [&](CompareKind kind, int64_t bound) {
    return c.compare(kind, flat, c.fill(number(bound), flat));
  };
  Value isOut =
      c.make<OrOp>(isBeyond(CompareKind::lt, static_cast<int64_t>(getLower())),
                   isBeyond(CompareKind::ge, static_cast<int64_t>(getUpper())));
  Value place = c.b.create<IotaOp>(c.loc, flat.getType(), 0);
  Value first =
      reduceOver(c.b, c.loc, ReduceKind::min,
                 c.where(isOut, place, c.fill(number(count), flat)), {0});
  // If no index is out of range, the value read here is not used.
  Value at = c.make<MinOp>(first, number(count - 1));
  Value index = c.b.create<GatherOp>(c.loc, flat, at, /*axis=*/0);
  auto row = [&](Value value) { return reshapeTo(c.b, c.loc, value, {1}); };
  Value found = c.b.create<ConcatOp>(
      c.loc, ValueRange{row(c.make<AddOp>(first, number(1))), row(index)},
      /*axis=*/0);
  Value isFault = c.compare(CompareKind::lt, first, number(count));
  return {c.where(c.fill(isFault, found), found, zerosLike(c.b, c.loc, found))};
}
