//===- FilePagesTest.cpp - pages of the files of a process ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/FilePages.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <sys/resource.h>
#include <vector>

using namespace sinter::rt;

namespace {

constexpr size_t sizeBytes = 1 << 20;

constexpr std::array<uint8_t, sizeBytes> pattern() {
  std::array<uint8_t, sizeBytes> bytes{};
  for (size_t i = 0; i < sizeBytes; i += 512)
    bytes[i] = static_cast<uint8_t>(i / 512 + 1);
  return bytes;
}

// In the file of this program.
constinit const std::array<uint8_t, sizeBytes> inFile = pattern();

uint64_t sumOf(std::span<const uint8_t> bytes) {
  const volatile uint8_t *data = bytes.data();
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 512)
    sum += data[i];
  return sum;
}

long faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

} // namespace

TEST_CASE("released pages of a file are read again from it") {
  const uint64_t sum = sumOf(inFile);
  long before = faults();
  CHECK(sumOf(inFile) == sum);
  CHECK(faults() - before < 4); // they were in memory
  releaseFilePages(inFile);
  before = faults();
  CHECK(sumOf(inFile) == sum);
  CHECK(faults() - before >= 4);
}

TEST_CASE("memory that is not of a file keeps its bytes") {
  std::vector<uint8_t> bytes(sizeBytes, 7);
  releaseFilePages(bytes);
  CHECK(std::ranges::count(bytes, 7) == static_cast<long>(sizeBytes));
  static std::array<uint8_t, sizeBytes> writable = pattern();
  writable[0] = 99;
  releaseFilePages(writable);
  CHECK(writable[0] == 99);
  releaseFilePages({});
  releaseFilePages(std::span(inFile).subspan(100, 10));
}
