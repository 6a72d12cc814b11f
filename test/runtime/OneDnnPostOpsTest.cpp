//===- OneDnnPostOpsTest.cpp - post-ops of fp32 products on the CPU -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "test/runtime/FloatProducts.h"

#include <cmath>

using namespace sinter;
using namespace sinter::test;

TEST_CASE("matmul: every post-op, in every order", "[matmul]") {
  const auto &kinds = commonPostOps;
  for (uint32_t first : kinds)
    for (uint32_t second : kinds)
      for (auto [m, n, k] : {std::tuple{13, 37, 29}, {96, 256, 64}}) {
        CAPTURE(first, second, m, n, k);
        sinter_matmul p = dense(m, n, k);
        addCommonPostOp(p, first);
        addCommonPostOp(p, second);
        checkProduct(p, {.constantB = true});
        if (first == SINTER_POST_ADD || second == SINTER_POST_ADD)
          checkProduct(p, {.addResult = true});
        p.cStrideM = 1;
        p.cStrideN = m;
        checkProduct(p);
      }
  sinter_matmul all = dense(40, 100, 60);
  for (uint32_t kind :
       {kinds[0], kinds[1], kinds[2], kinds[8], kinds[6], kinds[7]})
    addCommonPostOp(all, kind);
  checkProduct(all);
}

TEST_CASE("post-ops: the CPU has all that every device has", "[matmul]") {
  auto library = sinter::cpu::createCpuLibrary();
  REQUIRE(library.ok());
  sinter_matmul p = dense(4, 4, 4);
  p.numPostOps = 1;
  const sinter_command command = callOf(&p);
  for (uint32_t kind = 0; kind <= SINTER_NUM_POST_OPS; ++kind) {
    CAPTURE(kind);
    const sinter_post_op_traits *row = sinter_post_op_row(kind);
    const bool isEverywhere = row && row->scope == SINTER_POST_SCOPE_ALL;
    CHECK(sinter::cpu::hasPostOp(kind) == isEverywhere);
    if (sinter::cpu::hasPostOp(kind))
      continue;
    p.postOps[0] = {kind, 0, 0, 0};
    auto prepared = (*library)->prepare(command, {});
    REQUIRE_FALSE(prepared.ok());
    CHECK(prepared.status().code() == SINTER_UNSUPPORTED);
  }
}

TEST_CASE("matmul: NaN goes through every post-op", "[matmul]") {
  for (uint32_t kind :
       {SINTER_POST_RELU, SINTER_POST_GELU_ERF, SINTER_POST_GELU_TANH,
        SINTER_POST_SIGMOID, SINTER_POST_TANH, SINTER_POST_CLIP,
        SINTER_POST_SCALE, SINTER_POST_SWISH, SINTER_POST_HARD_SWISH})
    for (int64_t m : {1, 64})
      for (int64_t spread : {1, 2}) {
        CAPTURE(kind, m, spread);
        sinter_matmul p = dense(m, 48, 16);
        p.cStrideM *= spread;
        p.cStrideN *= spread;
        addPostOp(p, kind, -1, 1);
        std::vector<float> a = someValues(m * 16, 1);
        a[0] = std::nanf("");
        OneCommand command(callOf(&p));
        command.operand(a);
        command.operand(someValues(16 * 48, 2));
        std::vector<float> result(static_cast<size_t>(m * 48 * spread));
        command.run(1, result);
        REQUIRE(std::isnan(result[0]));
        REQUIRE(std::isnan(result[47 * spread]));
        if (m > 1)
          REQUIRE_FALSE(std::isnan(result[48 * spread]));
      }
}
