//===- EvalWholeTest.cpp - what contractions, composites, programs mean ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ir/HandValues.h"

using namespace mlir;
using namespace sinter::ir;
using namespace sinter::test;

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

TEST_CASE("a conv of integers wraps") {
  // 65536 * 65536 + 3 * 5 = 15 modulo 2^32.
  CHECK(evaluate("tensor<1x1x1xi32>",
                 constant("x", "[[[65536, 3]]]", "tensor<1x1x2xi32>") +
                     constant("w", "[[[65536, 5]]]", "tensor<1x1x2xi32>") +
                     "%r = sinter.conv %x, %w {strides = array<i64: 1>, "
                     "dilations = array<i64: 1>, pads_low = array<i64: 0>, "
                     "pads_high = array<i64: 0>} : (tensor<1x1x2xi32>, "
                     "tensor<1x1x2xi32>) -> tensor<1x1x1xi32>")
            .ints == Ints{15});
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
      evaluate(
          "tensor<1x2x1xf32>",
          body +
              "%r, %s = sinter.attention %q, %q, %v, %m {scale = 1.0 : f64} : "
              "(tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, "
              "tensor<1x2x2xf32>) -> (tensor<1x2x1xf32>, tensor<1x2xf32>)")
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
      R"(%r = sinter.kernel loop(%x) over <[2] views [(d0) -> (d0)]> : (tensor<2xi32>) -> tensor<2xi32> {
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
