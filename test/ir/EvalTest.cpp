//===- EvalTest.cpp - what ops mean, by hand-computed values --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ir/Evaluation.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter::ir;
using sinter::test::Program;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The result of a function of no arguments with this body and result type.
Tensor evaluate(const std::string &type, const std::string &body,
                Rounding rounding = Rounding::none) {
  std::string text = "func.func @f() -> " + type + " {\n" + body +
                     "\nreturn %r : " + type + "\n}";
  INFO(text);
  Program program(sinter::test::context(), text);
  REQUIRE(program.module);
  auto results = evaluateFunction(program.function(), {}, rounding);
  REQUIRE(succeeded(results));
  return results->front();
}

std::string constant(const std::string &name, const std::string &value,
                     const std::string &type) {
  return "%" + name + " = sinter.constant dense<" + value + "> : " + type +
         "\n";
}

/// `op` of x, and of x and y, as integers of `type`.
std::vector<int64_t> ints(const std::string &op, const std::string &type,
                          const std::string &x) {
  return evaluate(type, constant("x", x, type) + "%r = sinter." + op +
                            " %x : " + type)
      .ints;
}
std::vector<int64_t> ints(const std::string &op, const std::string &type,
                          const std::string &x, const std::string &y) {
  return evaluate(type, constant("x", x, type) + constant("y", y, type) +
                            "%r = sinter." + op + " %x, %y : " + type)
      .ints;
}
std::vector<double> floats(const std::string &op, const std::string &type,
                           const std::string &x) {
  return evaluate(type, constant("x", x, type) + "%r = sinter." + op +
                            " %x : " + type)
      .floats;
}
std::vector<double> floats(const std::string &op, const std::string &type,
                           const std::string &x, const std::string &y) {
  return evaluate(type, constant("x", x, type) + constant("y", y, type) +
                            "%r = sinter." + op + " %x, %y : " + type)
      .floats;
}

/// Equal with NaN equal to NaN and -0.0 different from 0.0.
void checkSame(const std::vector<double> &actual,
               const std::vector<double> &expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    INFO("element " << i << ": " << actual[i] << ", expected " << expected[i]);
    if (std::isnan(expected[i]))
      CHECK(std::isnan(actual[i]));
    else
      CHECK((actual[i] == expected[i] &&
             std::signbit(actual[i]) == std::signbit(expected[i])));
  }
}

/// The cast of `x` from one type to another.
Tensor castOf(const std::string &x, const std::string &from,
              const std::string &to) {
  return evaluate(to, constant("x", x, from) + "%r = sinter.cast %x : " + from +
                          " -> " + to);
}

using Ints = std::vector<int64_t>;
const std::string kNanF32 = "0x7FC00000", kInfF32 = "0x7F800000",
                  kNegInfF32 = "0xFF800000";

} // namespace

TEST_CASE("integers wrap to their width") {
  CHECK(ints("add", "tensor<2xi8>", "[127, -128]", "[1, -1]") ==
        Ints{-128, 127});
  CHECK(ints("add", "tensor<1xui8>", "[255]", "[2]") == Ints{1});
  CHECK(ints("mul", "tensor<1xi64>", "[9223372036854775807]", "[2]") ==
        Ints{-2});
  CHECK(ints("neg", "tensor<2xi8>", "[-128, 5]") == Ints{-128, -5});
  CHECK(ints("abs", "tensor<2xi8>", "[-128, -5]") == Ints{-128, 5});
  CHECK(ints("neg", "tensor<1xui8>", "[1]") == Ints{255});
  CHECK(ints("bit_not", "tensor<1xui8>", "[1]") == Ints{254});
  CHECK(ints("bit_not", "tensor<1xi8>", "[1]") == Ints{-2});
}

TEST_CASE("integer division rounds toward zero; by 0 it is 0") {
  CHECK(ints("div", "tensor<5xi32>", "[7, -7, 7, 5, -2147483648]",
             "[2, 2, -2, 0, -1]") == Ints{3, -3, -3, 0, -2147483648});
  CHECK(ints("div", "tensor<1xui64>", "[18446744073709551615]", "[2]") ==
        Ints{9223372036854775807});
  CHECK(ints("div", "tensor<1xi64>", "[-9223372036854775808]", "[-1]") ==
        Ints{std::numeric_limits<int64_t>::min()});
}

TEST_CASE("mod has the divisor's sign, rem the dividend's") {
  CHECK(ints("mod", "tensor<5xi32>", "[7, -7, 7, -7, 3]",
             "[3, 3, -3, -3, 0]") == Ints{1, 2, -2, -1, 0});
  CHECK(ints("rem", "tensor<5xi32>", "[7, -7, 7, -7, 3]",
             "[3, 3, -3, -3, 0]") == Ints{1, -1, 1, -1, 0});
  checkSame(floats("mod", "tensor<4xf32>", "[7.0, -7.0, 6.0, 1.0]",
                   "[3.0, 3.0, -3.0, 0.0]"),
            {1, 2, -0.0, kNan});
  checkSame(
      floats("rem", "tensor<3xf32>", "[7.0, -7.0, -6.0]", "[3.0, 3.0, 3.0]"),
      {1, -1, -0.0});
  checkSame(floats("mod", "tensor<2xf32>", "[1.0, -1.0]",
                   "[" + kInfF32 + ", " + kInfF32 + "]"),
            {1, kInfinity});
}

TEST_CASE("integer powers wrap; negative exponents give quotients") {
  CHECK(ints("pow", "tensor<7xi32>", "[3, 2, 0, 2, -1, -1, 0]",
             "[4, 31, 0, -1, -3, -2, -1]") ==
        Ints{81, -2147483648, 1, 0, -1, 1, 0});
  CHECK(ints("pow", "tensor<1xui8>", "[3]", "[6]") == Ints{217});
}

TEST_CASE("shifts beyond the width") {
  CHECK(ints("shift_left", "tensor<4xi8>", "[1, 1, 1, 1]", "[7, 8, 100, -1]") ==
        Ints{-128, 0, 0, 0});
  CHECK(ints("shift_right", "tensor<4xi8>", "[-128, -128, 64, 64]",
             "[7, 8, 3, -1]") == Ints{-1, -1, 8, 0});
  CHECK(ints("shift_right", "tensor<2xui8>", "[128, 128]", "[7, 8]") ==
        Ints{1, 0});
  CHECK(ints("shift_right", "tensor<1xui64>", "[9223372036854775808]",
             "[63]") == Ints{1});
}

TEST_CASE("max and min propagate NaN and order zeros") {
  std::string x = "[1.0, " + kNanF32 + ", 1.0, -0.0, 0.0]";
  std::string y = "[2.0, 1.0, " + kNanF32 + ", 0.0, -0.0]";
  checkSame(floats("max", "tensor<5xf32>", x, y), {2, kNan, kNan, 0.0, 0.0});
  checkSame(floats("min", "tensor<5xf32>", x, y), {1, kNan, kNan, -0.0, -0.0});
  CHECK(ints("max", "tensor<1xui64>", "[18446744073709551615]", "[1]") ==
        Ints{-1});
}

TEST_CASE("sign, relu, round, sigmoid at their edges") {
  checkSame(
      floats("sign", "tensor<4xf32>", "[-3.0, 0.0, 2.0, " + kNanF32 + "]"),
      {-1, 0, 1, kNan});
  checkSame(
      floats("relu", "tensor<4xf32>", "[-3.0, -0.0, 2.0, " + kNanF32 + "]"),
      {0, 0, 2, kNan});
  checkSame(floats("round", "tensor<5xf32>", "[0.5, 1.5, 2.5, -0.5, -1.5]"),
            {0, 2, 2, -0.0, -2});
  checkSame(floats("sigmoid", "tensor<3xf32>", "[-1000.0, 0.0, 1000.0]"),
            {0, 0.5, 1});
  CHECK(ints("sign", "tensor<1xui64>", "[18446744073709551615]") == Ints{1});
}

TEST_CASE("comparisons with NaN are false, ne excepted") {
  for (auto [kind, expected] : {std::pair{"eq", 0},
                                {"ne", 1},
                                {"lt", 0},
                                {"le", 0},
                                {"gt", 0},
                                {"ge", 0}}) {
    std::string body = constant("x", kNanF32, "tensor<f32>") +
                       "%r = sinter.compare " + kind + " %x, %x : tensor<f32>";
    CHECK(evaluate("tensor<i1>", body).ints == Ints{expected});
  }
  std::string body = constant("x", "9223372036854775808", "tensor<ui64>") +
                     constant("y", "1", "tensor<ui64>") +
                     "%r = sinter.compare gt %x, %y : tensor<ui64>";
  CHECK(evaluate("tensor<i1>", body).ints == Ints{1});
}

TEST_CASE("casts truncate, saturate, wrap and round") {
  std::string wild = "[300.9, -300.9, " + kNanF32 + ", " + kInfF32 + ", " +
                     kNegInfF32 + ", -1.9]";
  CHECK(castOf(wild, "tensor<6xf32>", "tensor<6xi8>").ints ==
        Ints{127, -128, 0, 127, -128, -1});
  CHECK(castOf(wild, "tensor<6xf32>", "tensor<6xui8>").ints ==
        Ints{255, 0, 0, 255, 0, 0});
  CHECK(castOf(wild, "tensor<6xf32>", "tensor<6xi1>").ints ==
        Ints{1, 1, 1, 1, 1, 1});
  CHECK(castOf("[1.0e30, -1.0e30]", "tensor<2xf32>", "tensor<2xi64>").ints ==
        Ints{std::numeric_limits<int64_t>::max(),
             std::numeric_limits<int64_t>::min()});
  CHECK(castOf("[1.0e30, 9223372036854775808.0]", "tensor<2xf32>",
               "tensor<2xui64>")
            .ints == Ints{-1, std::numeric_limits<int64_t>::min()});
  CHECK(castOf("[300, -1]", "tensor<2xi32>", "tensor<2xi8>").ints ==
        Ints{44, -1});
  CHECK(castOf("[-1]", "tensor<1xi8>", "tensor<1xui16>").ints == Ints{65535});
  CHECK(castOf("[200]", "tensor<1xui8>", "tensor<1xi16>").ints == Ints{200});
  CHECK(castOf("[256, 0]", "tensor<2xi32>", "tensor<2xi1>").ints == Ints{1, 0});
  CHECK(castOf("[18446744073709551615]", "tensor<1xui64>", "tensor<1xf64>")
            .floats == std::vector<double>{18446744073709551616.0});
  // Through float64 this would round to 2^60 first and then stay there.
  CHECK(castOf("[1152921573326323713]", "tensor<1xi64>", "tensor<1xf32>")
            .floats == std::vector<double>{1152921642045800448.0});
  // A tie goes to the even neighbour; beyond the greatest value lies infinity.
  checkSame(castOf("[2049.0, 2051.0, 65520.0, 1.0e-8]", "tensor<4xf32>",
                   "tensor<4xf16>")
                .floats,
            {2048, 2052, kInfinity, 0});
  checkSame(castOf("[257.0, 259.0]", "tensor<2xf32>", "tensor<2xbf16>").floats,
            {256, 260});
}

TEST_CASE("reductions of nothing") {
  auto reduceEmpty = [](const std::string &kind, const std::string &element) {
    return evaluate("tensor<1x" + element + ">",
                    constant("x", "", "tensor<1x0x" + element + ">") +
                        "%r = sinter.reduce " + kind +
                        " %x dims [1] : (tensor<1x0x" + element +
                        ">) -> tensor<1x" + element + ">");
  };
  checkSame(reduceEmpty("sum", "f32").floats, {0});
  checkSame(reduceEmpty("prod", "f32").floats, {1});
  checkSame(reduceEmpty("max", "f32").floats, {-kInfinity});
  checkSame(reduceEmpty("min", "f32").floats, {kInfinity});
  CHECK(reduceEmpty("max", "i8").ints == Ints{-128});
  CHECK(reduceEmpty("min", "i8").ints == Ints{127});
  CHECK(reduceEmpty("max", "ui8").ints == Ints{0});
  CHECK(reduceEmpty("min", "ui64").ints == Ints{-1});
  CHECK(reduceEmpty("all", "i1").ints == Ints{1});
  CHECK(reduceEmpty("any", "i1").ints == Ints{0});
}

TEST_CASE("reduce over inner and outer dimensions") {
  std::string x = constant("x", "[[1, 2, 3], [4, 5, 6]]", "tensor<2x3xi32>");
  CHECK(evaluate("tensor<3xi32>", x + "%r = sinter.reduce sum %x dims [0] : "
                                      "(tensor<2x3xi32>) -> tensor<3xi32>")
            .ints == Ints{5, 7, 9});
  CHECK(evaluate("tensor<2xi32>", x + "%r = sinter.reduce prod %x dims [1] : "
                                      "(tensor<2x3xi32>) -> tensor<2xi32>")
            .ints == Ints{6, 120});
  std::string y = constant("x", "[1.0, " + kNanF32 + ", 3.0]", "tensor<3xf32>");
  checkSame(evaluate("tensor<f32>", y + "%r = sinter.reduce max %x dims [0] : "
                                        "(tensor<3xf32>) -> tensor<f32>")
                .floats,
            {kNan});
}

TEST_CASE("arg_reduce: ties and NaN") {
  auto index = [](const std::string &kind, const std::string &values,
                  const std::string &attrs) {
    return evaluate("tensor<i64>", constant("x", values, "tensor<5xf32>") +
                                       "%r = sinter.arg_reduce " + kind +
                                       " %x {axis = 0 : i64" + attrs +
                                       "} : (tensor<5xf32>) -> tensor<i64>")
        .ints[0];
  };
  CHECK(index("max", "[1.0, 3.0, 3.0, 2.0, 0.0]", "") == 1);
  CHECK(index("max", "[1.0, 3.0, 3.0, 2.0, 0.0]", ", select_last") == 2);
  CHECK(index("min", "[1.0, 0.0, 3.0, 0.0, 2.0]", "") == 1);
  CHECK(index("min", "[1.0, 0.0, 3.0, 0.0, 2.0]", ", select_last") == 3);
  CHECK(index("max", "[1.0, " + kNanF32 + ", 3.0, " + kNanF32 + ", 9.0]", "") ==
        1);
  CHECK(index("min", "[1.0, " + kNanF32 + ", 3.0, " + kNanF32 + ", 0.0]",
              ", select_last") == 3);
}

TEST_CASE("top_k is stable and puts NaN above every number") {
  auto indices = [](const std::string &values, const std::string &attrs) {
    return evaluate(
               "tensor<4xi64>",
               constant("x", values, "tensor<5xf32>") +
                   "%v, %r = sinter.top_k %x {axis = 0 : i64, k = 4 : i64" +
                   attrs +
                   "} : (tensor<5xf32>) -> (tensor<4xf32>, tensor<4xi64>)")
        .ints;
  };
  CHECK(indices("[2.0, 3.0, 2.0, 3.0, 1.0]", ", largest") == Ints{1, 3, 0, 2});
  CHECK(indices("[2.0, 3.0, 2.0, 3.0, 1.0]", "") == Ints{4, 0, 2, 1});
  CHECK(indices("[2.0, " + kNanF32 + ", 5.0, 3.0, 1.0]", ", largest") ==
        Ints{1, 2, 3, 0});
  CHECK(indices("[2.0, " + kNanF32 + ", 5.0, 3.0, 1.0]", "") ==
        Ints{4, 0, 3, 2});
}

TEST_CASE("cumulative, exclusive and reverse") {
  auto run = [](const std::string &kind, const std::string &attrs) {
    return evaluate("tensor<2x3xi32>",
                    constant("x", "[[1, 2, 3], [4, 5, 6]]", "tensor<2x3xi32>") +
                        "%r = sinter.cumulative " + kind +
                        " %x {axis = 1 : i64" + attrs + "} : tensor<2x3xi32>")
        .ints;
  };
  CHECK(run("sum", "") == Ints{1, 3, 6, 4, 9, 15});
  CHECK(run("sum", ", exclusive") == Ints{0, 1, 3, 0, 4, 9});
  CHECK(run("sum", ", reverse") == Ints{6, 5, 3, 15, 11, 6});
  CHECK(run("prod", ", exclusive, reverse") == Ints{6, 3, 1, 30, 6, 1});
}

TEST_CASE("windows: padding takes no part") {
  auto window = [](const std::string &kind, const std::string &low,
                   const std::string &count) {
    return evaluate("tensor<" + count + "xf32>",
                    constant("x", "[-1.0, -2.0, -3.0]", "tensor<3xf32>") +
                        "%r = sinter.reduce_window " + kind +
                        " %x {window = array<i64: 2>, strides = array<i64: 2>, "
                        "dilations = array<i64: 1>, pads_low = array<i64: " +
                        low +
                        ">, pads_high = array<i64: 0>} : (tensor<3xf32>) -> "
                        "tensor<" +
                        count + "xf32>")
        .floats;
  };
  checkSame(window("max", "1", "2"), {-1, -2});
  checkSame(window("sum", "1", "2"), {-1, -5});
  checkSame(window("max", "2", "2"), {-kInfinity, -1});
  checkSame(window("sum", "2", "2"), {0, -3});
}

TEST_CASE("windows of one element, however far apart the next would be") {
  std::string attrs =
      " {window = array<i64: 1>, strides = array<i64: 2>, dilations = "
      "array<i64: "
      "9223372036854775807>, pads_low = array<i64: 2>, pads_high = array<i64: "
      "1>} : (tensor<3xf32>) -> tensor<3xf32>";
  checkSame(evaluate("tensor<3xf32>",
                     constant("x", "[1.0, 2.0, 3.0]", "tensor<3xf32>") +
                         "%r = sinter.reduce_window max %x" + attrs)
                .floats,
            {-kInfinity, 1, 3});
  std::string conv =
      " {strides = array<i64: 2>, dilations = array<i64: 9223372036854775807>, "
      "pads_low = array<i64: 2>, pads_high = array<i64: 1>} : "
      "(tensor<1x1x3xf32>, tensor<1x1x1xf32>) -> tensor<1x1x3xf32>";
  checkSame(evaluate("tensor<1x1x3xf32>",
                     constant("x", "[[[1.0, 2.0, 3.0]]]", "tensor<1x1x3xf32>") +
                         constant("w", "10.0", "tensor<1x1x1xf32>") +
                         "%r = sinter.conv %x, %w" + conv)
                .floats,
            {0, 10, 30});
}

TEST_CASE("the gradient of a max window goes to the first maximum") {
  std::string body = constant("x", "[1.0, 3.0, 3.0, 2.0]", "tensor<4xf32>") +
                     constant("g", "[10.0, 20.0, 30.0]", "tensor<3xf32>");
  std::string attrs = " {window = array<i64: 2>, strides = array<i64: 1>, "
                      "dilations = array<i64: 1>, "
                      "pads_low = array<i64: 0>, pads_high = array<i64: 0>} : "
                      "(tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>";
  checkSame(evaluate("tensor<4xf32>",
                     body + "%r = sinter.reduce_window_grad max %x, %g" + attrs)
                .floats,
            {0, 30, 30, 0});
  checkSame(evaluate("tensor<4xf32>",
                     body + "%r = sinter.reduce_window_grad sum %x, %g" + attrs)
                .floats,
            {10, 30, 50, 30});
}

TEST_CASE("gather clamps, scatter drops; both count negatives from the end") {
  std::string x = constant("x", "[10, 11, 12]", "tensor<3xi32>");
  std::string i = constant("i", "[-1, 5, 0, -9]", "tensor<4xi64>");
  CHECK(evaluate("tensor<4xi32>",
                 x + i +
                     "%r = sinter.gather %x, %i axis 0 : (tensor<3xi32>, "
                     "tensor<4xi64>) -> tensor<4xi32>")
            .ints == Ints{12, 12, 10, 10});
  std::string u = constant("u", "[1, 2, 3, 4]", "tensor<4xi32>");
  CHECK(evaluate(
            "tensor<3xi32>",
            x + i + u +
                "%r = sinter.scatter sum %x, %i, %u axis 0 : (tensor<3xi32>, "
                "tensor<4xi64>, tensor<4xi32>) -> tensor<3xi32>")
            .ints == Ints{13, 11, 13});
}

TEST_CASE("scatter applies duplicates in index order") {
  std::string x = constant("x", "[0, 0]", "tensor<2xi32>");
  std::string i = constant("i", "[1, 1, 0]", "tensor<3xi64>");
  std::string u = constant("u", "[5, 6, 7]", "tensor<3xi32>");
  std::string types = " axis 0 : (tensor<2xi32>, tensor<3xi64>, tensor<3xi32>) "
                      "-> tensor<2xi32>";
  CHECK(evaluate("tensor<2xi32>",
                 x + i + u + "%r = sinter.scatter set %x, %i, %u" + types)
            .ints == Ints{7, 6});
  CHECK(evaluate("tensor<2xi32>",
                 x + i + u + "%r = sinter.scatter_elements sum %x, %i, %u" +
                     types)
            .ints == Ints{7, 11});
}

TEST_CASE("gather along an inner dimension, of tuples, of elements") {
  std::string x = constant("x", "[[1, 2, 3], [4, 5, 6]]", "tensor<2x3xi32>");
  CHECK(evaluate("tensor<2x1x2xi32>",
                 x + constant("i", "[[2, 0]]", "tensor<1x2xi64>") +
                     "%r = sinter.gather %x, %i axis 1 : (tensor<2x3xi32>, "
                     "tensor<1x2xi64>) -> tensor<2x1x2xi32>")
            .ints == Ints{3, 1, 6, 4});
  CHECK(evaluate("tensor<2x2xi32>",
                 x + constant("i", "[[2, 0], [1, 1]]", "tensor<2x2xi64>") +
                     "%r = sinter.gather_elements %x, %i axis 1 : "
                     "(tensor<2x3xi32>, tensor<2x2xi64>) -> tensor<2x2xi32>")
            .ints == Ints{3, 1, 5, 5});
  CHECK(evaluate("tensor<2xi32>",
                 x + constant("i", "[[1, 2], [0, 0]]", "tensor<2x2xi64>") +
                     "%r = sinter.gather_nd %x, %i batch_dims 0 : "
                     "(tensor<2x3xi32>, tensor<2x2xi64>) -> tensor<2xi32>")
            .ints == Ints{6, 1});
  CHECK(evaluate("tensor<2xi32>",
                 x + constant("i", "[[1], [-1]]", "tensor<2x1xi64>") +
                     "%r = sinter.gather_nd %x, %i batch_dims 1 : "
                     "(tensor<2x3xi32>, tensor<2x1xi64>) -> tensor<2xi32>")
            .ints == Ints{2, 6});
  CHECK(
      evaluate("tensor<2x3xi32>",
               x + constant("i", "[[1]]", "tensor<1x1xi64>") +
                   constant("u", "[[9, 9, 9]]", "tensor<1x3xi32>") +
                   "%r = sinter.scatter_nd sum %x, %i, %u : (tensor<2x3xi32>, "
                   "tensor<1x1xi64>, tensor<1x3xi32>) -> tensor<2x3xi32>")
          .ints == Ints{1, 2, 3, 13, 14, 15});
}

TEST_CASE("shape ops move elements") {
  std::string x = constant("x", "[[1, 2, 3], [4, 5, 6]]", "tensor<2x3xi32>");
  CHECK(
      evaluate("tensor<3x2xi32>", x + "%r = sinter.transpose %x perm [1, 0] : "
                                      "(tensor<2x3xi32>) -> tensor<3x2xi32>")
          .ints == Ints{1, 4, 2, 5, 3, 6});
  CHECK(evaluate("tensor<2x2x3xi32>",
                 x + "%r = sinter.broadcast %x dims [0, 2] : tensor<2x3xi32> "
                     "-> tensor<2x2x3xi32>")
            .ints == Ints{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(evaluate("tensor<1x2xi32>",
                 x + "%r = sinter.slice %x starts [1, 0] limits [2, 3] strides "
                     "[1, 2] : (tensor<2x3xi32>) -> tensor<1x2xi32>")
            .ints == Ints{4, 6});
  CHECK(evaluate("tensor<2x3xi32>",
                 x + "%r = sinter.reverse %x dims [0, 1] : tensor<2x3xi32>")
            .ints == Ints{6, 5, 4, 3, 2, 1});
  CHECK(evaluate("tensor<4x3xi32>",
                 x + "%r = sinter.concat %x, %x axis 0 : (tensor<2x3xi32>, "
                     "tensor<2x3xi32>) -> tensor<4x3xi32>")
            .ints == Ints{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  CHECK(evaluate("tensor<2x6xi32>",
                 x + "%r = sinter.concat %x, %x axis 1 : (tensor<2x3xi32>, "
                     "tensor<2x3xi32>) -> tensor<2x6xi32>")
            .ints == Ints{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(
      evaluate("tensor<3x6xi32>",
               x + constant("v", "9", "tensor<i32>") +
                   "%r = sinter.pad %x, %v low [1, 0] high [0, 1] interior [0, "
                   "1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3x6xi32>")
          .ints == Ints{9, 9, 9, 9, 9, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9});
  CHECK(evaluate("tensor<2x3xi8>",
                 "%r = sinter.iota {axis = 1 : i64} : tensor<2x3xi8>")
            .ints == Ints{0, 1, 2, 0, 1, 2});
}

TEST_CASE("dot_general orders batch, then lhs, then rhs dimensions") {
  std::string body =
      constant("a", "[[[1], [2]], [[3], [4]]]", "tensor<2x2x1xi32>") +
      constant("b", "[[[10, 20], [30, 40]]]", "tensor<1x2x2xi32>");
  // The batch is dimension 1 of a and 2 of b.
  CHECK(evaluate("tensor<2x2x2xi32>",
                 body + "%r = sinter.dot_general %a, %b batch [1] x [2] "
                        "contract [2] x [0] : (tensor<2x2x1xi32>, "
                        "tensor<1x2x2xi32>) -> tensor<2x2x2xi32>")
            .ints == Ints{10, 30, 30, 90, 40, 80, 80, 160});
}

TEST_CASE("conv and its gradients are one bilinear form") {
  std::string attrs =
      " {strides = array<i64: 2>, dilations = array<i64: 2>, pads_low = "
      "array<i64: 1>, pads_high = array<i64: 2>, groups = 2 : i64} : ";
  std::string x = constant("x", "[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]",
                           "tensor<1x2x3xf32>");
  std::string w =
      constant("w", "[[[1.0, 10.0]], [[2.0, 3.0]]]", "tensor<2x1x2xf32>");
  // Padded channel 0 is 0 1 2 3 0 0: 0 + 10 * 2, then 2 + 10 * 0; channel 1
  // alike.
  checkSame(
      evaluate(
          "tensor<1x2x2xf32>",
          x + w + "%r = sinter.conv %x, %w" + attrs +
              "(tensor<1x2x3xf32>, tensor<2x1x2xf32>) -> tensor<1x2x2xf32>")
          .floats,
      {20, 2, 15, 10});
  std::string dy =
      constant("d", "[[[1.0, 2.0], [3.0, 4.0]]]", "tensor<1x2x2xf32>");
  checkSame(
      evaluate(
          "tensor<1x2x3xf32>",
          w + dy + "%r = sinter.conv_input_grad %d, %w" + attrs +
              "(tensor<1x2x2xf32>, tensor<2x1x2xf32>) -> tensor<1x2x3xf32>")
          .floats,
      {0, 12, 0, 0, 17, 0});
  checkSame(
      evaluate(
          "tensor<2x1x2xf32>",
          x + dy + "%r = sinter.conv_filter_grad %x, %d" + attrs +
              "(tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> tensor<2x1x2xf32>")
          .floats,
      {4, 2, 20, 15});
}

TEST_CASE("softmax_cross_entropy agrees with PyTorch's formula") {
  std::string body =
      constant("x", "[[0.0, 1.0, 2.0], [3.0, 3.0, 3.0]]", "tensor<2x3xf64>") +
      constant("t", "[2, 7]", "tensor<2xi64>");
  std::vector<double> losses =
      evaluate("tensor<2xf64>",
               body +
                   "%r = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, "
                   "label_smoothing = 0.3 : f64, ignore_index = 7 : i64} : "
                   "(tensor<2x3xf64>, tensor<2xi64>) -> tensor<2xf64>")
          .floats;
  double logSum = std::log(std::exp(0.0) + std::exp(1.0) + std::exp(2.0));
  double smooth = ((logSum - 0) + (logSum - 1) + (logSum - 2)) / 3;
  CHECK(losses[0] == Approx(0.7 * (logSum - 2) + 0.3 * smooth).epsilon(1e-12));
  CHECK(losses[1] == 0);
}

TEST_CASE("attention gives 0 where every key is masked") {
  std::string body = constant("q", "1.0", "tensor<1x2x1xf32>") +
                     constant("v", "[[[5.0], [7.0]]]", "tensor<1x2x1xf32>") +
                     constant("m",
                              "[[[" + kNegInfF32 + ", " + kNegInfF32 +
                                  "], [0.0, " + kNegInfF32 + "]]]",
                              "tensor<1x2x2xf32>");
  checkSame(
      evaluate("tensor<1x2x1xf32>",
               body +
                   "%r = sinter.attention %q, %q, %v, %m {scale = 1.0 : f64} : "
                   "(tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, "
                   "tensor<1x2x2xf32>) -> tensor<1x2x1xf32>")
          .floats,
      {0, 5});
}

TEST_CASE("Philox4x32-10 gives the published words") {
  // Known answers of Random123: counter 0, key 0 begins with 0x6627e8d5; all
  // bits set with 0x408f276d. With index, step and op id 0 the first element's
  // word is the former.
  auto isKept = [](double ratio) {
    std::string body =
        constant("x", "1.0", "tensor<1xf64>") +
        constant("z", "0", "tensor<i64>") +
        "%r = sinter.dropout %x, %z, %z {ratio = " + std::to_string(ratio) +
        " : f64, op_id = 0 : i64} : (tensor<1xf64>, tensor<i64>, tensor<i64>) "
        "-> tensor<1xf64>";
    return evaluate("tensor<1xf64>", body).floats[0] != 0;
  };
  double word = 0x6627e8d5 / 4294967296.0;
  CHECK(isKept(word - 1e-5));
  CHECK_FALSE(isKept(word + 1e-5));
}

TEST_CASE("each op rounded, or float64 throughout") {
  std::string body = constant("x", "16777216.0", "tensor<f32>") +
                     constant("y", "1.0", "tensor<f32>") +
                     "%s = sinter.add %x, %y : tensor<f32>\n%r = sinter.sub "
                     "%s, %x : tensor<f32>";
  CHECK(evaluate("tensor<f32>", body).floats[0] == 1);
  CHECK(evaluate("tensor<f32>", body, Rounding::each_op).floats[0] == 0);
}

TEST_CASE("fusions are evaluated by their bodies") {
  std::string body =
      constant("x", "3", "tensor<2xi32>") +
      R"(%r = sinter.fusion "loop"(%x) : (tensor<2xi32>) -> tensor<2xi32> {
                        ^bb0(%a : tensor<2xi32>):
                          %b = sinter.mul %a, %a : tensor<2xi32>
                          sinter.yield %b : tensor<2xi32>
                        })";
  CHECK(evaluate("tensor<2xi32>", body).ints == Ints{9, 9});
}

TEST_CASE("tensors keep their bytes through attributes") {
  Builder builder(&sinter::test::context());
  Type elements[] = {builder.getF16Type(),
                     builder.getBF16Type(),
                     builder.getF32Type(),
                     builder.getF64Type(),
                     builder.getI1Type(),
                     builder.getIntegerType(8),
                     builder.getIntegerType(16, false),
                     builder.getI32Type(),
                     builder.getIntegerType(64, false)};
  sinter::test::context().getOrLoadDialect<SinterDialect>();
  for (Type element : elements)
    for (int64_t size : {0, 1, 3, 5000})
      for (bool isSplat : {false, true}) {
        Tensor tensor(RankedTensorType::get({size}, element));
        for (int64_t i = 0; i < size; ++i)
          if (tensor.isFloat())
            tensor.floats[i] =
                isSplat ? -0.0 : 0.25 * static_cast<double>(i % 100);
          else
            tensor.ints[i] = isSplat ? 1 : i % 2;
        ElementsAttr attr = tensor.toAttr();
        CHECK(attr.getType() == tensor.type());
        auto again = Tensor::fromAttr(attr);
        REQUIRE(succeeded(again));
        checkSame(again->floats, tensor.floats);
        CHECK(again->ints == tensor.ints);
      }
}
