//===- CheckOnSim.cpp - one command on the simulated device's library -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimCublasLt.h"
#include "backends/sim/library/SimCudnn.h"
#include "backends/sim/library/SimLibrary.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/exec/ArtifactChecks.h"
#include "test/backends/cuda/OneConvolution.h"
#include "test/backends/cuda/OneProduct.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <utility>

using namespace sinter;
using namespace sinter::test;

namespace {

/// As a CommandRunner, with what the call may use; nothing of the library may
/// stay alive.
Ran runWith(const rt::CallMeans &means, sinter_command command,
            std::vector<Operand> &operands, uint32_t numReads,
            bool onlyPrepare) {
  std::vector<sinter_slice> slices = slicesOf(operands, numReads);
  command.slices = slices.data();
  command.numSlices = static_cast<uint32_t>(slices.size());
  command.numReads = numReads;
  rt::Status valid = command.kind == SINTER_CMD_MATMUL
                         ? rt::checkMatmul(command)
                         : rt::checkConv(command);
  INFO(valid.message());
  REQUIRE(valid.ok());
  Ran ran;
  {
    auto library = sim::createSimLibrary();
    auto call = library->prepare(command, means);
    ran.prepared = call.status();
    if (!call.ok()) {
      INFO(call.status().message());
      REQUIRE(call.status().code() == SINTER_UNSUPPORTED);
    } else if (!onlyPrepare) {
      std::vector<rt::AlignedBlock> blocks;
      std::vector<void *> buffers;
      auto allocate = [&](uint64_t bytes) {
        auto block = rt::AlignedBlock::allocate(bytes + 256, "t");
        REQUIRE(block.ok());
        auto begin = reinterpret_cast<uintptr_t>(block->data());
        blocks.push_back(std::move(*block));
        return reinterpret_cast<uint8_t *>((begin + 255) / 256 * 256);
      };
      for (const Operand &operand : operands) {
        uint8_t *aligned = allocate(operand.bytes.size());
        if (!operand.bytes.empty())
          std::memcpy(aligned, operand.bytes.data(), operand.bytes.size());
        buffers.push_back(aligned);
      }
      const uint64_t scratchBytes = (*call)->sharedBytes();
      REQUIRE(scratchBytes <= means.workspaceBytes);
      rt::Scratch bound;
      bound.shared = allocate(scratchBytes);
      std::memset(bound.shared + scratchBytes, 0x5a, 64);
      REQUIRE((*call)->bind(bound, 1).ok());
      rt::Status status = (*call)->run(buffers.data(), rt::CallContext());
      INFO(status.message());
      REQUIRE(status.ok());
      for (uint64_t i = 0; i < 64; ++i)
        REQUIRE(bound.shared[scratchBytes + i] == 0x5a);
      for (size_t i = 0; i < operands.size(); ++i) {
        std::vector<uint8_t> &bytes = operands[i].bytes;
        if (bytes.empty())
          continue;
        bool same = std::memcmp(bytes.data(), buffers[i], bytes.size()) == 0;
        if (i < numReads)
          REQUIRE(same);
        std::memcpy(bytes.data(), buffers[i], bytes.size());
      }
      ran.description = (*call)->description();
    }
  }
  REQUIRE(sim::ltLiveObjects() == 0);
  REQUIRE(sim::dnnLiveObjects() == 0);
  return ran;
}

CommandRunner runOnSim(uint64_t workspaceBytes = 32u << 20,
                       bool keepsNan = false) {
  rt::CallMeans means;
  means.workspaceBytes = workspaceBytes;
  means.keepsNan = keepsNan;
  return [=](sinter_command command, std::vector<Operand> &operands,
             uint32_t numReads, bool onlyPrepare) {
    return runWith(means, command, operands, numReads, onlyPrepare);
  };
}

template <typename Command> void requireRight(const Command &command) {
  Comparison comparison;
  command.compare(comparison);
  REQUIRE(comparison.failure() == "");
}

} // namespace

std::string OneProduct::refusal() {
  build();
  return run(runOnSim(workspaceBytes_, keepsNan_), /*onlyPrepare=*/true)
      .prepared.message();
}

std::string OneProduct::run() {
  CAPTURE(params.dtype, params.outDtype, params.m, params.n, params.k,
          params.batchRank, params.numPostOps);
  build();
  Ran ran = run(runOnSim(workspaceBytes_, keepsNan_));
  REQUIRE(ran.prepared.message() == "");
  return ran.description;
}

std::string OneProduct::check() {
  std::string description = run();
  CAPTURE(params.dtype, params.outDtype, params.m, params.n, params.k,
          params.batchRank, params.numPostOps);
  requireRight(*this);
  return description;
}

std::string OneConvolution::refusal() {
  return run(runOnSim(), /*onlyPrepare=*/true).prepared.message();
}

std::string OneConvolution::check() {
  CAPTURE(params.dtype, params.direction, params.layout, params.filterLayout,
          params.batch, params.channels, params.filters, params.groups,
          params.numPostOps);
  Ran ran = run(runOnSim());
  REQUIRE(ran.prepared.message() == "");
  requireRight(*this);
  return ran.description;
}
