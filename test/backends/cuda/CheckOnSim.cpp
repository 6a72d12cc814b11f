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

/// A CommandRunner; nothing of the library may stay alive.
Ran runOnSim(sinter_command command, std::vector<Operand> &operands,
             uint32_t numReads, bool onlyPrepare) {
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
    auto call = library->prepare(command, {nullptr, 1, 32u << 20});
    ran.prepared = call.status();
    if (!call.ok()) {
      INFO(call.status().message());
      REQUIRE(call.status().code() == SINTER_UNSUPPORTED);
    } else if (!onlyPrepare) {
      std::vector<rt::AlignedBlock> blocks;
      std::vector<void *> buffers;
      for (const Operand &operand : operands) {
        auto block =
            rt::AlignedBlock::allocate(operand.bytes.size() + 256, "t");
        REQUIRE(block.ok());
        auto begin = reinterpret_cast<uintptr_t>(block->data());
        auto *aligned = reinterpret_cast<uint8_t *>((begin + 255) / 256 * 256);
        if (!operand.bytes.empty())
          std::memcpy(aligned, operand.bytes.data(), operand.bytes.size());
        buffers.push_back(aligned);
        blocks.push_back(std::move(*block));
      }
      auto scratch = rt::AlignedBlock::allocate((*call)->sharedBytes(), "t");
      rt::Scratch bound;
      bound.shared = scratch->data();
      REQUIRE((*call)->bind(bound, 1).ok());
      rt::Status status = (*call)->run(buffers.data(), rt::CallContext());
      INFO(status.message());
      REQUIRE(status.ok());
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

/// What was chosen, if every result is right.
template <typename Command> std::string checked(Command &command) {
  Ran ran = command.run(runOnSim);
  REQUIRE(ran.prepared.message() == "");
  Comparison comparison;
  command.compare(comparison);
  REQUIRE(comparison.failure() == "");
  return ran.description;
}

} // namespace

std::string OneProduct::refusal() {
  return run(runOnSim, /*onlyPrepare=*/true).prepared.message();
}

std::string OneProduct::check() {
  CAPTURE(params.dtype, params.outDtype, params.m, params.n, params.k,
          params.batchRank, params.numPostOps);
  return checked(*this);
}

std::string OneConvolution::refusal() {
  return run(runOnSim, /*onlyPrepare=*/true).prepared.message();
}

std::string OneConvolution::check() {
  CAPTURE(params.dtype, params.direction, params.layout, params.filterLayout,
          params.batch, params.channels, params.filters, params.groups,
          params.numPostOps);
  return checked(*this);
}
