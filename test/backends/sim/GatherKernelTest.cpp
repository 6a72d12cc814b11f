//===- GatherKernelTest.cpp - the CUDA kernel that gathers rows -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The device code that becomes PTX runs on the simulated device, and is
// compared with the loops of that device.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/device/GatherKernel.h"
#include "backends/sim/device/SimDevice.h"
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

/// The kernel, whose structure is passed by its address.
std::unique_ptr<SimKernel> load() {
  std::ifstream file(SINTER_DEVICE_IR "/GatherKernel.ll");
  std::stringstream text;
  text << file.rdbuf();
  std::string byAddress = std::regex_replace(
      text.str(), std::regex("byval\\([^)]*\\) align 8"), "");
  auto kernel = SimKernel::fromText(byAddress, gatherKernelName, SimOptions());
  INFO(kernel->error());
  REQUIRE(kernel->code());
  return kernel;
}

constexpr int64_t numSourceRows = 9;

/// Columns of a gather, as offsets in one block of memory.
struct Case {
  struct Column {
    uint64_t from, to, rowBytes;
    int64_t paddingRow;
  };
  std::vector<Column> columns;
  std::vector<int64_t> rows;
};

rt::RowGather gatherOf(const Case &what, uint8_t *bytes) {
  rt::RowGather gather{reinterpret_cast<const int64_t *>(bytes),
                       static_cast<int64_t>(what.rows.size()),
                       {},
                       static_cast<uint32_t>(what.columns.size())};
  for (size_t i = 0; i < what.columns.size(); ++i)
    gather.columns[i] = {bytes + what.columns[i].from,
                         bytes + what.columns[i].to, what.columns[i].rowBytes,
                         what.columns[i].paddingRow};
  return gather;
}

} // namespace

TEST_CASE("the kernel that gathers rows does what the loops do") {
  auto kernel = load();
  auto made = createSimDevice(0, {});
  REQUIRE(made.ok());
  rt::Device &device = **made;
  auto stream = device.createStream();
  REQUIRE(stream.ok());
  constexpr uint64_t numBytes = 64 << 10;
  auto block = device.allocate(numBytes, "a test");
  REQUIRE(block.ok());
  auto *onDevice = static_cast<uint8_t *>(*block);

  const std::vector<int64_t> chosen = {3, 0, 8, 8, ~int64_t(2), 5};
  std::vector<Case> cases;
  // Units of 16, 8, 4, 2 and 1 bytes; the alignment of each address counts.
  for (auto [rowBytes, from, to] : {std::array<uint64_t, 3>{1024, 4096, 32768},
                                    {1032, 4096, 32768},
                                    {1024, 4096, 32776},
                                    {1024, 4100, 32768},
                                    {36, 4096, 32768},
                                    {6, 4096, 32768},
                                    {7, 4096, 32768},
                                    {1, 4097, 32771},
                                    {2000, 4096, 32768}})
    cases.push_back({{{from, to, rowBytes, -1}}, chosen});
  // Several columns, one of which has a row for padding.
  cases.push_back({{{4096, 32768, 784, -1}, {16384, 40960, 8, 8}}, chosen});
  Case full{{}, chosen};
  for (uint64_t i = 0; i < rt::RowGather::mostColumns; ++i)
    full.columns.push_back(
        {4096 + i * 2048, 32768 + i * 1024, 4 * (i + 1), int64_t(i) - 1});
  cases.push_back(full);

  uint32_t seed = 0;
  for (const Case &what : cases) {
    CAPTURE(++seed);
    alignas(16) static uint8_t initial[numBytes];
    alignas(16) static uint8_t host[numBytes];
    uint32_t state = seed;
    for (uint8_t &byte : initial)
      byte =
          static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
    std::memcpy(initial, what.rows.data(), what.rows.size() * 8);
    std::memcpy(host, initial, numBytes);
    std::memcpy(onDevice, initial, numBytes);
    REQUIRE(device.gatherRows(**stream, gatherOf(what, onDevice)).ok());
    REQUIRE(device.synchronize(**stream).ok());
    REQUIRE(std::memcmp(onDevice, initial, numBytes) != 0);

    const rt::RowGather gather = gatherOf(what, host);
    std::vector<uint8_t> bytes(sizeof(gather));
    std::memcpy(bytes.data(), &gather, sizeof(gather));
    // Fewer blocks than units: a block loops.
    Launch launch = kernel->launch({rangeOf(bytes)}, 1, gatherBlock);
    launch.ranges.push_back({host, numBytes, true});
    launch.grid[1] = gather.numColumns;
    EngineOptions options;
    options.seed = seed;
    Engine engine(options);
    CHECK(engine.launch(launch, nullptr).message() == "");
    REQUIRE(std::memcmp(onDevice, host, numBytes) == 0);
  }
  // A row outside the data is found.
  Case outside = cases[0];
  outside.rows[1] = 1 << 20;
  std::memcpy(onDevice, outside.rows.data(), outside.rows.size() * 8);
  (void)device.gatherRows(**stream, gatherOf(outside, onDevice));
  CHECK(device.synchronize(**stream).message().find("a row that is gathered") !=
        std::string::npos);
}
