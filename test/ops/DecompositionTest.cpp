//===- DecompositionTest.cpp - composites equal their decompositions ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ops/OpFixture.h"
#include "test/ops/OpList.h"

#include "mlir/IR/Verifier.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

TEST_CASE("a composite and its decomposition have the same value") {
  TestContext context;
  Type f64 = Float64Type::get(context.get());
  int numChecked = 0;
  for (const OpCase &opCase : allCases()) {
    OperationName name(opCase.op(), context.get());
    if (!name.hasInterface<ir::CompositeOpInterface>())
      continue;
    INFO(opCase.name);
    OwningOpRef<ModuleOp> module = buildModule(opCase, f64);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    std::vector<ir::Tensor> inputs = drawInputs(opCase, f64, 3);
    std::vector<ir::Tensor> whole = evaluate(main, inputs);
    decomposeAll(main);
    REQUIRE(succeeded(verify(*module)));
    std::vector<ir::Tensor> parts = evaluate(main, inputs);
    REQUIRE(whole.size() == main.getNumResults());
    REQUIRE(parts.size() == whole.size());
    for (size_t r = 0; r < whole.size(); ++r) {
      CHECK(whole[r].ints == parts[r].ints);
      for (size_t i = 0; i < whole[r].floats.size(); ++i) {
        double a = whole[r].floats[i], b = parts[r].floats[i];
        INFO("result " << r << " element " << i << ": " << a << " and " << b);
        bool bothNan = std::isnan(a) && std::isnan(b);
        CHECK((bothNan ||
               std::fabs(a - b) <= 1e-6 * std::max(1.0, std::fabs(a))));
      }
    }
    ++numChecked;
  }
  CHECK(numChecked > 100);
}
