//===- SdpaTest.cpp - attention as operation graphs of cuDNN --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/DnnPlan.h"
#include "backends/cuda/library/SdpaPlan.h"
#include "backends/sim/library/SimCudnn.h"
#include "backends/sim/library/SimLibrary.h"
#include "runtime/base/AlignedBlock.h"
#include "test/backends/cuda/OneAttention.h"
#include "test/runtime/Calls.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::test;

namespace {

SdpaShape shapeOf(int64_t batch, int64_t heads, int64_t queries, int64_t keys,
                  int64_t depth, bool causal) {
  SdpaShape shape;
  shape.batch = batch;
  shape.heads = heads;
  shape.queries = queries;
  shape.keys = keys;
  shape.depth = depth;
  shape.causal = causal;
  shape.scale = 1 / std::sqrt(static_cast<float>(depth));
  shape.setDense();
  return shape;
}

/// Runs `graph` on the stand-in; operand i is slice i.
void runOnStandIn(DnnGraph graph, std::vector<Operand> &operands) {
  REQUIRE(graph.refusal == "");
  {
    auto context = DnnContext::create(sim::dnnApi());
    REQUIRE(context.ok());
    auto plan = DnnPlan::build(**context, graph, {});
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    std::vector<rt::AlignedBlock> blocks;
    for (const Operand &operand : operands) {
      auto block = rt::AlignedBlock::allocate(operand.bytes.size(), "t");
      REQUIRE(block.ok());
      std::memcpy(block->data(), operand.bytes.data(), operand.bytes.size());
      blocks.push_back(std::move(*block));
    }
    std::vector<int64_t> ids;
    std::vector<void *> addresses;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      DnnTensor &tensor = graph.tensors[i];
      if (tensor.isVirtual)
        continue;
      ids.push_back(static_cast<int64_t>(i) + 1);
      addresses.push_back(tensor.isByValue ? static_cast<void *>(&tensor.value)
                                           : blocks[tensor.slice].data());
    }
    auto workspace = rt::AlignedBlock::allocate(plan->workspaceBytes(), "t");
    rt::Status ran = plan->execute(ids, addresses, workspace->data(), nullptr);
    INFO(ran.message());
    REQUIRE(ran.ok());
    for (size_t i = 0; i < operands.size(); ++i)
      std::memcpy(operands[i].bytes.data(), blocks[i].data(),
                  operands[i].bytes.size());
  }
  REQUIRE(sim::dnnLiveObjects() == 0);
}

void requireClose(const Operand &found, const std::vector<double> &expected,
                  const char *what) {
  Comparison comparison;
  compareAttention(found, expected, what, comparison);
  REQUIRE(comparison.failure() == "");
}

} // namespace

TEST_CASE("attention: the graphs compute it and its gradients", "[dnn][sdpa]") {
  for (uint32_t dtype : {SINTER_BF16, SINTER_F16})
    for (auto [queries, keys, causal] :
         {std::tuple{5, 5, true}, {6, 9, false}, {7, 7, false}, {4, 4, true}}) {
      SdpaShape shape = shapeOf(2, 3, queries, keys, 8, causal);
      shape.dtype = dtype;
      int64_t q = 2 * 3 * queries * 8, k = 2 * 3 * keys * 8,
              lines = 2 * 3 * queries;
      auto random = [&](int64_t elements, uint32_t seed) {
        return Operand::random(dtype, elements, seed);
      };
      auto statistics = [&] { return Operand::random(SINTER_F32, lines, 9); };
      std::vector<Operand> forward = {random(q, 1), random(k, 2), random(k, 3),
                                      statistics(), random(q, 4)};
      Operand dO = random(q, 5);
      AttentionReference expected(shape, forward[0].values, forward[1].values,
                                  forward[2].values, dO.values, {});
      runOnStandIn(sdpaForward(shape, true), forward);
      requireClose(forward[4], expected.o, "O");
      requireClose(forward[3], expected.stats, "Stats");
      std::vector<Operand> inference = {forward[0], forward[1], forward[2],
                                        random(q, 6)};
      runOnStandIn(sdpaForward(shape, false), inference);
      REQUIRE(inference[3].bytes == forward[4].bytes);

      for (bool deterministic : {false, true}) {
        std::vector<Operand> backward = {
            forward[0],   forward[1],
            forward[2],   forward[4],
            dO,           forward[3],
            statistics(), Operand::random(SINTER_F32, q, 7),
            random(q, 8), random(k, 9),
            random(k, 10)};
        runOnStandIn(sdpaBackward(shape, deterministic), backward);
        requireClose(backward[8], expected.dq, "dQ");
        requireClose(backward[9], expected.dk, "dK");
        requireClose(backward[10], expected.dv, "dV");
      }
    }
}

TEST_CASE("attention: masks are added to the scores", "[dnn][sdpa]") {
  constexpr int64_t batch = 2, heads = 3, queries = 5, keys = 7, depth = 8;
  constexpr int64_t square = queries * keys;
  // A mask for each key of a sequence, for each pair, for each of all, and
  // none.
  for (SdpaStrides strides : {SdpaStrides{keys, 0, 0},
                              {square, 0, keys},
                              {0, 0, keys},
                              {0, 0, 0},
                              {heads * square, square, keys}})
    for (bool causal : {false, true}) {
      CAPTURE(strides[0], strides[1], strides[2], causal);
      SdpaShape shape = shapeOf(batch, heads, queries, keys, depth, causal);
      shape.masked = true;
      shape.mask = strides;
      const int64_t q = batch * heads * queries * depth,
                    k = batch * heads * keys * depth,
                    lines = batch * heads * queries;
      auto random = [&](int64_t elements, uint32_t seed) {
        return Operand::random(SINTER_BF16, elements, seed);
      };
      Operand mask =
          Operand::random(SINTER_F32,
                          (batch - 1) * strides[0] + (heads - 1) * strides[1] +
                              (queries - 1) * strides[2] + keys,
                          11);
      // A number in place of -inf; the first key is never masked.
      for (size_t i = 0; i < mask.values.size(); ++i)
        if (i % keys % 3 == 2) {
          float low = std::numeric_limits<float>::lowest();
          mask.values[i] = static_cast<double>(low);
          std::memcpy(&mask.bytes[4 * i], &low, 4);
        }
      std::vector<Operand> forward = {random(q, 1),
                                      random(k, 2),
                                      random(k, 3),
                                      mask,
                                      Operand::random(SINTER_F32, lines, 9),
                                      random(q, 4)};
      Operand dO = random(q, 5);
      AttentionReference expected(shape, forward[0].values, forward[1].values,
                                  forward[2].values, dO.values, mask.values);
      runOnStandIn(sdpaForward(shape, true), forward);
      requireClose(forward[5], expected.o, "O");
      requireClose(forward[4], expected.stats, "Stats");
      std::vector<Operand> backward = {forward[0],
                                       forward[1],
                                       forward[2],
                                       forward[5],
                                       dO,
                                       forward[4],
                                       mask,
                                       Operand::random(SINTER_F32, lines, 6),
                                       Operand::random(SINTER_F32, q, 7),
                                       random(q, 8),
                                       random(k, 9),
                                       random(k, 10)};
      runOnStandIn(sdpaBackward(shape, true), backward);
      requireClose(backward[9], expected.dq, "dQ");
      requireClose(backward[10], expected.dk, "dK");
      requireClose(backward[11], expected.dv, "dV");
    }
}

TEST_CASE("attention: the gradient keeps to the scratch that was promised",
          "[dnn][sdpa]") {
  sinter_attention p{};
  p.direction = SINTER_ATTENTION_BACKWARD;
  p.dtype = SINTER_BF16;
  p.batch = 2;
  p.heads = 3;
  p.queries = p.keys = 40;
  p.depth = 8;
  p.scale = 0.5f;
  const sinter_heads dense{3 * 40 * 8, 40 * 8, 8};
  p.query = p.key = p.value = p.output = dense;
  p.outputGrad = p.queryGrad = p.keyGrad = p.valueGrad = dense;
  const uint64_t bytes = 2 * 3 * 40 * 8 * 2, lineBytes = 2 * 3 * 40 * 4;
  std::vector<sinter_slice> slices;
  for (uint32_t i = 0; i < 9; ++i)
    slices.push_back({SINTER_SPACE_INPUT, i, 0, i == 5 ? lineBytes : bytes});
  sinter_command command = callOf(&p);
  command.slices = slices.data();
  command.numSlices = 9;
  command.numReads = 6;
  {
    auto library = sim::createSimLibrary();
    auto prepare = [&](uint64_t workspaceBytes) {
      return library->prepare(command, {nullptr, 1, workspaceBytes});
    };
    // The stand-in's own, and a number for each query in lines of 64.
    const uint64_t needed = 4096 + 256 * 4;
    auto call = prepare(needed);
    INFO(call.status().message());
    REQUIRE(call.ok());
    CHECK((*call)->sharedBytes() == needed);
    for (uint64_t promised : {needed - 1, uint64_t(0)}) {
      auto refused = prepare(promised);
      CHECK(refused.status().code() == SINTER_OUT_OF_MEMORY);
      CHECK(refused.status().message().find(
                " takes at least 5120 bytes of scratch for this graph of ") !=
            std::string::npos);
      CHECK(refused.status().message().find(
                "more than the " + std::to_string(promised) +
                " that it was promised; compile the program with "
                "--workspace=5120") != std::string::npos);
    }
  }
  REQUIRE(sim::dnnLiveObjects() == 0);
}

TEST_CASE("attention: what cuDNN does not take is refused", "[dnn][sdpa]") {
  SdpaShape shape = shapeOf(1, 1, 4, 4, 8, false);
  shape.dtype = SINTER_F32;
  REQUIRE(sdpaForward(shape, false).refusal ==
          "cuDNN's attention takes only 16-bit floats");
  REQUIRE(sdpaForward(shapeOf(1, 1, 4, 4, 12, false), false)
              .refusal.find("a depth of") != std::string::npos);
  REQUIRE(sdpaBackward(shapeOf(1, 1, 4, 4, 264, false), false).refusal != "");
  shape = shapeOf(1, 1, 4, 4, 8, false);
  shape.key[2] = 12;
  REQUIRE(sdpaForward(shape, false).refusal.find("16 bytes") !=
          std::string::npos);
}
