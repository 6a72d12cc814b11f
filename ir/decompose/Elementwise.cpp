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
  Compute argument = c.in(CompositePart::argument),
          curve = c.in(CompositePart::curve),
          product = c.in(CompositePart::product);
  Value x = c.load(getX()), shape;
  if (getForm() == GeluForm::erf) {
    shape = curve.make<ErfOp>(argument.mul(x, rt::gelu::kErfScale));
  } else {
    Value cube = argument.mul(argument.mul(x, x), x);
    Value inner = argument.add(x, argument.mul(cube, rt::gelu::kCubic));
    shape = curve.make<TanhOp>(argument.mul(inner, rt::gelu::kTanhScale));
  }
  Value sum = c.in(CompositePart::sum).add(shape, 1);
  return {product.store(product.mul(product.mul(x, 0.5), sum))};
}

SmallVector<Value> GeluGradOp::decompose(OpBuilder &builder) {
  Compute c(builder, getLoc(), getX());
  Compute argument = c.in(CompositePart::argument),
          curve = c.in(CompositePart::curve), sum = c.in(CompositePart::sum),
          product = c.in(CompositePart::product);
  Value x = c.load(getX()), slope;
  if (getForm() == GeluForm::erf) {
    // d/dx x Phi(x) = Phi(x) + x phi(x)
    Value erf = curve.make<ErfOp>(argument.mul(x, rt::gelu::kErfScale));
    Value cdf = product.mul(sum.add(erf, 1.0), 0.5);
    Value density =
        curve.mul(curve.make<ExpOp>(curve.mul(curve.mul(x, x), -0.5)),
                  rt::gelu::kDensity);
    slope = product.add(cdf, product.mul(x, density));
  } else {
    // u = k (x + a x^3); d/dx x (1 + tanh u) / 2 = (1 + t) / 2 + x (1 - t^2) k
    // (1 + 3 a x^2) / 2
    const double k = rt::gelu::kTanhScale, a = rt::gelu::kCubic;
    Value square = argument.mul(x, x);
    Value u = argument.mul(
        argument.add(x, argument.mul(argument.mul(square, x), a)), k);
    Value t = curve.make<TanhOp>(u);
    Value inside =
        argument.mul(argument.add(argument.mul(square, 3 * a), 1.0), k);
    Value rest = curve.sub(curve.constant(x, 1.0), curve.mul(t, t));
    slope = product.mul(
        product.add(sum.add(t, 1.0), product.mul(product.mul(x, rest), inside)),
        0.5);
  }
  return {c.store(product.mul(c.load(getGrad()), slope))};
}
