//===- LtPlanTest.cpp - matrix products as cuBLASLt problems --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtPlan.h"
#include "test/backends/cuda/OneProduct.h"

#include <catch2/catch.hpp>

#include <array>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::test;

namespace {

using Numbers = std::array<int64_t, 4>;

Numbers numbers(const LtLayout &layout) {
  return {layout.rows, layout.cols, layout.ld, layout.batchStride};
}

LtPlan planOf(const OneProduct &product) {
  LtPlan plan = LtPlan::make(product.params);
  REQUIRE(plan.refusal == "");
  return plan;
}

} // namespace

TEST_CASE("cublasLt plan: row-major products are column-major ones swapped",
          "[lt]") {
  OneProduct product(SINTER_F32, SINTER_F32, 5, 6, 7);
  LtPlan plan = planOf(product);
  REQUIRE(plan.aSlice == 1);
  REQUIRE(plan.bSlice == 0);
  REQUIRE((plan.m == 6 && plan.n == 5 && plan.k == 7));
  REQUIRE((plan.transA == lt::opN && plan.transB == lt::opN));
  REQUIRE(numbers(plan.a) == Numbers{6, 7, 6, 0});
  REQUIRE(numbers(plan.b) == Numbers{7, 5, 7, 0});
  REQUIRE(numbers(plan.d) == Numbers{6, 5, 6, 0});
  REQUIRE(plan.computeType == lt::compute32F);
  REQUIRE(plan.epilogue == lt::epilogueDefault);

  plan = planOf(OneProduct(product).transposeA().transposeB());
  REQUIRE((plan.transA == lt::opT && plan.transB == lt::opT));
  REQUIRE(numbers(plan.a) == Numbers{7, 6, 7, 0});
  REQUIRE(numbers(plan.b) == Numbers{5, 7, 5, 0});

  // C in columns needs no swap.
  plan = planOf(OneProduct(product).transposeC());
  REQUIRE(plan.aSlice == 0);
  REQUIRE(numbers(plan.d) == Numbers{5, 6, 5, 0});
  REQUIRE((plan.transA == lt::opT && plan.transB == lt::opT));
}

TEST_CASE("cublasLt plan: lines of a larger tensor", "[lt]") {
  OneProduct product(SINTER_BF16, SINTER_BF16, 128, 64, 32);
  product.params.aStrideM = 96; // a third of a packed tensor
  LtPlan plan = planOf(product);
  REQUIRE(numbers(plan.b) == Numbers{32, 128, 96, 0});
  REQUIRE(plan.a.type == lt::bf16);
  product.batch(12, 32, 32 * 64, 128 * 64);
  plan = planOf(product);
  REQUIRE(plan.batch == 12);
  REQUIRE(plan.b.batchStride == 32);
  REQUIRE(plan.a.batchStride == 32 * 64);
  REQUIRE(plan.d.batchStride == 128 * 64);
}

TEST_CASE("cublasLt plan: a GELU in float32 is not exact", "[lt]") {
  auto fits = [](uint32_t dtype, std::initializer_list<uint32_t> kinds) {
    OneProduct product(dtype, dtype == SINTER_TF32 ? SINTER_F32 : dtype, 16, 16,
                       16);
    for (uint32_t kind : kinds)
      product.post(kind);
    return sinter::cuda::productFits(product.params);
  };
  for (std::initializer_list<uint32_t> kinds :
       {std::initializer_list<uint32_t>{SINTER_POST_GELU_TANH},
        {SINTER_POST_BIAS, SINTER_POST_GELU_TANH},
        {SINTER_POST_STORE, SINTER_POST_GELU_TANH},
        {SINTER_POST_GELU_TANH_GRAD},
        {SINTER_POST_GELU_TANH_GRAD, SINTER_POST_BIAS_GRAD}}) {
    CHECK_FALSE(fits(SINTER_F32, kinds));
    for (uint32_t dtype : {SINTER_TF32, SINTER_BF16, SINTER_F16})
      CHECK(fits(dtype, kinds));
  }
  CHECK(fits(SINTER_F32, {SINTER_POST_BIAS, SINTER_POST_RELU}));
}

TEST_CASE("cublasLt plan: post-ops and their epilogues", "[lt]") {
  auto epilogue = [](std::initializer_list<uint32_t> kinds) {
    OneProduct product(SINTER_F32, SINTER_F32, 16, 16, 16);
    for (uint32_t kind : kinds)
      product.post(kind);
    return planOf(product).epilogue;
  };
  REQUIRE(epilogue({}) == 1);
  REQUIRE(epilogue({SINTER_POST_ADD}) == 1);
  REQUIRE(epilogue({SINTER_POST_RELU}) == 2);
  REQUIRE(epilogue({SINTER_POST_BIAS}) == 4);
  REQUIRE(epilogue({SINTER_POST_BIAS, SINTER_POST_RELU}) == 6);
  REQUIRE(epilogue({SINTER_POST_GELU_TANH}) == 32);
  REQUIRE(epilogue({SINTER_POST_BIAS, SINTER_POST_ADD,
                    SINTER_POST_GELU_TANH}) == 36);
  REQUIRE(epilogue({SINTER_POST_RELU_BITS}) == 130);
  REQUIRE(epilogue({SINTER_POST_BIAS, SINTER_POST_RELU_BITS}) == 134);
  REQUIRE(epilogue({SINTER_POST_RELU_GRAD}) == 136);
  REQUIRE(epilogue({SINTER_POST_RELU_GRAD, SINTER_POST_BIAS_GRAD}) == 152);
  REQUIRE(epilogue({SINTER_POST_STORE, SINTER_POST_GELU_TANH}) == 160);
  REQUIRE(epilogue({SINTER_POST_BIAS, SINTER_POST_STORE,
                    SINTER_POST_GELU_TANH}) == 164);
  REQUIRE(epilogue({SINTER_POST_GELU_TANH_GRAD}) == 192);
  REQUIRE(epilogue({SINTER_POST_GELU_TANH_GRAD, SINTER_POST_BIAS_GRAD}) == 208);
  // Row-major: B comes first in the library's product, and has its rows.
  REQUIRE(epilogue({SINTER_POST_A_SUM}) == 512);
  REQUIRE(epilogue({SINTER_POST_B_SUM}) == 256);
  OneProduct residual(SINTER_F32, SINTER_F32, 16, 16, 16);
  residual.post(SINTER_POST_SCALE, 2)
      .post(SINTER_POST_ADD)
      .post(SINTER_POST_SCALE, 3);
  LtPlan plan = planOf(residual);
  REQUIRE(plan.alpha == 6);
  REQUIRE(plan.beta == 3);
  OneProduct bits(SINTER_F32, SINTER_F32, 16, 130, 16);
  plan = planOf(bits.post(SINTER_POST_RELU_BITS));
  REQUIRE(plan.auxLd == 256);
}

TEST_CASE("cublasLt plan: what a target asks", "[lt]") {
  OneProduct product(SINTER_F32, SINTER_F32, 16, 16, 16);
  REQUIRE(productFits(product.params));
  REQUIRE(productFits(product.post(SINTER_POST_BIAS).params));
  REQUIRE_FALSE(productFits(product.post(SINTER_POST_SIGMOID).params));
  // A call computes these, but rounds in another order than the post-ops.
  OneProduct scaled(SINTER_F32, SINTER_F32, 16, 16, 16);
  REQUIRE(productFits(scaled.post(SINTER_POST_SCALE, 2).params));
  REQUIRE(productFits(scaled.post(SINTER_POST_ADD).params));
  REQUIRE_FALSE(productFits(scaled.post(SINTER_POST_SCALE, 3).params));
  REQUIRE(LtPlan::make(scaled.params).refusal.empty());
}
