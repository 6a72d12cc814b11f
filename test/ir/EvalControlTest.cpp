//===- EvalControlTest.cpp - what repetition means ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ir/HandValues.h"

using namespace mlir;
using namespace sinter::ir;
using namespace sinter::test;

namespace {

/// All results of a scan over the rows of xs (3 x 2) and of ns (3), with the
/// carried values h (2) and c, and the factor w. A trip computes h' = w h + x
/// and c' = 10 c + n; the slices are h' and c' - n.
SmallVector<Tensor> runScan(bool isReverse,
                            Rounding rounding = Rounding::none) {
  std::string text =
      "func.func @f() -> (tensor<2xf32>, tensor<i64>, tensor<3x2xf32>, "
      "tensor<3xi64>) {\n" +
      constant("xs", "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]",
               "tensor<3x2xf32>") +
      constant("ns", "[1, 2, 3]", "tensor<3xi64>") +
      constant("h", "[1.0, -1.0]", "tensor<2xf32>") +
      constant("c", "7", "tensor<i64>") +
      constant("w", "[2.0, 0.5]", "tensor<2xf32>") +
      "%r:4 = sinter.scan trips 3 " + (isReverse ? "reverse " : "") +
      R"(stacks(%xs, %ns) initial(%h, %c) whole(%w)
          : (tensor<3x2xf32>, tensor<3xi64>, tensor<2xf32>, tensor<i64>, tensor<2xf32>)
            -> (tensor<2xf32>, tensor<i64>, tensor<3x2xf32>, tensor<3xi64>) {
      ^bb0(%x: tensor<2xf32>, %n: tensor<i64>, %a: tensor<2xf32>, %b: tensor<i64>, %f: tensor<2xf32>):
        %ten = sinter.constant dense<10> : tensor<i64>
        %scaled = sinter.mul %a, %f : tensor<2xf32>
        %next = sinter.add %scaled, %x : tensor<2xf32>
        %moved = sinter.mul %b, %ten : tensor<i64>
        %count = sinter.add %moved, %n : tensor<i64>
        sinter.yield %next, %count, %next, %moved : tensor<2xf32>, tensor<i64>, tensor<2xf32>, tensor<i64>
      }
      return %r#0, %r#1, %r#2, %r#3 : tensor<2xf32>, tensor<i64>, tensor<3x2xf32>, tensor<3xi64>
    })";
  INFO(text);
  Program program(context(), text);
  REQUIRE(program.module);
  auto results = evaluateFunction(program.function(), {}, rounding);
  REQUIRE(succeeded(results));
  return *results;
}

} // namespace

TEST_CASE("a scan carries values from trip to trip and stacks slices") {
  SmallVector<Tensor> results = runScan(false);
  // h: [1, -1] -> [3, 1.5] -> [9, 4.75] -> [23, 8.375]
  CHECK(results[0].floats == std::vector<double>{23, 8.375});
  CHECK(results[1].ints == std::vector<int64_t>{7123});
  CHECK(results[2].floats == std::vector<double>{3, 1.5, 9, 4.75, 23, 8.375});
  CHECK(results[3].ints == std::vector<int64_t>{70, 710, 7120});
}

TEST_CASE("a scan in reverse begins with the last slice") {
  SmallVector<Tensor> results = runScan(true);
  // h: [1, -1] -> [7, 5.5] -> [17, 6.75] -> [35, 5.375]
  CHECK(results[0].floats == std::vector<double>{35, 5.375});
  CHECK(results[1].ints == std::vector<int64_t>{7321});
  CHECK(results[2].floats == std::vector<double>{35, 5.375, 17, 6.75, 7, 5.5});
  CHECK(results[3].ints == std::vector<int64_t>{7320, 730, 70});
}

TEST_CASE("the body of a scan is rounded as ops outside are") {
  // 1/3 + 1/3 + 1/3, rounded to float32 after each addition.
  std::string text = R"(func.func @f() -> tensor<f32> {
      %zero = sinter.constant dense<0.0> : tensor<f32>
      %third = sinter.constant dense<0.333333343> : tensor<f32>
      %r = sinter.scan trips 3 stacks() initial(%zero) whole(%third) : (tensor<f32>, tensor<f32>) -> tensor<f32> {
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = sinter.add %a, %b : tensor<f32>
        sinter.yield %c : tensor<f32>
      }
      return %r : tensor<f32>
    })";
  Program program(context(), text);
  REQUIRE(program.module);
  auto exact = evaluateFunction(program.function(), {}, Rounding::none),
       rounded = evaluateFunction(program.function(), {}, Rounding::each_op);
  REQUIRE(succeeded(exact));
  REQUIRE(succeeded(rounded));
  const float third = 0.333333343f;
  CHECK(exact->front().floats[0] == 3 * double(third));
  CHECK(rounded->front().floats[0] == double(third + third + third));
}
