//===- Elementwise.cpp - gradient rules of elementwise ops ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// In comments, x and y are the operands, z is the result, g its cotangent.
// Where a derivative does not exist, the rules follow PyTorch. Where a slope
// may be infinite, a cotangent of 0 stays 0: a selection gives 0 to the
// elements that it does not select, and the slope may be any number there.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/autodiff/Rules.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// Whether no element can be 0.
bool isNonzero(Value x) {
  auto number = splatNumber(x);
  return number && *number != 0;
}

/// `product`, which is g times a slope, but 0 where g is 0, whatever the slope.
Value keepZeros(OpGradient &b, Value g, Value product) {
  return isNonzero(g) ? product
                      : b.where(b.compare(CompareKind::eq, g, 0.0),
                                b.like(g, 0), product);
}

/// Whether `x` is nonnegative and has the derivative 0 wherever it is 0: sums
/// and products of even powers, also if they are moved, spread or scaled.
bool isSumOfSquares(Value x, int depth = 0) {
  constexpr int kMaxDepth = 12;
  Operation *op = x.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return false;
  auto isSum = [&](Value value) { return isSumOfSquares(value, depth + 1); };
  if (isView(op) || isa<CastOp>(op))
    return isa<FloatType>(tensorType(op->getOperand(0)).getElementType()) &&
           isSum(op->getOperand(0));
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::sum && isSum(reduce.getX());
  if (auto window = dyn_cast<ReduceWindowOp>(op))
    return window.getKind() == ReduceKind::sum && isSum(window.getX());
  if (isa<AddOp>(op))
    return isSum(op->getOperand(0)) && isSum(op->getOperand(1));
  if (isa<MulOp, DivOp>(op)) {
    auto factor = splatNumber(op->getOperand(1));
    if (factor)
      return *factor > 0 && isSum(op->getOperand(0));
    return isa<MulOp>(op) &&
           (op->getOperand(0) == op->getOperand(1) ||
            (isSum(op->getOperand(0)) && isSum(op->getOperand(1))));
  }
  if (auto power = dyn_cast<PowOp>(op)) {
    auto exponent = splatNumber(power.getRhs());
    bool isEven = exponent && std::fmod(*exponent, 2) == 0;
    return exponent && *exponent > 1 &&
           (isEven || power.getLhs().getDefiningOp<AbsOp>());
  }
  return false;
}

/// The cotangent of x, of which `z` is a root. `product` is g times a slope
/// that is infinite at 0. The root of a sum of squares is a norm: its
/// subgradient at 0 is 0.
Value throughRoot(OpGradient &b, Value x, Value z, Value g, Value product) {
  if (isSumOfSquares(x))
    return b.where(b.compare(CompareKind::eq, z, 0.0), b.like(g, 0), product);
  return keepZeros(b, g, product);
}

/// Registers a unary op whose cotangent is `rule(builder, x, z, g)`.
template <class OpTy>
void addUnary(GradientRules &rules,
              Value (*rule)(OpGradient &, Value, Value, Value)) {
  rules.add<OpTy>([rule](OpTy op, OpGradient &g) {
    g.give(0, rule(g, op->getOperand(0), op->getResult(0), g.grad()));
  });
}

void addUnaryRules(GradientRules &rules) {
  addUnary<AbsOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return b.mul(g, b.make<SignOp>(x));
  });
  addUnary<NegOp>(
      rules, [](OpGradient &b, Value, Value, Value g) { return b.neg(g); });
  addUnary<ExpOp>(rules, [](OpGradient &b, Value, Value z, Value g) {
    return keepZeros(b, g, b.mul(g, z));
  });
  // exp(x) rather than z + 1, which loses digits.
  addUnary<Expm1Op>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.mul(g, b.exp(x)));
  });
  addUnary<LogOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.div(g, x));
  });
  addUnary<Log1pOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.div(g, b.add(x, 1.0)));
  });
  addUnary<SqrtOp>(rules, [](OpGradient &b, Value x, Value z, Value g) {
    return throughRoot(b, x, z, g, b.div(g, b.mul(z, 2.0)));
  });
  addUnary<RsqrtOp>(rules, [](OpGradient &b, Value, Value z, Value g) {
    return keepZeros(b, g, b.mul(b.mul(g, -0.5), b.mul(b.square(z), z)));
  });
  addUnary<TanhOp>(rules, [](OpGradient &b, Value, Value z, Value g) {
    return b.mul(g, b.sub(1.0, b.square(z)));
  });
  addUnary<SigmoidOp>(rules, [](OpGradient &b, Value, Value z, Value g) {
    return b.mul(g, b.mul(z, b.sub(1.0, z)));
  });
  addUnary<ErfOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    Value bell = b.exp(b.neg(b.square(x)));
    return b.mul(g, b.mul(bell, 2 * std::numbers::inv_sqrtpi));
  });
  addUnary<SinOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return b.mul(g, b.make<CosOp>(x));
  });
  addUnary<CosOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return b.neg(b.mul(g, b.make<SinOp>(x)));
  });
  addUnary<TanOp>(rules, [](OpGradient &b, Value, Value z, Value g) {
    return keepZeros(b, g, b.mul(g, b.add(b.square(z), 1.0)));
  });
  addUnary<AsinOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.mul(g, b.rsqrt(b.sub(1.0, b.square(x)))));
  });
  addUnary<AcosOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.neg(b.mul(g, b.rsqrt(b.sub(1.0, b.square(x))))));
  });
  // x may be a quotient 0 / 0, for example in the angle of a point.
  addUnary<AtanOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.div(g, b.add(b.square(x), 1.0)));
  });
  addUnary<SinhOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.mul(g, b.make<CoshOp>(x)));
  });
  addUnary<CoshOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.mul(g, b.make<SinhOp>(x)));
  });
  addUnary<AsinhOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return b.mul(g, b.rsqrt(b.add(b.square(x), 1.0)));
  });
  addUnary<AcoshOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.mul(g, b.rsqrt(b.add(b.square(x), -1.0))));
  });
  addUnary<AtanhOp>(rules, [](OpGradient &b, Value x, Value, Value g) {
    return keepZeros(b, g, b.div(g, b.sub(1.0, b.square(x))));
  });
  // Reads z, which the next op keeps anyway: z > 0 exactly where x > 0.
  addUnary<ReluOp>(rules, [](OpGradient &b, Value, Value z, Value g) {
    return b.where(b.compare(CompareKind::gt, z, 0.0), g, 0.0);
  });
}

/// The gradient is a composite op, so that a target may keep it.
void geluRule(GeluOp op, OpGradient &g) {
  g.give(0, g.b.create<GeluGradOp>(g.loc, g.grad(), op.getX(), op.getForm()));
}

void addRule(AddOp, OpGradient &g) {
  g.give(0, g.grad());
  g.give(1, g.grad());
}

void subRule(SubOp, OpGradient &g) {
  g.give(0, g.grad());
  if (g.wants(1))
    g.give(1, g.neg(g.grad()));
}

/// Whether a selection set elements of `g` to 0; `g` may be scaled or moved
/// after it.
bool isMasked(Value g, int depth = 0) {
  constexpr int kMaxDepth = 6;
  Operation *op = g.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return false;
  if (isa<WhereOp>(op))
    return true;
  bool isScaled = isa<MulOp, DivOp>(op) && splatNumber(op->getOperand(1));
  return (isScaled || isView(op) || isa<NegOp>(op)) &&
         isMasked(op->getOperand(0), depth + 1);
}

void mulRule(MulOp op, OpGradient &g) {
  auto give = [&](unsigned i, Value factor) {
    if (!g.wants(i))
      return;
    Value product = g.mul(g.grad(), factor);
    bool mayBeInfinite = !splatNumber(factor) && isMasked(g.grad());
    g.give(i, mayBeInfinite ? keepZeros(g, g.grad(), product) : product);
  };
  give(0, op.getRhs());
  give(1, op.getLhs());
}

/// dx = g / y; dy = -g (z / y), where z may be 0 and g / y infinite.
void divRule(DivOp op, OpGradient &g) {
  auto give = [&](unsigned i, Value product) {
    g.give(i,
           isNonzero(op.getRhs()) ? product : keepZeros(g, g.grad(), product));
  };
  if (g.wants(0))
    give(0, g.div(g.grad(), op.getRhs()));
  if (g.wants(1))
    give(1, g.neg(g.mul(g.grad(), g.div(op.getResult(), op.getRhs()))));
}

/// dx = g y x^(y-1), 0 where y is 0; dy = g z log(x), 0 where x is 0 and y >=
/// 0.
void powRule(PowOp op, OpGradient &g) {
  Value x = op.getLhs(), y = op.getRhs();
  if (g.wants(0)) {
    Value slope = g.mul(g.grad(), g.mul(y, g.pow(x, g.add(y, -1.0))));
    auto exponent = splatNumber(y);
    Value kept = exponent && *exponent > 0 && *exponent < 1
                     ? throughRoot(g, x, op.getResult(), g.grad(), slope)
                     : keepZeros(g, g.grad(), slope);
    g.give(0, g.where(g.compare(CompareKind::eq, y, 0.0), g.like(x, 0), kept));
  }
  if (g.wants(1)) {
    Value flat = g.make<AndOp>(g.compare(CompareKind::eq, x, 0.0),
                               g.compare(CompareKind::ge, y, 0.0));
    Value slope = keepZeros(g, g.grad(),
                            g.mul(g.grad(), g.mul(op.getResult(), g.log(x))));
    g.give(1, g.where(flat, g.like(x, 0), slope));
  }
}

/// The chosen operand gets g; equal operands get half of it each.
template <class OpTy> void extremumRule(OpTy op, OpGradient &g) {
  Value x = op.getLhs(), y = op.getRhs();
  Value half = g.mul(g.grad(), 0.5);
  Value isEqual = g.compare(CompareKind::eq, x, y);
  auto loses = std::is_same_v<OpTy, MaxOp> ? CompareKind::lt : CompareKind::gt;
  for (unsigned i : {0u, 1u}) {
    if (!g.wants(i))
      continue;
    Value lost = i == 0 ? g.compare(loses, x, y) : g.compare(loses, y, x);
    g.give(i, g.where(isEqual, half, g.where(lost, g.like(x, 0), g.grad())));
  }
}

/// z = x - q y, where q is x / y rounded down (mod) or toward zero (rem). q is
/// constant almost everywhere: dy = -q g.
template <class OpTy> void remainderRule(OpTy op, OpGradient &g) {
  g.give(0, g.grad());
  if (!g.wants(1))
    return;
  Value quotient = g.div(op.getLhs(), op.getRhs());
  Value whole = g.make<FloorOp>(quotient);
  if (std::is_same_v<OpTy, RemOp>)
    whole = g.where(g.compare(CompareKind::lt, quotient, 0.0),
                    g.make<CeilOp>(quotient), whole);
  g.give(1, g.neg(g.mul(g.grad(), whole)));
}

void whereRule(WhereOp op, OpGradient &g) {
  Value zero = g.like(op.getResult(), 0);
  if (g.wants(1))
    g.give(1, g.where(op.getCondition(), g.grad(), zero));
  if (g.wants(2))
    g.give(2, g.where(op.getCondition(), zero, g.grad()));
}

/// Only for casts from float to float: no path contains a cast to or from
/// integers.
void castRule(CastOp op, OpGradient &g) {
  g.give(0, g.cast(g.grad(), tensorType(op.getX()).getElementType()));
}

} // namespace

void addElementwiseRules(GradientRules &rules) {
  addUnaryRules(rules);
  rules.add<GeluOp>(geluRule);
  rules.add<AddOp>(addRule);
  rules.add<SubOp>(subRule);
  rules.add<MulOp>(mulRule);
  rules.add<DivOp>(divRule);
  rules.add<PowOp>(powRule);
  rules.add<MaxOp>(extremumRule<MaxOp>);
  rules.add<MinOp>(extremumRule<MinOp>);
  rules.add<ModOp>(remainderRule<ModOp>);
  rules.add<RemOp>(remainderRule<RemOp>);
  rules.add<WhereOp>(whereRule);
  rules.add<CastOp>(castRule);
}

} // namespace sinter::passes
