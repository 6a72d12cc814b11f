//===- CompiledTest.cpp - compiled values and gradients -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For every case of the op list: its value and, where it has one, its gradient,
// compiled for the CPU in float32 and run, against the same program evaluated
// in float64 on the same inputs. Integers and truth values are equal; floats
// differ by rounding only.
//
//===----------------------------------------------------------------------===//
#include "test/ops/OpBundle.h"
#include "test/ops/OpFixture.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

constexpr size_t kCasesPerModule = 60;

/// What results may be off by, relative to the largest magnitude among them: 64
/// roundings of the type. Operands are of magnitude 1; a case is some ten ops,
/// a function is good to 5 of these, sums of the longest lines come to 10, and
/// where terms cancel what is left is not much smaller than they.
double allowance(Type floatType) {
  return floatType.isF64() ? 0x1p-47 : 0x1p-18;
}

/// The worst element that is off by more than `relative` times the largest (and
/// what underflow may take), as a line; "" if none is.
std::string difference(const Tensor &compiled, const Tensor &reference,
                       double relative) {
  std::string worst;
  if (compiled.type() != reference.type())
    return "another type";
  auto describe = [&](int64_t i, auto a, auto b) {
    return "element " + std::to_string(i) + " is " + std::to_string(a) +
           " instead of " + std::to_string(b);
  };
  for (size_t i = 0; i < reference.ints.size(); ++i)
    if (compiled.ints[i] != reference.ints[i])
      return describe(i, compiled.ints[i], reference.ints[i]);
  double largest = 0;
  for (double value : reference.floats)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  bool isDouble = reference.type().getElementType().isF64();
  double smallestNormal = isDouble ? 0x1p-1022 : 0x1p-126;
  double allowed = relative * largest + smallestNormal, most = allowed;
  for (size_t i = 0; i < reference.floats.size(); ++i) {
    double a = compiled.floats[i], b = reference.floats[i];
    bool isEqual = std::isnan(b) ? std::isnan(a) : std::isinf(b) && a == b;
    if (isEqual)
      continue;
    double error = std::fabs(a - b);
    if (error <= most) // false for NaN
      continue;
    most = error;
    char text[160];
    std::snprintf(text, sizeof(text),
                  "element %zu is %.9g instead of %.9g, error %.3g, allowed "
                  "%.3g",
                  i, a, b, error, allowed);
    worst = text;
    if (std::isnan(error))
      break;
  }
  return worst;
}

void checkBundle(OpBundle &bundle, double relative) {
  for (const std::string &failure : bundle.run())
    FAIL_CHECK(failure);
  for (const BundlePart &part : bundle.parts)
    for (size_t r = 0; r < part.compiled.size(); ++r) {
      std::string text =
          difference(part.compiled[r], part.reference[r], relative);
      INFO(part.name << ": result " << r << ": " << text);
      CHECK(text.empty());
    }
}

std::vector<std::vector<OpCase>> chunks(std::vector<OpCase> all) {
  std::vector<std::vector<OpCase>> result;
  for (OpCase &opCase : all) {
    if (result.empty() || result.back().size() == kCasesPerModule)
      result.emplace_back();
    result.back().push_back(std::move(opCase));
  }
  return result;
}

void addValue(OpBundle &bundle, const OpCase &opCase, Type floatType) {
  INFO(opCase.name);
  OwningOpRef<ModuleOp> module = buildModule(opCase, floatType);
  REQUIRE(bundle.add(opCase.name, module->lookupSymbol<func::FuncOp>("main"),
                     drawInputs(opCase, floatType, 5), ir::Rounding::none));
}

void addGradient(OpBundle &bundle, const OpCase &opCase, Type floatType) {
  INFO(opCase.name);
  OwningOpRef<ModuleOp> module = buildModule(opCase, floatType);
  func::FuncOp grad = makeScalarLoss(module->lookupSymbol<func::FuncOp>("main"),
                                     "grad", floatType);
  std::vector<Tensor> inputs = drawInputs(opCase, floatType, 6);
  for (Tensor &weight : drawWeights(grad, inputs.size(), floatType))
    inputs.push_back(std::move(weight));
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, floatOperands(opCase), isNull)));
  REQUIRE(bundle.add("gradient of " + opCase.name, grad, std::move(inputs),
                     ir::Rounding::none));
}

} // namespace

TEST_CASE("compiled values are those of the evaluation", "[compiled]") {
  for (const std::vector<OpCase> &cases : chunks(allCases())) {
    TestContext context;
    Type f32 = Float32Type::get(context.get());
    OpBundle bundle(context.get());
    for (const OpCase &opCase : cases)
      addValue(bundle, opCase, f32);
    checkBundle(bundle, allowance(f32));
  }
}

// Large enough for statistics in parts, and far from zero: the mean of the
// squares less the square of the mean would have no digits left.
TEST_CASE("the variance of parts does not cancel", "[compiled]") {
  OpCase opCase{"sinter.batch_norm_training 17x3x25x31 from 16",
                {{{17, 3, 25, 31}, 16, 17}, {{3}, 0.5, 1.5}, {{3}}},
                [](passes::ValueBuilder &b, ValueRange x) {
                  auto op = b.b.create<ir::BatchNormTrainingOp>(
                      b.loc, x[0], x[1], x[2], llvm::APFloat(1e-5));
                  return SmallVector<Value>(op->getResults());
                }};
  TestContext context;
  Type f32 = Float32Type::get(context.get());
  OpBundle bundle(context.get());
  addValue(bundle, opCase, f32);
  checkBundle(bundle, allowance(f32));
}

// Float64 has functions and library calls of its own, in the same loops: every
// contraction, and a third of the other shapes.
TEST_CASE("compiled values in float64 are those of the evaluation",
          "[compiled]") {
  std::vector<OpCase> chosen;
  for (auto [i, opCase] : llvm::enumerate(allCases()))
    if (i % 3 == 0 || opCase.op() == "sinter.dot_general" ||
        opCase.op().starts_with("sinter.conv"))
      chosen.push_back(opCase);
  for (const std::vector<OpCase> &cases : chunks(std::move(chosen))) {
    TestContext context;
    Type f64 = Float64Type::get(context.get());
    OpBundle bundle(context.get());
    for (const OpCase &opCase : cases)
      addValue(bundle, opCase, f64);
    checkBundle(bundle, allowance(f64));
  }
}

TEST_CASE("compiled gradients are those of the evaluation", "[compiled]") {
  for (const std::vector<OpCase> &cases : chunks(allCases())) {
    TestContext context;
    Type f32 = Float32Type::get(context.get());
    OpBundle bundle(context.get());
    for (const OpCase &opCase : cases)
      if (isDifferentiable(opCase, context.get()))
        addGradient(bundle, opCase, f32);
    checkBundle(bundle, allowance(f32));
  }
}
