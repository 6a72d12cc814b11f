//===- Activation.cpp - activation functions ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Activation.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Registry.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sinter::compiler {

// The comparisons are PyTorch's. They decide to which side a corner belongs and
// thus its derivative. If neither comparison holds, x is NaN and stays NaN.

/// `otherwise` where x <= `bound`, else x.
static Value above(Emit &e, Value x, double bound, Value otherwise) {
  return e.where(e.compare(ir::CompareKind::le, x, e.splatLike(x, bound)),
                 otherwise, x);
}

bool isNumber(Value x) {
  while (Operation *op = x ? x.getDefiningOp() : nullptr) {
    SplatElementsAttr splat;
    if (matchPattern(x, m_Constant(&splat)))
      return isa<FloatType>(splat.getElementType()) &&
             !splat.getSplatValue<llvm::APFloat>().isNaN();
    if (!isa<ir::ReshapeOp, ir::BroadcastOp>(op))
      return false;
    x = op->getOperand(0);
  }
  return false;
}

Value emitClip(Emit &e, Value x, Value low, Value high) {
  auto limit = [&](Value y, Value bound, ir::CompareKind isBeyond) -> Value {
    if (!e.broadcastTogether(y, bound))
      return {};
    return e.where(e.compare(isBeyond, y, bound), bound, y);
  };
  if (low)
    x = isNumber(low) ? limit(x, low, ir::CompareKind::le) : e.max(x, low);
  if (high)
    x = isNumber(high) ? limit(x, high, ir::CompareKind::ge) : e.min(x, high);
  return x;
}

Value emitLeakyRelu(Emit &e, Value x, double alpha) {
  return above(e, x, 0, e.mul(x, alpha));
}

Value emitElu(Emit &e, Value x, double alpha) {
  return above(e, x, 0, e.mul(e.unary<ir::Expm1Op>(x), alpha));
}

Value emitThresholdedRelu(Emit &e, Value x, double alpha) {
  return above(e, x, alpha, e.splatLike(x, 0));
}

Value emitHardSigmoid(Emit &e, Value x, double alpha, double beta) {
  Value line = e.add(e.mul(x, alpha), beta);
  return emitClip(e, line, e.splatLike(x, 0), e.splatLike(x, 1));
}

Value emitSoftplus(Emit &e, Value x) {
  // log(1 + e^x) without overflow.
  Value tail = e.unary<ir::Log1pOp>(
      e.unary<ir::ExpOp>(e.unary<ir::NegOp>(e.unary<ir::AbsOp>(x))));
  return e.add(e.max(x, e.splatLike(x, 0)), tail);
}

Value emitSoftsign(Emit &e, Value x) {
  return e.div(x, e.add(e.unary<ir::AbsOp>(x), 1));
}

static void importRelu(NodeImport &n) { n.out(n.unary<ir::ReluOp>(n.in(0))); }
static void importSigmoid(NodeImport &n) {
  n.out(n.unary<ir::SigmoidOp>(n.in(0)));
}
static void importTanh(NodeImport &n) { n.out(n.unary<ir::TanhOp>(n.in(0))); }

static void importLeakyRelu(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitLeakyRelu(n, n.in(0), n.attrFloat("alpha", 0.01f)));
}

/// The slope is broadcast to x, not x to the slope.
static void importPRelu(NodeImport &n) {
  Value x = n.in(0), slope = n.broadcast(n.in(1), n.shapeOf(x));
  Value zero = n.splatLike(x, 0);
  Value isPositive = n.compare(ir::CompareKind::gt, x, zero);
  // The slope's derivative is x where the slope is used and 0 elsewhere, even
  // if x is infinite there.
  Value counted = n.isFloat(x) ? n.where(isPositive, zero, x) : x;
  n.out(n.where(isPositive, x, n.mul(counted, slope)));
}

static void importElu(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitElu(n, n.in(0), n.attrFloat("alpha", 1)));
}

static void importSelu(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1.67326319217681884765625f);
  double gamma = n.attrFloat("gamma", 1.05070102214813232421875f);
  if (n.requireFloat())
    n.out(n.mul(emitElu(n, n.in(0), alpha), gamma));
}

static void importCelu(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1);
  if (!n.requireFloat())
    return;
  if (alpha == 0) {
    n.fail("attribute 'alpha' is 0");
    return;
  }
  Value x = n.in(0);
  n.out(above(n, x, 0, n.mul(n.unary<ir::Expm1Op>(n.div(x, alpha)), alpha)));
}

static void importThresholdedRelu(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitThresholdedRelu(n, n.in(0), n.attrFloat("alpha", 1)));
}

static void importHardSigmoid(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 0.2f), beta = n.attrFloat("beta", 0.5f);
  if (n.requireFloat())
    n.out(emitHardSigmoid(n, n.in(0), alpha, beta));
}

static void importHardSwish(NodeImport &n) {
  if (n.requireFloat())
    n.out(n.mul(n.in(0), emitHardSigmoid(n, n.in(0), 1.0 / 6, 0.5)));
}

static void importSoftplus(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitSoftplus(n, n.in(0)));
}

static void importSoftsign(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitSoftsign(n, n.in(0)));
}

/// x tanh(softplus(x)) with one exponential, E = e^-|x|. The factor of x is
///   E (E + 2) / (E (E + 2) + 2)           if x < 0, else
///   (1 + 2 E) / (1 + 2 E + 2 E^2).
static void importMish(NodeImport &n) {
  if (!n.requireFloat())
    return;
  Value x = n.in(0);
  auto isBelow = [&](Value y, double bound) {
    return n.compare(ir::CompareKind::lt, y, n.splatLike(y, bound));
  };
  Value isNegative = isBelow(x, 0);
  Value minusAbs = n.where(isNegative, x, n.unary<ir::NegOp>(x));
  // Far below 0, the factor is e^x, and the result is a normal number where e^x
  // is not. There E is e^(x/2).
  Value isFar = isBelow(minusAbs, -64);
  Value e = n.unary<ir::ExpOp>(n.where(isFar, n.mul(minusAbs, 0.5), minusAbs));
  Value twice = n.mul(e, 2), plusTwo = n.add(e, 2), one = n.add(twice, 1);
  Value above = n.where(isNegative, n.where(isFar, twice, plusTwo), one);
  Value below = n.where(isNegative, n.add(n.mul(e, plusTwo), 2),
                        n.add(one, n.mul(e, twice)));
  // E first: x E is in range, and a product of small factors might not be.
  Value scaled = n.where(isNegative, n.mul(x, e), x);
  n.out(n.mul(scaled, n.div(above, below)));
}

static void importSwish(NodeImport &n) {
  double alpha = n.attrFloat("alpha", 1);
  if (!n.requireFloat())
    return;
  Value x = n.in(0);
  n.out(n.mul(x, n.unary<ir::SigmoidOp>(alpha == 1 ? x : n.mul(x, alpha))));
}

static void importGelu(NodeImport &n) {
  std::string form = n.attrString("approximate", "none");
  if (form != "none" && form != "tanh")
    n.fail("attribute 'approximate' is " + quoted(form) +
           "; it must be 'none' or 'tanh'");
  if (!n.requireFloat())
    return;
  n.out(n.b.create<ir::GeluOp>(n.loc, n.in(0).getType(), n.in(0),
                               form == "tanh" ? ir::GeluForm::tanh
                                              : ir::GeluForm::erf)
            .getResult());
}

static void importShrink(NodeImport &n) {
  double bias = n.attrFloat("bias", 0), lambda = n.attrFloat("lambd", 0.5);
  Value x = n.in(0);
  Type element = n.elementOf(x);
  // Integers are compared with a fractional bound.
  Value real = n.cast(x, n.isFloat(x) ? element : n.f32());
  Value isLow =
      n.compare(ir::CompareKind::lt, real, n.splatLike(real, -lambda));
  Value isHigh =
      n.compare(ir::CompareKind::gt, real, n.splatLike(real, lambda));
  Value inner = n.where(isHigh, n.add(real, -bias), n.splatLike(real, 0));
  n.out(n.cast(n.where(isLow, n.add(real, bias), inner), element));
}

llvm::ArrayRef<OpRow> activationOps() {
  static constexpr OpRow rows[] = {
      {"Celu", importCelu, 1, 1, 1, 12},
      {"Elu", importElu, 1, 1},
      {"Gelu", importGelu, 1, 1, 1, 20},
      {"HardSigmoid", importHardSigmoid, 1, 1},
      {"HardSwish", importHardSwish, 1, 1, 1, 14},
      {"LeakyRelu", importLeakyRelu, 1, 1},
      {"Mish", importMish, 1, 1, 1, 18},
      {"PRelu", importPRelu, 2, 2},
      {"Relu", importRelu, 1, 1},
      {"Selu", importSelu, 1, 1},
      {"Shrink", importShrink, 1, 1, 1, 9},
      {"Sigmoid", importSigmoid, 1, 1},
      {"Softplus", importSoftplus, 1, 1},
      {"Softsign", importSoftsign, 1, 1},
      {"Swish", importSwish, 1, 1, 1, 24},
      {"Tanh", importTanh, 1, 1},
      {"ThresholdedRelu", importThresholdedRelu, 1, 1, 1, 10},
  };
  return rows;
}

} // namespace sinter::compiler
