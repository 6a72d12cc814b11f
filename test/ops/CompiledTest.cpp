//===- CompiledTest.cpp - compiled values and gradients -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compiles every case of the op list for the CPU in float32: its value and, if
// it has one, its gradient. The results are compared with the same program,
// evaluated in float64 on the same inputs. Integers and booleans must be equal;
// floats may differ only by rounding.
//
//===----------------------------------------------------------------------===//
#include "test/ops/CompiledChecks.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

/// The allowed error, relative to the largest magnitude among the results: 64
/// roundings of the type. Operands have magnitude 1; a case has some ten ops; a
/// function has an error of up to 5 roundings, a sum of the longest lines up to
/// 10; and if terms cancel, the rest is not much smaller than they are.
Allowance allowance(Type floatType) {
  return floatType.isF64() ? Allowance{0x1p-47, 0, 0x1p-1022, {}}
                           : Allowance{0x1p-18, 0, 0x1p-126, {}};
}

void check(OpBundle &bundle, Type floatType) {
  std::vector<Allowance> allowances(bundle.parts.size(), allowance(floatType));
  CHECK(problemsOf(bundle, allowances) == std::vector<std::string>{});
}

} // namespace

TEST_CASE("compiled values are those of the evaluation", "[compiled]") {
  for (const std::vector<OpCase> &cases : chunks(allCases())) {
    TestContext context;
    Type f32 = Float32Type::get(context.get());
    OpBundle bundle(context.get());
    for (const OpCase &opCase : cases)
      addValue(bundle, opCase, f32);
    check(bundle, f32);
  }
}

// Large enough for statistics in parts, and far from zero: the mean of the
// squares minus the square of the mean would have no correct digits.
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
  check(bundle, f32);
}

// Float64 has its own functions and library calls, in the same loops: tests
// every contraction, and a third of the other shapes.
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
    check(bundle, f64);
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
    check(bundle, f32);
  }
}
