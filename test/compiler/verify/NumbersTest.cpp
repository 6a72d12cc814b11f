//===- NumbersTest.cpp - wrong modules are told from right ones -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/Culprit.h"
#include "compiler/verify/Reference.h"

#include "test/ir/Evaluation.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sinter;
using namespace sinter::compiler;
using test::Program;

namespace {

/// y = exp(x) OP x, then its sum over columns.
std::string programWith(const std::string &op, const std::string &epsilon) {
  return R"(module {
    func.func @main(%x: tensor<4x6xf32> {sinter.input = "x"})
        -> (tensor<4xf32> {sinter.output = "y"}) {
      %e = sinter.exp %x : tensor<4x6xf32> loc("first")
      %z = sinter.)" +
         op + R"( %e, %x : tensor<4x6xf32> loc("second")
      %c = sinter.constant dense<)" +
         epsilon + R"(> : tensor<4x6xf32> loc("offset")
      %s = sinter.add %z, %c : tensor<4x6xf32> loc("third")
      %y = sinter.reduce sum %s dims [1] : (tensor<4x6xf32>) -> tensor<4xf32> loc("fourth")
      return %y : tensor<4xf32>
    }
  })";
}

double ratioOf(const std::string &right, const std::string &wrong) {
  Program first(test::context(), right), second(test::context(), wrong);
  GivenArrays given;
  ProgramInputs inputs(given);
  auto reference = Reference::measure(*first.module, inputs);
  REQUIRE(succeeded(reference));
  auto results = runProgram(*second.module, inputs, {});
  REQUIRE(succeeded(results));
  return reference->worst(*results).difference.ratio;
}

} // namespace

TEST_CASE("equal modules have equal numbers") {
  const std::string text = programWith("mul", "0.5");
  CHECK(ratioOf(text, text) == 0);
}

TEST_CASE("the rounding of a constant is within the bound") {
  const double ratio =
      ratioOf(programWith("mul", "0.5"), programWith("mul", "0.50000003"));
  CHECK(ratio > 0);
  CHECK(ratio < 1);
}

TEST_CASE("a small wrong constant exceeds the bound") {
  CHECK(ratioOf(programWith("mul", "0.5"), programWith("mul", "0.50001")) > 1);
}

TEST_CASE("another op exceeds the bound and is named with its node") {
  const std::string right = programWith("mul", "0.5"),
                    wrong = programWith("add", "0.5");
  CHECK(ratioOf(right, wrong) > 1);
  Program first(test::context(), right), second(test::context(), wrong);
  GivenArrays given;
  ProgramInputs inputs(given);
  Culprit culprit =
      findCulprit(*first.module, *second.module, inputs, /*anyOrder=*/false);
  CHECK(culprit.op == "sinter.add");
  CHECK(culprit.nodes == "second");
}

TEST_CASE("what is not finite exceeds every bound") {
  Bounded bounded = Bounded::of(
      [] {
        ir::Tensor one(mlir::RankedTensorType::get(
            {1}, mlir::Float32Type::get(&test::context())));
        one.floats[0] = 1;
        return one;
      }(),
      {});
  ir::Tensor bad = bounded.value;
  bad.floats[0] = std::nan("");
  CHECK(std::isinf(compare(bad, bounded).ratio));
  bad.floats[0] = 1 + 0x1p-23;
  CHECK(compare(bad, bounded).ratio < 1);
}

TEST_CASE("a missing result is a mismatch") {
  Program program(test::context(), programWith("mul", "0.5"));
  GivenArrays given;
  ProgramInputs inputs(given);
  auto reference = Reference::measure(*program.module, inputs);
  REQUIRE(succeeded(reference));
  CHECK(reference->worst({}).isMissing);
}

TEST_CASE("given arrays of another shape are refused") {
  Program program(test::context(), programWith("mul", "0.5"));
  GivenArrays given;
  given["x"] = {{2, 3}, "float32 [2, 3]", std::vector<char>(24)};
  ProgramInputs inputs(given);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&test::context(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          message = diagnostic.str();
                                          return mlir::success();
                                        });
  CHECK(failed(runProgram(*program.module, inputs, {})));
  CHECK(message ==
        "input 'x' is 'tensor<4x6xf32>', --inputs has float32 [2, 3]");
}
