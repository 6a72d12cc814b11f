//===- ByteProductTest.cpp - products of 8-bit integers -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteCorrections.h"
#include "backends/cpu/device/BytePanels.h"
#include "runtime/base/AlignedBlock.h"
#include "test/runtime/Calls.h"
#include "test/runtime/RunCall.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <span>
#include <tuple>
#include <vector>

using namespace sinter;
using namespace sinter::rt;

namespace {

using Bytes = std::vector<uint8_t>;

Bytes randomBytes(int64_t count, uint64_t seed) {
  Bytes bytes(static_cast<size_t>(count));
  for (uint8_t &byte : bytes) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<uint8_t>(seed >> 40);
  }
  return bytes;
}

/// Small signed numbers, and one of `distance` of the largest magnitude: -128,
/// -127, 127.
Bytes weightsWithExtremes(int64_t count, uint64_t seed, size_t distance) {
  Bytes bytes = randomBytes(count, seed);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(static_cast<int8_t>(byte) / 8);
  constexpr std::array<uint8_t, 3> extremes = {0x80, 0x81, 0x7f};
  for (size_t i = seed % distance, turn = 0; i < bytes.size(); i += distance)
    bytes[i] = extremes[turn++ * 7 / 2 % extremes.size()];
  return bytes;
}

uint32_t widen(uint8_t byte, bool isSigned) {
  return isSigned ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
}

uint32_t sumOf(const uint8_t *a, int64_t strideA, bool signA, const uint8_t *b,
               int64_t strideB, bool signB, int64_t k) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum += widen(a[i * strideA], signA) * widen(b[i * strideB], signB);
  return sum;
}

/// Compares a block of m rows and n columns with plain sums.
void checkUnit(cpu::ByteUnit unit, cpu::ByteSigns signs, int64_t m, int64_t n,
               int64_t k, const Bytes &a, const Bytes &b) {
  CAPTURE(cpu::nameOf(unit), signs.a, signs.b, m, n, k);
  const int64_t depth = cpu::paddedBytes(k), panelDepth = 2 * depth;
  auto rows = AlignedBlock::allocate(static_cast<uint64_t>(2 * m * depth),
                                     "a test"),
       panel = AlignedBlock::allocate(
           static_cast<uint64_t>(cpu::bytePanelBytes(panelDepth)), "a test");
  // The product twice, as two parts of a row.
  for (int64_t part = 0; part < 2; ++part) {
    cpu::packByteRows({a.data(), k, 1}, m, k, rows->data() + part * m * depth);
    cpu::packBytePanel({b.data(), n, 1}, signs.b, k, n, part * depth,
                       panelDepth, panel->data());
  }
  const std::array<cpu::PanelPart, 2> parts = {
      {{0, 0}, {m * depth, cpu::panelColumns * depth}}};
  cpu::ByteCorrections corrections(parts, k);
  if (unit == cpu::ByteUnit::Sums16)
    corrections.cut(panel->data());
  const cpu::PanelCorrections ofPanel = corrections.ofPanel(0);
  alignas(64) std::array<uint32_t, cpu::blockRows * cpu::panelColumns> sums;
  cpu::TileRegisters tiles;
  auto check = [&](std::span<const cpu::PanelPart> own, bool isReversed) {
    cpu::ByteBlock block{depth, k, own, isReversed, rows->data(), depth, m, {}};
    for (int64_t i = 0; i < m; ++i)
      block.offsets[static_cast<size_t>(i)] = (m - 1 - i) * depth;
    cpu::PanelFetch fetch(
        {panel->data(), cpu::bytePanelBytes(panelDepth), 1, 0},
        panelDepth / cpu::byteStep);
    sums.fill(0xdeadbeef);
    cpu::multiplyBytes(unit, tiles, signs, block, panel->data(), sums.data(),
                       fetch, &ofPanel);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < cpu::panelColumns; ++j) {
        const int64_t row = isReversed ? m - 1 - i : i;
        const auto count = static_cast<uint32_t>(own.size());
        REQUIRE(
            sums[static_cast<size_t>(i * cpu::panelColumns + j)] ==
            (j < n ? count * sumOf(&a[static_cast<size_t>(row * k)], 1, signs.a,
                                   &b[static_cast<size_t>(j)], n, signs.b, k)
                   : 0));
      }
  };
  // The rows in order, then the other way around.
  for (bool isReversed : {false, true}) {
    if (isReversed && unit == cpu::ByteUnit::Tiles)
      continue;
    check(parts, isReversed);
    if (signs.a == signs.b)
      continue;
    check(std::span(parts).first(1), isReversed);
    check(std::span(parts).last(1), isReversed);
  }
}

/// A product by the CPU's library.
struct Product {
  uint32_t dtypeA, dtypeB;
  int64_t m, n, k, batch = 1;
  bool transposesA = false, transposesB = false, transposesC = false;
  size_t extremes = 0; // one of so many weights; 0: random ones

  void check() const;
};

void Product::check() const {
  CAPTURE(dtypeA, dtypeB, m, n, k, batch, transposesA, transposesB, transposesC,
          extremes);
  sinter_matmul p{};
  p.dtype = dtypeA;
  p.outDtype = SINTER_I32;
  p.batchRank = 1;
  p.batch[0] = batch;
  p.m = m;
  p.n = n;
  p.k = k;
  p.aStrideM = transposesA ? 1 : k;
  p.aStrideK = transposesA ? m : 1;
  p.bStrideK = transposesB ? 1 : n;
  p.bStrideN = transposesB ? k : 1;
  p.cStrideM = transposesC ? 1 : n;
  p.cStrideN = transposesC ? m : 1;
  p.aBatchStrides[0] = m * k;
  p.bBatchStrides[0] = k * n;
  p.cBatchStrides[0] = m * n;
  p.numPostOps = 2;
  p.postOps[0] = {SINTER_POST_BIAS, 2, 0, 0};
  p.postOps[1] = {SINTER_POST_ADD, 3, 0, 0};
  const Bytes a = randomBytes(batch * m * k, 1),
              b = extremes ? weightsWithExtremes(batch * k * n, 2, extremes)
                           : randomBytes(batch * k * n, 2);
  std::vector<uint32_t> bias(static_cast<size_t>(n)),
      add(static_cast<size_t>(batch * m * n)), c(add.size());
  for (size_t i = 0; i < bias.size(); ++i)
    bias[i] = static_cast<uint32_t>(i) * 1000003u;
  for (size_t i = 0; i < add.size(); ++i)
    add[i] = static_cast<uint32_t>(i) * 77777u;
  sinter_slice slices[] = {{SINTER_SPACE_INPUT, 0, 0, a.size()},
                           {SINTER_SPACE_INPUT, 1, 0, b.size()},
                           {SINTER_SPACE_INPUT, 2, 0, 4 * bias.size()},
                           {SINTER_SPACE_INPUT, 3, 0, 4 * add.size()},
                           {SINTER_SPACE_OUTPUT, 0, 0, 4 * c.size()}};
  sinter_command command = test::callOf(&p);
  command.matmul.dtypeOfB = dtypeB == dtypeA ? 0 : dtypeB;
  command.slices = slices;
  command.numSlices = 5;
  command.numReads = 4;
  for (int threads : {1, 3})
    for (bool isConstant : {false, true}) {
      slices[1].space = isConstant ? SINTER_SPACE_CONSTANT : SINTER_SPACE_INPUT;
      std::fill(c.begin(), c.end(), 0xdeadbeef);
      void *buffers[] = {const_cast<uint8_t *>(a.data()),
                         const_cast<uint8_t *>(b.data()), bias.data(),
                         add.data(), c.data()};
      std::string description;
      REQUIRE(
          test::runCall(command, buffers, threads, b.data(), description).ok());
      if (cpu::byteUnit() != cpu::ByteUnit::Loops)
        REQUIRE(description.find("of 8 bits") != std::string::npos);
      // Too many corrections would take longer than wider products.
      if (cpu::byteUnit() == cpu::ByteUnit::Pairs && isConstant && extremes)
        REQUIRE((description.find(cpu::nameOf(cpu::ByteUnit::Sums16)) !=
                 std::string::npos) == (extremes > 1));
      for (int64_t matrix = 0; matrix < batch; ++matrix)
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            const auto at = static_cast<size_t>(
                matrix * m * n + i * p.cStrideM + j * p.cStrideN);
            REQUIRE(
                c[at] ==
                sumOf(&a[static_cast<size_t>(matrix * m * k + i * p.aStrideM)],
                      p.aStrideK, dtypeA == SINTER_I8,
                      &b[static_cast<size_t>(matrix * k * n + j * p.bStrideN)],
                      p.bStrideK, dtypeB == SINTER_I8, k) +
                    bias[static_cast<size_t>(j)] + add[at]);
          }
    }
}

} // namespace

TEST_CASE("8-bit products: each unit of this CPU, all signs", "[bytes]") {
  using cpu::ByteUnit;
  for (ByteUnit unit : {ByteUnit::Loops, ByteUnit::Pairs, ByteUnit::Sums16,
                        ByteUnit::Dot256, ByteUnit::Dot512, ByteUnit::Tiles}) {
    if (!cpu::hasByteUnit(unit)) {
      WARN("this CPU has no " << cpu::nameOf(unit));
      continue;
    }
    for (bool signA : {false, true})
      for (bool signB : {false, true}) {
        if (unit == ByteUnit::Sums16 && !signB)
          continue;
        for (auto [m, n, k] : {std::tuple{1, 1, 1},
                               {32, 32, 64},
                               {31, 17, 65},
                               {16, 32, 3},
                               {17, 5, 200},
                               {9, 31, 127},
                               {5, 16, 128}})
          checkUnit(unit, {signA, signB}, m, n, k, randomBytes(m * k, 3),
                    randomBytes(k * n, 4));
        // The extreme products, and a sum that exceeds 31 bits.
        for (uint8_t left : {uint8_t(0x80), uint8_t(0xff), uint8_t(0x7f)})
          for (uint8_t right : {uint8_t(0x80), uint8_t(0xff), uint8_t(0x7f)}) {
            const int64_t m = 2, n = 3, k = 70000;
            checkUnit(unit, {signA, signB}, m, n, k,
                      Bytes(static_cast<size_t>(m * k), left),
                      Bytes(static_cast<size_t>(k * n), right));
          }
      }
  }
}

TEST_CASE("8-bit products: weights that exceed sums of 16 bits", "[bytes]") {
  using cpu::ByteUnit;
  if (!cpu::hasByteUnit(ByteUnit::Sums16)) {
    WARN("this CPU has no AVX2");
    return;
  }
  for (auto [m, n, k] : {std::tuple{32, 32, 64},
                         {1, 1, 4},
                         {5, 9, 15},
                         {7, 24, 17},
                         {3, 31, 333},
                         {30, 32, 1000}})
    for (bool signA : {false, true})
      for (uint8_t left : {0xff, 0x80, 0x7f, 0x01, 0x00}) {
        const Bytes a = left ? Bytes(static_cast<size_t>(m * k), left)
                             : randomBytes(m * k, 5);
        for (size_t distance : {1, 2, 3, 5, 17, 64})
          checkUnit(ByteUnit::Sums16, {signA, true}, m, n, k, a,
                    weightsWithExtremes(n * k, distance + 11, distance));
      }
}

TEST_CASE("8-bit products: corrections of sums of 16 bits", "[bytes]") {
  for (auto [m, n, k] :
       {std::tuple{1, 7, 9}, {33, 65, 129}, {70, 40, 128}, {40, 200, 300}})
    for (uint32_t a : {SINTER_U8, SINTER_I8})
      for (bool transposesB : {false, true})
        for (size_t extremes : {11, 30, 101})
          Product{a, SINTER_I8, m, n, k, 1, false, transposesB, false, extremes}
              .check();
  for (uint32_t a : {SINTER_U8, SINTER_I8})
    Product{a, SINTER_I8, 40, 64, 128, 1, false, false, false, /*extremes=*/1}
        .check();
}

// For byte-units.test.
TEST_CASE("8-bit products: the unit in use", "[.][byte-unit]") {
  std::printf("unit: %s\n", cpu::nameOf(cpu::byteUnit()));
}

TEST_CASE("8-bit products: shapes, layouts, threads", "[bytes]") {
  for (auto [m, n, k] : {std::tuple{1, 1, 1},
                         {1, 70, 64},
                         {33, 65, 129},
                         {70, 40, 128},
                         {128, 96, 64}})
    for (uint32_t a : {SINTER_U8, SINTER_I8})
      for (uint32_t b : {SINTER_U8, SINTER_I8})
        for (int layout = 0; layout < 8; ++layout)
          Product{a,
                  b,
                  m,
                  n,
                  k,
                  1,
                  (layout & 1) != 0,
                  (layout & 2) != 0,
                  (layout & 4) != 0}
              .check();
  for (int64_t batch : {2, 5})
    for (bool transposed : {false, true})
      Product{SINTER_U8, SINTER_I8, 40, 37, 64, batch, transposed, !transposed}
          .check();
}
