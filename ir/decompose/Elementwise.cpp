//===- Elementwise.cpp - decompositions of elementwise composites ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sinter::ir;

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  Value x = c.load(getX()), shape;
  if (getForm() == GeluForm::erf) {
    shape = c.make<ErfOp>(c.mul(x, 1 / std::numbers::sqrt2));
  } else {
    Value cube = c.mul(c.mul(x, x), x);
    Value inner = c.add(x, c.mul(cube, 0.044715));
    shape = c.make<TanhOp>(c.mul(inner, std::sqrt(2 / std::numbers::pi)));
  }
  return {c.store(c.mul(c.mul(x, 0.5), c.add(shape, 1)))};
}
