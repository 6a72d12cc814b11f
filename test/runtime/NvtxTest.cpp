//===- NvtxTest.cpp - names for a profiler, without a profiler ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/Nvtx.h"

#include <catch2/catch.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace sinter::cuda;

namespace {

std::vector<std::string> ranges;

/// Does what a profiler's library does: finds the table of core functions,
/// checks its size, and writes its own functions.
int initialize(nvtx::GetExportTable getTable) {
  using Function = void (*)();
  struct Callbacks {
    size_t structBytes;
    int (*getFunctions)(uint32_t module, Function ***table, unsigned *count);
  };
  auto *callbacks = static_cast<const Callbacks *>(getTable(1));
  if (!callbacks || callbacks->structBytes < sizeof(Callbacks) || getTable(99))
    return 0;
  Function **table = nullptr;
  unsigned count = 0;
  if (callbacks->getFunctions(7, &table, &count) ||
      !callbacks->getFunctions(1, &table, &count) || count < 12)
    return 0;
  *table[9] = reinterpret_cast<Function>(+[](const char *name) {
    ranges.push_back(name);
    return 0;
  });
  *table[11] = reinterpret_cast<Function>(+[] {
    ranges.push_back("end");
    return 0;
  });
  return 1;
}

} // namespace

TEST_CASE("a profiler that attaches gets ranges", "[nvtx]") {
  nvtx::push("nobody listens");
  nvtx::pop();
  CHECK_FALSE(nvtx::attach(nullptr));
  CHECK_FALSE(nvtx::attach([](nvtx::GetExportTable) { return 0; }));
  REQUIRE(nvtx::attach(initialize));
  nvtx::push("step");
  nvtx::push("conv1");
  nvtx::pop();
  nvtx::pop();
  CHECK(ranges == std::vector<std::string>{"step", "conv1", "end", "end"});
}
