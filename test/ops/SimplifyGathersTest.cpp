//===- SimplifyGathersTest.cpp - constant indices in regular patterns -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compares gathers at random lattices of indices before and after the
// simplifier: their values and their gradients.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "test/ops/OpFixture.h"
#include "test/ops/OpList.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>

#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

struct Drawn {
  std::vector<int64_t> x, shape, indices;
  int64_t axis;
};

/// Up to four dimensions with random strides; if `isWild`, with irregular and
/// negative indices.
Drawn draw(std::mt19937 &random, bool isWild) {
  auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % limit);
  };
  Drawn drawn;
  std::vector<int64_t> strides;
  int64_t low = 0, high = 0;
  for (int64_t i = 0, rank = below(5); i < rank; ++i) {
    const int64_t choices[] = {0, 1, -1, 2, 3, 4, 6, 12, 24, -6};
    drawn.shape.push_back(1 + below(4));
    strides.push_back(choices[below(std::size(choices))]);
    int64_t extent = strides[i] * (drawn.shape[i] - 1);
    (extent < 0 ? low : high) += extent;
  }
  int64_t start = below(4) - low, size = high + start + 1 + below(12);
  drawn.indices = {start};
  for (auto [count, stride] : llvm::zip_equal(drawn.shape, strides)) {
    std::vector<int64_t> longer;
    for (int64_t index : drawn.indices)
      for (int64_t i = 0; i < count; ++i)
        longer.push_back(index + i * stride);
    drawn.indices = std::move(longer);
  }
  if (isWild)
    for (int64_t &index : drawn.indices)
      index += below(8) ? 0 : below(2) ? size : -size;
  drawn.axis = below(3);
  drawn.x.assign(drawn.axis, 2);
  drawn.x.push_back(size);
  drawn.x.resize(drawn.x.size() + below(2), 3);
  return drawn;
}

OpCase caseOf(const Drawn &drawn) {
  return {"sinter.gather",
          {{drawn.x}},
          [drawn](passes::ValueBuilder &b, ValueRange x) -> SmallVector<Value> {
            Type element = IntegerType::get(x[0].getContext(), 64);
            Tensor indices(RankedTensorType::get(drawn.shape, element));
            indices.ints = drawn.indices;
            return {b.make<ir::GatherOp>(
                x[0], b.make<ir::ConstantOp>(indices.toAttr()), drawn.axis)};
          }};
}

bool hasGather(func::FuncOp function) {
  return function.walk([](ir::GatherOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// The result and the gradient, before or after the simplifier.
std::vector<Tensor> valuesOf(TestContext &context, const OpCase &opCase,
                             bool simplify, bool &gathers) {
  Type f64 = Float64Type::get(context.get());
  OwningOpRef<ModuleOp> module = buildModule(opCase, f64);
  if (simplify) {
    PassManager passes(context.get());
    passes.addPass(sinter::passes::createSimplifyAlgebra());
    REQUIRE(succeeded(passes.run(*module)));
  }
  auto main = module->lookupSymbol<func::FuncOp>("main");
  gathers = hasGather(main);
  func::FuncOp grad = makeScalarLoss(main, "grad");
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, {0}, isNull)));
  REQUIRE(succeeded(verify(*module)));
  std::vector<Tensor> inputs = drawInputs(opCase, f64, 1),
                      values = evaluate(main, inputs);
  for (Tensor &weight : drawWeights(grad, inputs.size(), f64))
    inputs.push_back(std::move(weight));
  llvm::append_range(values, evaluate(grad, inputs));
  REQUIRE(values.size() == 2);
  return values;
}

} // namespace

TEST_CASE("gathers of lattices keep their values and gradients") {
  TestContext context;
  std::mt19937 random(11);
  int numGone = 0, numKept = 0;
  for (int round = 0; round < 1500; ++round) {
    Drawn drawn = draw(random, round % 5 == 0);
    OpCase opCase = caseOf(drawn);
    INFO("round " << round << ": x " << shapeText(drawn.x) << ", indices "
                  << shapeText(drawn.shape) << ", axis " << drawn.axis);
    bool before = false, after = false;
    std::vector<Tensor> expected = valuesOf(context, opCase, false, before),
                        actual = valuesOf(context, opCase, true, after);
    CHECK(before);
    ++(after ? numKept : numGone);
    CHECK(actual[0].shape() == expected[0].shape());
    CHECK(actual[0].floats == expected[0].floats);
    REQUIRE(actual[1].floats.size() == expected[1].floats.size());
    for (size_t i = 0; i < expected[1].floats.size(); ++i)
      CHECK(actual[1].floats[i] == Approx(expected[1].floats[i]).margin(1e-12));
  }
  CHECK(numGone > 500);
  CHECK(numKept > 100);
}
