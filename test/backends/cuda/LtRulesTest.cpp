//===- LtRulesTest.cpp - the rules that the stand-in for cuBLASLt checks --===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimCublasLt.h"
#include "backends/sim/library/SimMemory.h"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace sinter;
namespace lt = sinter::cuda::lt;

namespace {

/// A valid fp32 product D (16x8) = A (16x4) B (4x8), which tests modify.
struct Call {
  struct Matrix {
    int32_t type;
    uint64_t rows, cols;
    int64_t ld;
    int32_t batch = 1;
    int64_t stride = 0;
  };
  int computeType = lt::compute32F, scaleType = lt::f32;
  int32_t transA = lt::opN, transB = lt::opN, pointerMode = 0;
  Matrix a{lt::f32, 16, 4, 16}, b{lt::f32, 4, 8, 4}, c{lt::f32, 16, 8, 16},
      d{lt::f32, 16, 8, 16};
  uint32_t epilogue = lt::epilogueDefault;
  void *bias = nullptr, *aux = nullptr;
  int32_t biasType = -1;
  int64_t auxLd = 0, auxStride = 0, biasStride = 0;
  uint32_t alignment = 64;
  float alpha = 1, beta = 0;
  int64_t workspaceBytes = -1; // what the algorithm wants
  bool forgetAlgorithm = false, otherAlgorithm = false;

  alignas(256) inline static uint8_t memory[8][16384] = {};
  const void *aAt = memory[0], *bAt = memory[1], *cAt = memory[3];
  void *dAt = memory[3], *workspace = memory[4];

  /// The rule that was violated; empty if it ran.
  std::string run() const {
    const lt::Api &api = sim::ltApi();
    lt::Handle handle;
    REQUIRE(api.create(&handle) == 0);
    lt::Desc desc;
    REQUIRE(api.matmulDescCreate(&desc, computeType, scaleType) == 0);
    auto set = [&](int attribute, auto value) {
      REQUIRE(api.matmulDescSetAttribute(desc, attribute, &value,
                                         sizeof(value)) == 0);
    };
    set(lt::descTransA, transA);
    set(lt::descTransB, transB);
    set(lt::descPointerMode, pointerMode);
    set(lt::descEpilogue, epilogue);
    set(lt::descBiasPointer, bias);
    set(lt::descBiasDataType, biasType);
    set(lt::descBiasBatchStride, biasStride);
    set(lt::descAuxPointer, aux);
    set(lt::descAuxLd, auxLd);
    set(lt::descAuxBatchStride, auxStride);
    lt::Layout layouts[4];
    const Matrix *matrices[] = {&a, &b, &c, &d};
    for (int i = 0; i < 4; ++i) {
      const Matrix &m = *matrices[i];
      REQUIRE(api.matrixLayoutCreate(&layouts[i], m.type, m.rows, m.cols,
                                     m.ld) == 0);
      REQUIRE(api.matrixLayoutSetAttribute(layouts[i], lt::layoutBatchCount,
                                           &m.batch, 4) == 0);
      REQUIRE(api.matrixLayoutSetAttribute(layouts[i], lt::layoutBatchStride,
                                           &m.stride, 8) == 0);
    }
    lt::Preference preference;
    REQUIRE(api.matmulPreferenceCreate(&preference) == 0);
    uint64_t most = 8192;
    REQUIRE(api.matmulPreferenceSetAttribute(
                preference, lt::prefMaxWorkspaceBytes, &most, 8) == 0);
    for (int attribute : {lt::prefMinAlignmentA, lt::prefMinAlignmentB,
                          lt::prefMinAlignmentC, lt::prefMinAlignmentD})
      REQUIRE(api.matmulPreferenceSetAttribute(preference, attribute,
                                               &alignment, 4) == 0);
    lt::HeuristicResult result{};
    int returned = 0;
    std::string text;
    if (api.matmulAlgoGetHeuristic(handle, desc, layouts[0], layouts[1],
                                   layouts[2], layouts[3], preference, 1,
                                   &result, &returned) != 0)
      text = api.lastError();
    else if (otherAlgorithm)
      result.algo.data[1] ^= 1;
    if (text.empty()) {
      size_t bytes = workspaceBytes < 0 ? result.workspaceBytes
                                        : static_cast<size_t>(workspaceBytes);
      if (api.matmul(handle, desc, &alpha, aAt, layouts[0], bAt, layouts[1],
                     &beta, cAt, layouts[2], dAt, layouts[3],
                     forgetAlgorithm ? nullptr : &result.algo, workspace, bytes,
                     nullptr) != 0)
        text = api.lastError();
    }
    for (lt::Layout layout : layouts)
      REQUIRE(api.matrixLayoutDestroy(layout) == 0);
    REQUIRE(api.matmulPreferenceDestroy(preference) == 0);
    REQUIRE(api.matmulDescDestroy(desc) == 0);
    REQUIRE(api.destroy(handle) == 0);
    REQUIRE(sim::ltLiveObjects() == 0);
    return text;
  }
};

void breaks(const char *rule, const std::function<void(Call &)> &change) {
  Call call;
  change(call);
  std::string text = call.run();
  CAPTURE(text, rule);
  REQUIRE(text.find(rule) != std::string::npos);
}

uint8_t *at(int block, int64_t offset = 0) {
  return Call::memory[block] + offset;
}

} // namespace

TEST_CASE("cublasLt rules: a valid call runs", "[lt]") {
  REQUIRE(Call().run() == "");
}

TEST_CASE("cublasLt rules: types", "[lt]") {
  breaks("does not take A, B, C, D",
         [](Call &c) { c.computeType = lt::compute64F; });
  breaks("does not take A, B, C, D", [](Call &c) { c.scaleType = lt::f16; });
  breaks("does not take A, B, C, D", [](Call &c) { c.b.type = lt::bf16; });
  breaks("does not take A, B, C, D", [](Call &c) { c.c.type = lt::f16; });
  breaks("alpha and beta", [](Call &c) { c.pointerMode = 1; });
}

TEST_CASE("cublasLt rules: layouts", "[lt]") {
  breaks("leading dimension of matrix A", [](Call &c) { c.a.ld = 15; });
  breaks("leading dimension of matrix D", [](Call &c) { c.d.ld = 15; });
  breaks("matrix B is empty", [](Call &c) { c.b.cols = 0; });
  breaks("op(A) has 4 columns, op(B) has 8 rows",
         [](Call &c) { c.transB = lt::opT; });
  breaks("op(A) op(B) is 16x8", [](Call &c) { c.d.cols = 7; });
  breaks("op(A) op(B) is 16x8", [](Call &c) { c.c.rows = 8; });
  breaks("matrix A has a batch of 2", [](Call &c) { c.a.batch = 2; });
  breaks("products of D overlap", [](Call &c) {
    for (Call::Matrix *m : {&c.a, &c.b, &c.c, &c.d})
      m->batch = 2;
    c.d.stride = c.c.stride = 16; // the next column of the first product
  });
  breaks("products of D overlap", [](Call &c) {
    for (Call::Matrix *m : {&c.a, &c.b, &c.c, &c.d})
      m->batch = 2;
  });
}

TEST_CASE("cublasLt rules: int8", "[lt]") {
  auto integers = [](Call &c) {
    c.computeType = lt::compute32I;
    c.scaleType = lt::i32;
    c.transA = lt::opT;
    c.a = {lt::i8, 4, 16, 4};
    c.b = {lt::i8, 4, 8, 4};
    c.c.type = c.d.type = lt::i32;
  };
  Call valid;
  integers(valid);
  REQUIRE(valid.run() == "");
  breaks("A transposed and B not", [&](Call &c) {
    integers(c);
    c.transA = lt::opN;
    c.a = {lt::i8, 16, 4, 16};
  });
  breaks("leading dimensions in multiples of 4", [&](Call &c) {
    integers(c);
    c.b.ld = 6;
  });
  breaks("m and k in multiples of 4", [&](Call &c) {
    integers(c);
    c.a.rows = c.b.rows = 3;
  });
  breaks("support only the default epilogue", [&](Call &c) {
    integers(c);
    c.epilogue = lt::epilogueRelu;
  });
}

TEST_CASE("cublasLt rules: epilogues", "[lt]") {
  breaks("there is no epilogue 9999", [](Call &c) { c.epilogue = 9999; });
  breaks("needs a bias pointer",
         [](Call &c) { c.epilogue = lt::epilogueBias; });
  breaks("the bias has type 14", [](Call &c) {
    c.epilogue = lt::epilogueBias;
    c.bias = at(5);
    c.biasType = lt::bf16;
  });
  breaks("the bias is not aligned", [](Call &c) {
    c.epilogue = lt::epilogueBias;
    c.bias = at(5, 2);
  });
  breaks("needs an auxiliary pointer",
         [](Call &c) { c.epilogue = lt::epilogueGeluAux; });
  auto gelu = [](Call &c) {
    c.epilogue = lt::epilogueGeluAux;
    c.aux = at(6);
    c.auxLd = 16;
  };
  Call valid;
  gelu(valid);
  REQUIRE(valid.run() == "");
  breaks("auxiliary leading dimension 20 is not a multiple of 8", [&](Call &c) {
    gelu(c);
    c.auxLd = 20;
  });
  breaks("auxiliary leading dimension 8", [&](Call &c) {
    gelu(c);
    c.auxLd = 8;
  });
  breaks("auxiliary leading dimension 16 is not a multiple of 128",
         [&](Call &c) {
           gelu(c);
           c.epilogue = lt::epilogueReluAux;
         });
  auto batched = [&](Call &c) {
    gelu(c);
    for (Call::Matrix *m : {&c.a, &c.b, &c.c, &c.d})
      m->batch = 2;
    c.c.stride = c.d.stride = 128;
    c.auxStride = 128;
  };
  Call two;
  batched(two);
  REQUIRE(two.run() == "");
  breaks("auxiliary batch stride 130", [&](Call &c) {
    batched(c);
    c.auxStride = 130;
  });
  breaks("share one auxiliary matrix", [&](Call &c) {
    batched(c);
    c.auxStride = 0;
  });
  breaks("share one bias gradient", [&](Call &c) {
    batched(c);
    c.epilogue = lt::epilogueDGeluBGrad;
    c.bias = at(5);
  });
  breaks("the auxiliary matrix is not aligned to 16", [&](Call &c) {
    gelu(c);
    c.aux = at(6, 8);
  });
}

TEST_CASE("cublasLt rules: addresses", "[lt]") {
  breaks("A is null", [](Call &c) { c.aAt = nullptr; });
  breaks("matrix B is less aligned than the 64 bytes",
         [](Call &c) { c.bAt = at(1, 32); });
  breaks("B is not aligned to 4 bytes", [](Call &c) {
    c.alignment = 1;
    c.bAt = at(1, 2);
  });
  breaks("A and D overlap", [](Call &c) { c.aAt = c.dAt; });
  breaks("D and C overlap", [](Call &c) {
    c.beta = 1;
    c.cAt = at(3, 64);
  });
  breaks("one matrix with two layouts", [](Call &c) {
    c.beta = 1;
    c.c.ld = 32;
  });
  breaks("D and the bias overlap", [](Call &c) {
    c.epilogue = lt::epilogueBias;
    c.bias = c.dAt;
  });
  // C is not read when beta is 0, and columns may lie between columns.
  Call unread;
  unread.cAt = at(3, 64);
  REQUIRE(unread.run() == "");
  Call between;
  between.a.ld = between.d.ld = between.c.ld = 48;
  between.aAt = at(3, 64);
  REQUIRE(between.run() == "");
  between.a.ld = 40;
  REQUIRE(between.run() == "A and D overlap");
}

TEST_CASE("cublasLt rules: memory of the device", "[lt]") {
  sim::setLibraryMemoryCheck([](const void *address, uint64_t sizeBytes) {
    auto *begin = static_cast<const uint8_t *>(address);
    return begin >= at(0) && begin + sizeBytes <= at(4, 4096);
  });
  REQUIRE(Call().run() == "");
  breaks("the bias of 64 bytes does not lie in memory", [](Call &c) {
    c.epilogue = lt::epilogueBias;
    c.bias = at(5);
  });
  breaks("the workspace does not lie",
         [](Call &c) { c.workspace = at(4, 256); });
  sim::setLibraryMemoryCheck(nullptr);
}

TEST_CASE("cublasLt rules: algorithm and workspace", "[lt]") {
  breaks("not an algorithm from a heuristic",
         [](Call &c) { c.forgetAlgorithm = true; });
  breaks("chosen for another problem",
         [](Call &c) { c.otherAlgorithm = true; });
  breaks("needs a workspace of 4096 bytes but is given 4095",
         [](Call &c) { c.workspaceBytes = 4095; });
  breaks("given 0", [](Call &c) { c.workspace = nullptr; });
  breaks("not aligned to 16", [](Call &c) { c.workspace = at(4, 8); });
}

TEST_CASE("cublasLt rules: attributes and lifetimes", "[lt]") {
  const lt::Api &api = sim::ltApi();
  lt::Desc desc;
  REQUIRE(api.matmulDescCreate(&desc, lt::compute32F, lt::f32) == 0);
  int64_t value = 0;
  REQUIRE(api.matmulDescSetAttribute(desc, 99, &value, 8) ==
          lt::statusInvalidValue);
  REQUIRE(std::string(api.lastError()) == "there is no attribute 99");
  REQUIRE(api.matmulDescSetAttribute(desc, lt::descTransA, &value, 8) ==
          lt::statusInvalidValue);
  REQUIRE(std::string(api.lastError()) == "attribute 3 has 4 bytes, not 8");
  REQUIRE(api.matmulDescDestroy(desc) == 0);
  REQUIRE(api.matmulDescDestroy(desc) == lt::statusInvalidValue);
  REQUIRE(std::string(api.lastError()) ==
          "this is not a live matmul descriptor");
  REQUIRE(api.matmulDescSetAttribute(desc, lt::descTransA, &value, 4) ==
          lt::statusInvalidValue);
}
