//===- IntervalsTest.cpp - bounds of values at compile time ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The importer omits the check of an index that is certainly within its bounds,
// so an interval that is too narrow would go unnoticed.
//
//===----------------------------------------------------------------------===//
#include "ir/Intervals.h"
#include "test/ir/Evaluation.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sinter::ir;
using sinter::test::context;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// The interval of the last value of `ops`, which may use %f (f32), %i (i64),
/// %s (i16) and %c = 3 .. 5 (i64), all tensors of 3.
Interval intervalOf(const std::string &ops) {
  context().loadDialect<SinterDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(%f: tensor<3xf32>, %i: tensor<3xi64>, %s: tensor<3xi16>) "
      "{\n"
      "%c = sinter.constant dense<[3, 5, 4]> : tensor<3xi64>\n" +
          ops + "\nreturn }",
      &context());
  REQUIRE(module);
  Block &block = module->lookupSymbol<func::FuncOp>("f").getBody().front();
  Operation *last = block.getTerminator()->getPrevNode();
  return Intervals().of(last->getResult(last->getNumResults() - 1));
}

struct Case {
  const char *ops;
  double low, high;
};

} // namespace

TEST_CASE("intervals hold every value that an op may give") {
  for (const Case &c : std::vector<Case>{
           {"%r = sinter.add %c, %c : tensor<3xi64>", 6, 10},
           {"%r = sinter.add %c, %i : tensor<3xi64>", -kInf, kInf},
           {"%r = sinter.sub %c, %c : tensor<3xi64>", -2, 2},
           {"%r = sinter.mul %c, %c : tensor<3xi64>", 9, 25},
           {"%n = sinter.neg %c : tensor<3xi64>\n"
            "%r = sinter.mul %n, %c : tensor<3xi64>",
            -25, -9},
           {"%r = sinter.max %i, %c : tensor<3xi64>", 3, kInf},
           {"%r = sinter.min %i, %c : tensor<3xi64>", -kInf, 5},
           {"%h = sinter.min %i, %c : tensor<3xi64>\n"
            "%r = sinter.max %h, %c : tensor<3xi64>",
            3, 5},
           {"%r = sinter.mod %i, %c : tensor<3xi64>", 0, 4},
           // Integer division truncates: 3 / 5 is 0.
           {"%r = sinter.div %c, %c : tensor<3xi64>", 0, 2},
           {"%r = sinter.abs %s : tensor<3xi16>", -32768, 32767},
           {"%r = sinter.add %s, %s : tensor<3xi16>", -32768, 32767},
           {"%t = sinter.sigmoid %f : tensor<3xf32>\n"
            "%r = sinter.cast %t : tensor<3xf32> -> tensor<3xi64>",
            0, 1},
           // NaN becomes 0.
           {"%t = sinter.sigmoid %f : tensor<3xf32>\n"
            "%o = sinter.constant dense<2.0> : tensor<3xf32>\n"
            "%a = sinter.add %t, %o : tensor<3xf32>\n"
            "%r = sinter.cast %a : tensor<3xf32> -> tensor<3xi64>",
            0, 3},
           {"%n = sinter.constant dense<300> : tensor<3xi64>\n"
            "%r = sinter.cast %n : tensor<3xi64> -> tensor<3xi8>",
            -128, 127},
           {"%r = sinter.arg_reduce max %f {axis = 0 : i64} : "
            "(tensor<3xf32>) -> tensor<i64>",
            0, 2},
           {"%v, %r = sinter.top_k %f {axis = 0 : i64, k = 2 : i64, largest} : "
            "(tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi64>)",
            0, 2},
           {"%r = sinter.iota {axis = 1 : i64} : tensor<3x7xi64>", 0, 6},
           {"%r = sinter.concat %c, %i axis 0 : (tensor<3xi64>, tensor<3xi64>) "
            "-> tensor<6xi64>",
            -kInf, kInf},
           {"%r = sinter.reduce sum %c dims [0] : (tensor<3xi64>) -> "
            "tensor<i64>",
            9, 15},
       }) {
    INFO(c.ops);
    Interval interval = intervalOf(c.ops);
    CHECK(interval.low == c.low);
    CHECK(interval.high == c.high);
  }
}
