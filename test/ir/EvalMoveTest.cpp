//===- EvalMoveTest.cpp - what reductions and shape ops mean --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ir/HandValues.h"

using namespace mlir;
using namespace sinter::ir;
using namespace sinter::test;

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

TEST_CASE("cumulative_parts goes on from what is before each part") {
  auto run = [](const std::string &kind, const std::string &attrs) {
    return evaluate("tensor<1x5xi32>",
                    constant("x", "[[1, 2, 3, 4, 5]]", "tensor<1x5xi32>") +
                        constant("s", "[[10, 20]]", "tensor<1x2xi32>") +
                        "%r = sinter.cumulative_parts " + kind +
                        " %x, %s {axis = 1 : i64, part = 2 : i64" + attrs +
                        "} : tensor<1x5xi32>, tensor<1x2xi32>")
        .ints;
  };
  CHECK(run("sum", "") == Ints{1, 3, 13, 17, 25});
  CHECK(run("sum", ", exclusive") == Ints{0, 1, 10, 13, 20});
  CHECK(run("sum", ", reverse") == Ints{11, 25, 23, 9, 5});
  CHECK(run("prod", ", exclusive, reverse") == Ints{10, 60, 20, 5, 1});
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
