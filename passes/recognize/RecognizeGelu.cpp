//===- RecognizeGelu.cpp - gelu in small ops ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Exporters associate the products in any order, so a product is compared as a
// number and a list of factors.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/recognize/RecognizeMatch.h"
#include "runtime/base/Gelu.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// number * factors[0] * factors[1] ..
struct Product {
  double number = 1;
  SmallVector<Value, 4> factors;
};

/// Takes `value` apart into factors, going up through products with one use.
/// `isRoot`: `value` itself may have several.
void collectProduct(Value value, Match &match, Product &product,
                    bool isRoot = false, int depth = 0) {
  const int maxDepth = 8;
  Operation *op = value.getDefiningOp();
  if (!op || depth == maxDepth || !isa<MulOp, DivOp, PowOp>(op) ||
      !(isRoot || value.hasOneUse()))
    return product.factors.push_back(value);
  auto rhs = splatNumber(op->getOperand(1));
  if (isa<PowOp>(op)) {
    if (rhs != 2.0 && rhs != 3.0)
      return product.factors.push_back(value);
    product.factors.append(static_cast<size_t>(*rhs), op->getOperand(0));
  } else if (isa<DivOp>(op)) {
    if (!rhs || *rhs == 0)
      return product.factors.push_back(value);
    product.number /= *rhs;
    collectProduct(op->getOperand(0), match, product, false, depth + 1);
  } else {
    collectProduct(op->getOperand(0), match, product, false, depth + 1);
    if (rhs)
      product.number *= *rhs;
    else
      collectProduct(op->getOperand(1), match, product, false, depth + 1);
  }
  match.add(op);
}

/// The other summand if `value` is a sum with the number 1; else null.
Value besideOne(Value value, Match &match, CompositePart part) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return {};
  match.add(add, part);
  for (unsigned i : {0u, 1u})
    if (splatNumber(add->getOperand(i)) == 1.0)
      return add->getOperand(1 - i);
  return {};
}

/// Whether `number` is `expected` up to the precision of the model, in which
/// constants are stored.
bool isAbout(Value like, double number, double expected) {
  bool isNarrow =
      tensorType(like).getElementType().getIntOrFloatBitWidth() < 32;
  return std::fabs(number - expected) <= (isNarrow ? 4e-3 : 1e-5) * expected;
}

/// Whether `value` is a x^3, with the a of gelu.
bool isCubicTerm(Value value, Value x, Match &match) {
  Product product;
  collectProduct(value, match, product);
  return product.factors == SmallVector<Value, 4>(3, x) &&
         isAbout(x, product.number, rt::gelu::kCubic);
}

/// Whether `value` is sqrt(2 / pi) (x + a x^3), or sqrt(2 / pi) x (1 + a x^2).
bool isTanhArgument(Value value, Value x, Match &match) {
  Product product;
  collectProduct(value, match, product);
  if (!isAbout(x, product.number, rt::gelu::kTanhScale))
    return false;
  if (product.factors.size() == 1) {
    auto sum = product.factors[0].getDefiningOp<AddOp>();
    if (!sum)
      return false;
    match.add(sum);
    for (unsigned i : {0u, 1u})
      if (sum->getOperand(i) == x)
        return isCubicTerm(sum->getOperand(1 - i), x, match);
    return false;
  }
  if (product.factors.size() != 2)
    return false;
  unsigned other = product.factors[0] == x ? 1 : 0;
  if (product.factors[1 - other] != x)
    return false;
  Value square =
      besideOne(product.factors[other], match, CompositePart::argument);
  if (!square)
    return false;
  Product inner;
  collectProduct(square, match, inner);
  return inner.factors == SmallVector<Value, 4>(2, x) &&
         isAbout(x, inner.number, rt::gelu::kCubic);
}

// Pattern: x (1 + erf(x / sqrt(2))) / 2 -> gelu erf;
// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 -> gelu tanh
struct RecognizeGelu : RewritePattern {
  RecognizeGelu(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<MulOp, DivOp>(op) ||
        !isa<FloatType>(tensorType(op->getResult(0)).getElementType()))
      return failure();
    // Only the whole product matches: in a part of it the factor 1/2 is
    // missing.
    Product product;
    Match match(op, CompositePart::product);
    collectProduct(op->getResult(0), match, product, /*isRoot=*/true);
    if (product.factors.size() != 2 ||
        !isAbout(op->getResult(0), product.number, 0.5))
      return rewriter.notifyMatchFailure(op, "not half a product of two");
    for (unsigned i : {0u, 1u}) {
      Match attempt(op, CompositePart::product);
      Product again;
      collectProduct(op->getResult(0), attempt, again, /*isRoot=*/true);
      Value x = again.factors[i];
      Value curve =
          besideOne(again.factors[1 - i], attempt, CompositePart::sum);
      auto form = curve ? formOf(curve, x, attempt) : std::nullopt;
      if (!form)
        continue;
      if (!attempt.isClosed())
        return rewriter.notifyMatchFailure(
            op, "an intermediate value has another user");
      rewriter.replaceOp(op,
                         rewriter.create<GeluOp>(attempt.location(), x, *form));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no factor 1 + erf or 1 + tanh");
  }

  static std::optional<GeluForm> formOf(Value curve, Value x, Match &match) {
    if (auto erf = curve.getDefiningOp<ErfOp>()) {
      match.add(erf, CompositePart::curve);
      match.enter(CompositePart::argument);
      Product argument;
      collectProduct(erf.getX(), match, argument);
      bool fits = argument.factors.size() == 1 && argument.factors[0] == x &&
                  isAbout(x, argument.number, std::numbers::sqrt2 / 2);
      return fits ? std::optional(GeluForm::erf) : std::nullopt;
    }
    if (auto tanh = curve.getDefiningOp<TanhOp>()) {
      match.add(tanh, CompositePart::curve);
      match.enter(CompositePart::argument);
      return isTanhArgument(tanh.getX(), x, match)
                 ? std::optional(GeluForm::tanh)
                 : std::nullopt;
    }
    return std::nullopt;
  }
};

} // namespace

void addGeluRecognizers(RewritePatternSet &patterns) {
  patterns.add<RecognizeGelu>(patterns.getContext());
}

} // namespace sinter::passes
