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
