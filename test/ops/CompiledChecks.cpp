//===- CompiledChecks.cpp - compiled cases of the op list -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ops/CompiledChecks.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

constexpr size_t kCasesPerModule = 60;

/// The element that exceeds the allowed error by most, as a line; "" if none
/// does.
std::string difference(const Tensor &compiled, const Tensor &reference,
                       const Allowance &allowance, double ofResult) {
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
  double most = 0;
  for (size_t i = 0; i < reference.floats.size(); ++i) {
    double a = compiled.floats[i], b = reference.floats[i];
    bool isEqual = std::isnan(b) ? std::isnan(a) : std::isinf(b) && a == b;
    if (isEqual)
      continue;
    double error = std::fabs(a - b);
    double allowed = allowance.ofLargest * largest +
                     allowance.ofSelf * std::fabs(b) + allowance.absolute +
                     ofResult;
    if (error - allowed <= most) // false for NaN
      continue;
    most = error - allowed;
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

} // namespace

std::vector<std::string> test::problemsOf(OpBundle &bundle,
                                          ArrayRef<Allowance> allowances) {
  std::vector<std::string> problems = bundle.run();
  for (auto [part, allowance] : llvm::zip_equal(bundle.parts, allowances))
    for (size_t r = 0; r < part.compiled.size(); ++r) {
      double ofResult = allowance.ofResult.empty() ? 0 : allowance.ofResult[r];
      std::string text =
          difference(part.compiled[r], part.reference[r], allowance, ofResult);
      if (!text.empty())
        problems.push_back(part.name + ": result " + std::to_string(r) + ": " +
                           text);
    }
  return problems;
}

std::vector<std::vector<OpCase>> test::chunks(std::vector<OpCase> all) {
  std::vector<std::vector<OpCase>> result;
  for (OpCase &opCase : all) {
    if (result.empty() || result.back().size() == kCasesPerModule)
      result.emplace_back();
    result.back().push_back(std::move(opCase));
  }
  return result;
}

void test::addValue(OpBundle &bundle, const OpCase &opCase, Type floatType,
                    const Look &look) {
  INFO(opCase.name);
  OwningOpRef<ModuleOp> module = buildModule(opCase, floatType);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  std::vector<Tensor> inputs = drawInputs(opCase, floatType, 5);
  if (look)
    look(main, inputs);
  REQUIRE(bundle.add(opCase.name, main, std::move(inputs), ir::Rounding::none));
}

void test::addGradient(OpBundle &bundle, const OpCase &opCase, Type floatType,
                       const Look &look) {
  INFO(opCase.name);
  OwningOpRef<ModuleOp> module = buildModule(opCase, floatType);
  func::FuncOp grad = makeScalarLoss(module->lookupSymbol<func::FuncOp>("main"),
                                     "grad", floatType);
  std::vector<Tensor> inputs = drawInputs(opCase, floatType, 6);
  for (Tensor &weight : drawWeights(grad, inputs.size(), floatType))
    inputs.push_back(std::move(weight));
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, floatOperands(opCase), isNull)));
  if (look)
    look(grad, inputs);
  REQUIRE(bundle.add("gradient of " + opCase.name, grad, std::move(inputs),
                     ir::Rounding::none));
}
