//===- Elementwise.cpp - decompositions of elementwise composites ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/decompose/Compute.h"
#include "runtime/base/Gelu.h"

using namespace mlir;
using namespace sinter::ir;

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  Value x = c.load(getX()), shape;
  if (getForm() == GeluForm::erf) {
    shape = c.make<ErfOp>(c.mul(x, rt::gelu::kErfScale));
  } else {
    Value cube = c.mul(c.mul(x, x), x);
    Value inner = c.add(x, c.mul(cube, rt::gelu::kCubic));
    shape = c.make<TanhOp>(c.mul(inner, rt::gelu::kTanhScale));
  }
  return {c.store(c.mul(c.mul(x, 0.5), c.add(shape, 1)))};
}

SmallVector<Value> GeluGradOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  Value x = c.load(getX()), slope;
  if (getForm() == GeluForm::erf) {
    // d/dx x Phi(x) = Phi(x) + x phi(x)
    Value cdf =
        c.mul(c.add(c.make<ErfOp>(c.mul(x, rt::gelu::kErfScale)), 1.0), 0.5);
    Value density =
        c.mul(c.make<ExpOp>(c.mul(c.mul(x, x), -0.5)), rt::gelu::kDensity);
    slope = c.add(cdf, c.mul(x, density));
  } else {
    // u = k (x + a x^3); d/dx x (1 + tanh u) / 2 = (1 + t) / 2 + x (1 - t^2) k
    // (1 + 3 a x^2) / 2
    const double k = rt::gelu::kTanhScale, a = rt::gelu::kCubic;
    Value square = c.mul(x, x);
    Value u = c.mul(c.add(x, c.mul(c.mul(square, x), a)), k);
    Value t = c.make<TanhOp>(u);
    Value inside = c.mul(c.add(c.mul(square, 3 * a), 1.0), k);
    Value rest = c.sub(c.constant(x, 1.0), c.mul(t, t));
    slope = c.mul(c.add(c.add(t, 1.0), c.mul(c.mul(x, rest), inside)), 0.5);
  }
  return {c.store(c.mul(c.load(getGrad()), slope))};
}
