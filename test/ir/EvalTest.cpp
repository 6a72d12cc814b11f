//===- EvalTest.cpp - meaning of elementwise ops, by hand-computed values -===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ir/HandValues.h"

using namespace mlir;
using namespace sinter::ir;
using namespace sinter::test;

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
  // Through float64 this would first round to 2^60 and then stay there.
  CHECK(castOf("[1152921573326323713]", "tensor<1xi64>", "tensor<1xf32>")
            .floats == std::vector<double>{1152921642045800448.0});
  // A tie goes to the even neighbour; infinity follows the largest value.
  checkSame(castOf("[2049.0, 2051.0, 65520.0, 1.0e-8]", "tensor<4xf32>",
                   "tensor<4xf16>")
                .floats,
            {2048, 2052, kInfinity, 0});
  checkSame(castOf("[257.0, 259.0]", "tensor<2xf32>", "tensor<2xbf16>").floats,
            {256, 260});
}
