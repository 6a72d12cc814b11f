//===- ScanGradientTest.cpp - the gradient of a scan and of its trips -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/autodiff/Gradient.h"
#include "test/ops/OpFixture.h"
#include "test/ops/OpList.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

/// The gradients of a weighted sum of @main's results by each of its float
/// arguments; of the program after `passes`.
std::vector<Tensor> gradientsOf(TestContext &context, const std::string &text,
                                std::unique_ptr<Pass> pass,
                                OwningOpRef<ModuleOp> &module) {
  module = parseSourceString<ModuleOp>(text, context.get());
  INFO(text);
  INFO(context.takeDiagnostics());
  REQUIRE(module);
  if (pass) {
    PassManager pm(context.get());
    pm.addPass(std::move(pass));
    REQUIRE(succeeded(pm.run(*module)));
  }
  auto main = module->lookupSymbol<func::FuncOp>("main");
  func::FuncOp grad = makeScalarLoss(main, "grad");
  std::vector<Tensor> arguments;
  SmallVector<unsigned> wrt;
  double number = 0;
  for (auto [i, type] : llvm::enumerate(grad.getArgumentTypes())) {
    Tensor tensor(cast<RankedTensorType>(type));
    for (double &element : tensor.floats)
      element = std::sin(++number * 1.7) * 0.8;
    for (int64_t &element : tensor.ints)
      element = static_cast<int64_t>(number += 1) % 3;
    if (tensor.isFloat() && i < main.getNumArguments())
      wrt.push_back(i);
    arguments.push_back(std::move(tensor));
  }
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, wrt, isNull)));
  INFO(context.takeDiagnostics());
  REQUIRE(succeeded(verify(*module)));
  return evaluate(grad, arguments);
}

void checkAgainstTrips(TestContext &context, const std::string &text) {
  OwningOpRef<ModuleOp> module, unrolled;
  std::vector<Tensor> ofScan = gradientsOf(context, text, nullptr, module),
                      ofTrips = gradientsOf(
                          context, text,
                          passes::createUnrollScans({/*maxTrips=*/-1}),
                          unrolled);
  REQUIRE(ofScan.size() == ofTrips.size());
  for (size_t k = 0; k < ofScan.size(); ++k) {
    REQUIRE(ofScan[k].size() == ofTrips[k].size());
    for (int64_t i = 0; i < ofScan[k].size(); ++i) {
      INFO("argument " << k << " element " << i);
      CHECK(ofScan[k].floats[i] ==
            Approx(ofTrips[k].floats[i]).epsilon(1e-11).margin(1e-13));
    }
  }
}

/// The reset of a GRU: the whole operand is read by two products, of which one
/// multiplies its transpose.
const char *const kGated = R"(
func.func @main(%xs: tensor<4x2x3xf64>, %h: tensor<2x3xf64>, %r: tensor<3x3xf64>, %b: tensor<3xf64>)
    -> (tensor<2x3xf64>, tensor<4x2x3xf64>) {
  %last, %all = sinter.scan trips 4 DIRECTION stacks(%xs) initial(%h) whole(%r, %b)
      : (tensor<4x2x3xf64>, tensor<2x3xf64>, tensor<3x3xf64>, tensor<3xf64>) -> (tensor<2x3xf64>, tensor<4x2x3xf64>) {
  ^bb0(%x: tensor<2x3xf64>, %before: tensor<2x3xf64>, %w: tensor<3x3xf64>, %bias: tensor<3xf64>):
    %one = sinter.constant dense<1.0> : tensor<2x3xf64>
    %p = sinter.dot_general %before, %w batch [] x [] contract [1] x [1] : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
    %wide = sinter.broadcast %bias dims [1] : tensor<3xf64> -> tensor<2x3xf64>
    %sum = sinter.add %p, %wide : tensor<2x3xf64>
    %gate = sinter.sigmoid %sum : tensor<2x3xf64>
    %kept = sinter.mul %gate, %before : tensor<2x3xf64>
    %t = sinter.transpose %w perm [1, 0] : (tensor<3x3xf64>) -> tensor<3x3xf64>
    %q = sinter.dot_general %kept, %t batch [] x [] contract [1] x [1] : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
    %new = sinter.add %q, %x : tensor<2x3xf64>
    %candidate = sinter.tanh %new : tensor<2x3xf64>
    %rest = sinter.sub %one, %gate : tensor<2x3xf64>
    %a = sinter.mul %rest, %candidate : tensor<2x3xf64>
    %after = sinter.add %a, %kept : tensor<2x3xf64>
    sinter.yield %after, %candidate : tensor<2x3xf64>, tensor<2x3xf64>
  }
  return %last, %all : tensor<2x3xf64>, tensor<4x2x3xf64>
})";

std::string gated(StringRef direction) {
  std::string text = kGated;
  return text.replace(text.find("DIRECTION"), 9, direction);
}

} // namespace

TEST_CASE("the gradient of a scan is that of its trips") {
  TestContext context;
  SECTION("forwards") { checkAgainstTrips(context, gated("")); }
  SECTION("in reverse") { checkAgainstTrips(context, gated("reverse")); }
  SECTION("through composites, masks, and values without a gradient") {
    checkAgainstTrips(context, R"(
func.func @main(%xs: tensor<3x2x4xf64>, %ns: tensor<3xi64>, %h: tensor<2x4xf64>, %c: tensor<i64>, %s: tensor<4xf64>)
    -> (tensor<2x4xf64>, tensor<i64>, tensor<3x2x4xf64>) {
  %r:3 = sinter.scan trips 3 stacks(%xs, %ns) initial(%h, %c) whole(%s)
      : (tensor<3x2x4xf64>, tensor<3xi64>, tensor<2x4xf64>, tensor<i64>, tensor<4xf64>)
        -> (tensor<2x4xf64>, tensor<i64>, tensor<3x2x4xf64>) {
  ^bb0(%x: tensor<2x4xf64>, %n: tensor<i64>, %before: tensor<2x4xf64>, %count: tensor<i64>, %scale: tensor<4xf64>):
    %more = sinter.add %count, %n : tensor<i64>
    %isOdd = sinter.compare gt %more, %n : tensor<i64>
    %mask = sinter.broadcast %isOdd dims [] : tensor<i1> -> tensor<2x4xi1>
    %scales = sinter.broadcast %scale dims [1] : tensor<4xf64> -> tensor<2x4xf64>
    %moved = sinter.mul %before, %scales : tensor<2x4xf64>
    %soft = sinter.softmax %moved {axis = 1 : i64} : tensor<2x4xf64>
    %sum = sinter.add %soft, %x : tensor<2x4xf64>
    %after = sinter.where %mask, %sum, %before : tensor<2x4xi1>, tensor<2x4xf64>
    sinter.yield %after, %more, %soft : tensor<2x4xf64>, tensor<i64>, tensor<2x4xf64>
  }
  return %r#0, %r#1, %r#2 : tensor<2x4xf64>, tensor<i64>, tensor<3x2x4xf64>
})");
  }
}

TEST_CASE("the gradient of a weight in a scan is one product over all trips") {
  TestContext context;
  OwningOpRef<ModuleOp> module;
  gradientsOf(context, gated(""), nullptr, module);
  PassManager pm(context.get());
  pm.addPass(passes::createSimplifyAlgebra());
  REQUIRE(succeeded(pm.run(*module)));
  int outside = 0, forward = 0, backward = 0;
  auto grad = module->lookupSymbol<func::FuncOp>("grad");
  grad.walk([&](ir::DotGeneralOp dot) {
    auto scan = dot->getParentOfType<ir::ScanOp>();
    ++(!scan ? outside : scan.getReverse() ? backward : forward);
  });
  // One for each product of the body; their results are not computed again.
  CHECK(forward == 2);
  CHECK(backward == 2);
  CHECK(outside == 2);
}
