//===- CeilingsTest.cpp - measurement of ceilings -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/Ceilings.h"

#include "backends/cpu/device/CpuDevice.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace sinter;
using namespace sinter::rt;

namespace {

std::vector<float> filled(uint64_t sizeBytes, uint32_t dtype) {
  auto device = cpu::createCpuDevice(1);
  REQUIRE(device.ok());
  auto stream = (*device)->createStream();
  REQUIRE(stream.ok());
  std::vector<uint32_t> words(sizeBytes / 4, 0x7fc00000u);
  REQUIRE(fillRandom(**device, **stream, words.data(), sizeBytes, dtype).ok());
  std::vector<float> values;
  for (uint32_t word : words) {
    values.push_back(
        std::bit_cast<float>(dtype == SINTER_F32 ? word : word & 0xffff0000u));
    if (dtype != SINTER_F32)
      values.push_back(std::bit_cast<float>(word << 16));
  }
  return values;
}

} // namespace

// More than a block that is copied, and not a whole number of blocks.
TEST_CASE("random numbers fill all of a buffer", "[ceilings]") {
  for (uint32_t dtype : {SINTER_F32, SINTER_BF16}) {
    std::vector<float> values = filled((9u << 20) + 12, dtype);
    double sum = 0, squares = 0;
    size_t zeros = 0, outside = 0;
    for (float value : values) {
      sum += value;
      squares += double(value) * value;
      zeros += value == 0;
      outside += !(value >= -1 && value < 1);
    }
    const auto count = static_cast<double>(values.size());
    CHECK(outside == 0);
    CHECK(zeros < values.size() / 100);
    CHECK(std::abs(sum / count) < 0.01);
    CHECK(std::abs(squares / count - 1. / 3) < 0.01);
    CHECK(values.back() != 0);
  }
}

TEST_CASE("ceilings of a device are positive", "[ceilings]") {
  auto device = cpu::createCpuDevice(1);
  REQUIRE(device.ok());
  Result<Ceilings> ceilings = measureCeilings(**device);
  REQUIRE(ceilings.ok());
  CHECK(ceilings->copyGBps > 0);
  CHECK(ceilings->f32TFlops > 0);
}

namespace {

CpuId twoCaches() {
  CpuId cpu;
  cpu.l1Bytes = 32 << 10;
  cpu.l2Bytes = 1 << 20;
  return cpu;
}

CpuRates ratesOfCaches() {
  CpuRates rates;
  rates[CpuRate::Fp32] = 100e9;
  rates[CpuRate::Bf16Tiles] = 800e9;
  rates[CpuRate::L1] = 200e9;
  rates[CpuRate::L1Fill] = 100e9;
  rates[CpuRate::L2] = 50e9;
  rates[CpuRate::L2Fill] = 5e9; // less than memory's: a busy machine
  rates[CpuRate::Memory] = 10e9;
  rates[CpuRate::MemoryFill] = 8e9;
  rates[CpuRate::MemoryCopy] = 9e9;
  return rates;
}

} // namespace

TEST_CASE("the roof of a command is that of the caches that hold its bytes",
          "[ceilings]") {
  Ceilings ceilings;
  REQUIRE(ceilings.mostGBps(1024, 0) == 0);
  setLimits(ceilings, ratesOfCaches(), twoCaches(), 2);
  REQUIRE(ceilings.levels.size() == 3);
  // In both cores' L1: reads and writes at the same time.
  CHECK(ceilings.mostGBps(64 << 10, 0) == Approx(400));
  CHECK(ceilings.mostGBps(0, 64 << 10) == Approx(200));
  CHECK(ceilings.mostGBps(40000, 20000) == Approx(600));
  // In L2 and L1, and beyond both.
  const double inL1 = 64 << 10, inL2 = 2 << 20;
  CHECK(ceilings.mostGBps(inL1 + 65536, 0) ==
        Approx(2 * inL1 / (inL1 / 400 + inL1 / 100)));
  CHECK(
      ceilings.mostGBps(uint64_t(1) << 30, 0) ==
      Approx(0x1p30 / (inL1 / 400 + inL2 / 100 + (0x1p30 - inL1 - inL2) / 20)));
  // Reads and writes share the memory's bus, and no level is slower than it.
  CHECK(ceilings.mostGBps(uint64_t(1) << 40, uint64_t(1) << 40) ==
        Approx(20).epsilon(1e-4));
  CHECK(ceilings.levels[1].writeGBps == Approx(20));
  CHECK(ceilings.mostF32TFlops == Approx(0.2));
  CHECK(ceilings.mostBf16TFlops == Approx(1.6));
}

TEST_CASE("what was measured in a run is no more than the limit",
          "[ceilings]") {
  Ceilings ceilings;
  ceilings.copyGBps = 40;
  ceilings.f32TFlops = 0.3;
  setLimits(ceilings, ratesOfCaches(), twoCaches(), 2);
  CHECK(ceilings.mostGBps(uint64_t(1) << 40, 0) >= 40);
  CHECK(ceilings.mostF32TFlops == Approx(0.3));
  CHECK(ceilings.mostBf16TFlops == Approx(1.6));
}

TEST_CASE("a CPU without rates has no limits", "[ceilings]") {
  Ceilings ceilings;
  setLimits(ceilings, {}, twoCaches(), 2);
  CHECK(ceilings.levels.empty());
  CHECK(ceilings.mostGBps(1, 1) == 0);
}
