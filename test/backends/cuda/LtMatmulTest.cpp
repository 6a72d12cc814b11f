//===- LtMatmulTest.cpp - products through the cuBLASLt adapter -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneProduct.h"

#include <catch2/catch.hpp>

#include <limits>
#include <tuple>

using namespace sinter;
using namespace sinter::test;

namespace {

const std::tuple<int64_t, int64_t, int64_t> shapes[] = {
    {1, 1, 1},   {1, 64, 33}, {64, 1, 33}, {33, 65, 1},  {17, 31, 7},
    {32, 64, 0}, {0, 5, 3},   {5, 0, 3},   {40, 96, 130}};

const std::pair<uint32_t, uint32_t> floats[] = {
    {SINTER_F32, SINTER_F32},   {SINTER_F64, SINTER_F64},
    {SINTER_BF16, SINTER_BF16}, {SINTER_BF16, SINTER_F32},
    {SINTER_F16, SINTER_F16},   {SINTER_F16, SINTER_F32}};

constexpr float infinity = std::numeric_limits<float>::infinity();

} // namespace

TEST_CASE("cublasLt: every dtype, shape and transposition", "[lt]") {
  for (auto [in, out] : floats)
    for (auto [m, n, k] : shapes)
      for (int transposed = 0; transposed < 8; ++transposed) {
        OneProduct product(in, out, m, n, k);
        if (transposed & 1)
          product.transposeA();
        if (transposed & 2)
          product.transposeB();
        if (transposed & 4)
          product.transposeC();
        if (k == 0) {
          REQUIRE(product.refusal() == "it has no products to sum");
          continue;
        }
        product.check();
      }
}

TEST_CASE("cublasLt: int8 into int32", "[lt]") {
  OneProduct(SINTER_I8, SINTER_I32, 8, 12, 64).transposeB().check();
  REQUIRE(OneProduct(SINTER_I8, SINTER_I32, 8, 12, 64).refusal() != "");
  REQUIRE(OneProduct(SINTER_I8, SINTER_I32, 8, 12, 62)
              .transposeB()
              .refusal()
              .find("multiples of 4") != std::string::npos);
}

TEST_CASE("cublasLt: batches", "[lt]") {
  // These become one batch of the library.
  REQUIRE(OneProduct(SINTER_F32, SINTER_F32, 5, 6, 7)
              .batch(3, 35, 42, 30)
              .check()
              .find("batch 3") != std::string::npos);
  // All share B: one product with more rows.
  REQUIRE(OneProduct(SINTER_F32, SINTER_F32, 5, 6, 7)
              .batch(3, 35, 0, 30)
              .post(SINTER_POST_BIAS)
              .check()
              .find("6x15x7") != std::string::npos);
  // All share A: one product with more columns, if C has them side by side.
  OneProduct wide(SINTER_F32, SINTER_F32, 5, 6, 7);
  wide.params.cStrideM = 18;
  wide.params.bStrideK = 18;
  REQUIRE(wide.batch(3, 0, 6, 6).check().find("18x5x7") != std::string::npos);
  // Two batch dimensions that join, and heads of a packed tensor that do not.
  REQUIRE(OneProduct(SINTER_F32, SINTER_F32, 5, 6, 7)
              .batch(2, 3 * 35, 3 * 42, 3 * 30)
              .batch(3, 35, 42, 30)
              .check()
              .find("batch 6") != std::string::npos);
  OneProduct heads(SINTER_BF16, SINTER_BF16, 8, 8, 4);
  heads.params.aStrideM = heads.params.bStrideN = 36; // 3 heads of q, k and v
  heads.params.bStrideK = 1;
  REQUIRE(heads.batch(2, 8 * 36, 8 * 36, 3 * 64)
              .batch(3, 4, 4, 64)
              .check()
              .find("batch 3, 2 calls") != std::string::npos);
  // Results side by side: the columns of one product between those of another.
  OneProduct merged(SINTER_F32, SINTER_F32, 8, 4, 8);
  merged.params.cStrideM = 12;
  merged.batch(3, 64, 32, 4).check();
  // Broadcast over a batch in both operands.
  OneProduct(SINTER_F32, SINTER_F32, 4, 5, 6).batch(3, 0, 0, 20).check();
  // Four batch dimensions, none of which join.
  OneProduct(SINTER_F32, SINTER_F32, 2, 3, 4)
      .batch(2, 0, 12, 6 * 24)
      .batch(2, 8, 0, 6 * 12)
      .batch(3, 0, 24, 6 * 4)
      .batch(2, 16, 0, 6)
      .check();
  OneProduct(SINTER_F32, SINTER_F32, 2, 3, 4).batch(0, 8, 12, 6).check();
}

TEST_CASE("cublasLt: strides without a unit become products of lines", "[lt]") {
  // A's strides are 2 and 2 m.
  OneProduct product(SINTER_F32, SINTER_F32, 6, 7, 5);
  product.params.aStrideM = 2;
  product.params.aStrideK = 12;
  product.post(SINTER_POST_BIAS).check();
  OneProduct both(SINTER_F32, SINTER_F32, 6, 7, 5);
  both.params.aStrideM = 2;
  both.params.aStrideK = 12;
  both.params.bStrideN = 3;
  both.params.bStrideK = 21;
  REQUIRE(both.check().find("calls") != std::string::npos);
  OneProduct many(SINTER_F32, SINTER_F32, 600, 700, 5);
  many.params.aStrideM = 2;
  many.params.aStrideK = 1200;
  many.params.bStrideN = 2;
  many.params.bStrideK = 1400;
  REQUIRE(many.refusal().find("calls of cuBLASLt") != std::string::npos);
  // Windows of a line overlap.
  OneProduct windows(SINTER_F32, SINTER_F32, 6, 7, 5);
  windows.params.aStrideM = 2;
  windows.check();
}

TEST_CASE("cublasLt: epilogues", "[lt]") {
  auto product = [](uint32_t out = SINTER_F32) {
    return OneProduct(out == SINTER_F32 ? SINTER_F32 : SINTER_BF16, out, 24, 40,
                      30);
  };
  for (uint32_t out : {SINTER_F32, SINTER_BF16}) {
    product(out).post(SINTER_POST_BIAS).check();
    product(out).post(SINTER_POST_ADD).check();
    product(out).post(SINTER_POST_SCALE, 0.125f).check();
    product(out).post(SINTER_POST_RELU).check();
    product(out).post(SINTER_POST_CLIP, 0, infinity).check();
    product(out).post(SINTER_POST_GELU_TANH).check();
    product(out).post(SINTER_POST_ADD).post(SINTER_POST_SCALE, 3).check();
    for (uint32_t activation : {SINTER_POST_RELU, SINTER_POST_GELU_TANH}) {
      product(out).post(SINTER_POST_BIAS).post(activation).check();
      product(out)
          .post(SINTER_POST_SCALE, -2)
          .post(SINTER_POST_BIAS)
          .post(SINTER_POST_ADD)
          .post(activation)
          .check();
    }
  }
  // A batch, with one bias for all.
  product()
      .batch(3, 24 * 30, 30 * 40, 24 * 40)
      .post(SINTER_POST_BIAS)
      .post(SINTER_POST_RELU)
      .check();
  product(SINTER_F32).post(SINTER_POST_ADD).transposeC().check();
  OneProduct(SINTER_F32, SINTER_F32, 24, 1, 30).post(SINTER_POST_BIAS).check();
  OneProduct(SINTER_F32, SINTER_F32, 1, 24, 30).post(SINTER_POST_BIAS).check();
  OneProduct(SINTER_F64, SINTER_F64, 9, 8, 7)
      .post(SINTER_POST_ADD)
      .post(SINTER_POST_SCALE, 0.5)
      .check();
}

TEST_CASE("cublasLt: epilogues of training", "[lt]") {
  auto product = [](uint32_t in = SINTER_BF16) {
    return OneProduct(in, in, 24, 40, 30);
  };
  for (uint32_t in : {SINTER_F32, SINTER_BF16}) {
    product(in).post(SINTER_POST_STORE).post(SINTER_POST_GELU_TANH).check();
    product(in)
        .post(SINTER_POST_BIAS)
        .post(SINTER_POST_STORE)
        .post(SINTER_POST_GELU_TANH)
        .check();
    product(in).post(SINTER_POST_RELU_BITS).check();
    product(in).post(SINTER_POST_BIAS).post(SINTER_POST_RELU_BITS).check();
    product(in).post(SINTER_POST_GELU_TANH_GRAD).check();
    product(in)
        .post(SINTER_POST_GELU_TANH_GRAD)
        .post(SINTER_POST_BIAS_GRAD)
        .check();
    product(in).post(SINTER_POST_RELU_GRAD).check();
    product(in).post(SINTER_POST_RELU_GRAD).post(SINTER_POST_BIAS_GRAD).check();
  }
  // The gradients of a bias and of its weights, in every layout.
  for (uint32_t sum : {SINTER_POST_A_SUM, SINTER_POST_B_SUM})
    for (uint32_t in : {SINTER_F32, SINTER_BF16}) {
      product(in).post(sum).check();
      product(in).transposeA().post(sum).check();
      product(in).transposeB().post(sum).check();
      product(in).transposeA().transposeB().transposeC().post(sum).check();
      product(in).post(SINTER_POST_ADD).post(sum).check();
    }
  OneProduct(SINTER_F32, SINTER_F32, 1, 40, 9).post(SINTER_POST_A_SUM).check();
  OneProduct(SINTER_F32, SINTER_F32, 40, 1, 9).post(SINTER_POST_B_SUM).check();
  // n = 40 takes lines of 128 bits, n = 130 of 256.
  OneProduct(SINTER_F32, SINTER_F32, 5, 130, 9)
      .batch(2, 45, 0, 650)
      .post(SINTER_POST_RELU_BITS)
      .check();
  OneProduct(SINTER_F32, SINTER_F32, 5, 130, 9)
      .batch(2, 45, 9 * 130, 650)
      .post(SINTER_POST_RELU_GRAD)
      .check();
  OneProduct(SINTER_F32, SINTER_F32, 1, 40, 9)
      .post(SINTER_POST_BIAS)
      .post(SINTER_POST_STORE)
      .post(SINTER_POST_GELU_TANH)
      .check();
}

TEST_CASE("cublasLt: what no epilogue has is refused", "[lt]") {
  auto refused = [](OneProduct product) {
    std::string text = product.refusal();
    REQUIRE(text != "");
    return text;
  };
  auto product = [] { return OneProduct(SINTER_F32, SINTER_F32, 24, 40, 30); };
  for (uint32_t kind :
       {SINTER_POST_GELU_ERF, SINTER_POST_SIGMOID, SINTER_POST_TANH,
        SINTER_POST_SWISH, SINTER_POST_HARD_SWISH})
    REQUIRE(refused(product().post(kind)).find("no epilogue of cuBLASLt") == 0);
  refused(product().post(SINTER_POST_CLIP, 0, 6));
  refused(product().post(SINTER_POST_CLIP, 1, infinity));
  refused(product().post(SINTER_POST_BIAS).post(SINTER_POST_A_SUM));
  refused(product().post(SINTER_POST_A_SUM).post(SINTER_POST_B_SUM));
  refused(product().post(SINTER_POST_RELU_GRAD).post(SINTER_POST_B_SUM));
  refused(product().post(SINTER_POST_RELU).post(SINTER_POST_BIAS));
  refused(product().post(SINTER_POST_RELU).post(SINTER_POST_ADD));
  refused(product().post(SINTER_POST_RELU).post(SINTER_POST_GELU_TANH));
  refused(product().post(SINTER_POST_BIAS).post(SINTER_POST_SCALE, 2));
  refused(product().post(SINTER_POST_BIAS).post(SINTER_POST_BIAS));
  refused(product().post(SINTER_POST_ADD).post(SINTER_POST_ADD));
  refused(product().post(SINTER_POST_STORE));
  refused(product().post(SINTER_POST_STORE).post(SINTER_POST_RELU));
  refused(product().post(SINTER_POST_STORE).post(SINTER_POST_RELU_GRAD));
  refused(product().post(SINTER_POST_BIAS_GRAD));
  refused(product().post(SINTER_POST_BIAS).post(SINTER_POST_RELU_GRAD));
  REQUIRE(refused(product().post(SINTER_POST_BIAS).transposeC())
              .find("along a different dimension") != std::string::npos);
  // Lines of 41 elements are not a multiple of 8.
  REQUIRE(refused(OneProduct(SINTER_F32, SINTER_F32, 24, 41, 30)
                      .post(SINTER_POST_STORE)
                      .post(SINTER_POST_GELU_TANH))
              .find("not a multiple of 8") != std::string::npos);
  refused(OneProduct(SINTER_F64, SINTER_F64, 4, 4, 4).post(SINTER_POST_RELU));
  REQUIRE(refused(OneProduct(SINTER_I32, SINTER_I32, 4, 4, 4))
              .find("does not multiply dtype") != std::string::npos);
  // Each of several products has its own bias gradient.
  refused(product()
              .batch(3, 24 * 30, 30 * 40, 24 * 40)
              .post(SINTER_POST_RELU_GRAD)
              .post(SINTER_POST_BIAS_GRAD));
}
