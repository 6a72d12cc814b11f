//===- CodedProductTest.cpp - products with weights of 4 or 8 bits --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/RowPanels.h"
#include "runtime/base/AlignedBlock.h"
#include "test/runtime/Calls.h"
#include "test/runtime/RunCall.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// Numbers from -1 to 1.
class Draw {
public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  uint8_t byte() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint8_t>(state_ >> 40);
  }
  float number() { return static_cast<float>(byte()) / 128 - 1; }

private:
  uint64_t state_;
};

/// What blocks have of their own.
enum class Own { Nothing, Scales, ScalesAndZeros };

struct Weights {
  sinter_coded_weights params{};
  uint32_t dtype;
  int64_t k, n;
  std::vector<uint8_t> codes;
  std::vector<float> scales, zeros;

  Weights(int64_t k, int64_t n, uint32_t bits, uint32_t dtype, int64_t block,
          Own own)
      : dtype(dtype), k(k), n(n),
        codes(static_cast<size_t>(bits == 4 ? k / 2 * n : k * n)) {
    Draw draw(static_cast<uint64_t>(k * 31 + n));
    for (uint8_t &code : codes)
      code = draw.byte();
    params.bits = bits;
    params.block = block;
    params.scale = 0.125f;
    params.zero = bits == 4 ? 8.0f : dtype == SINTER_U8 ? 127.0f : 0.0f;
    const auto blocks = static_cast<size_t>(k / block * n);
    if (own == Own::Nothing)
      return;
    for (size_t i = 0; i < blocks; ++i)
      scales.push_back(draw.number() / 16);
    params.scales = 2;
    params.scale = 0;
    if (own == Own::Scales)
      return;
    for (size_t i = 0; i < blocks; ++i)
      zeros.push_back(
          static_cast<float>(bits == 4 ? draw.byte() & 15 : draw.byte()));
    params.zeros = 3;
    params.zero = 0;
  }

  cpu::coded_panels::Source source() const {
    return {params,
            dtype,
            codes.data(),
            scales.empty() ? nullptr : scales.data(),
            zeros.empty() ? nullptr : zeros.data(),
            k,
            n};
  }

  /// From the definition in abi.h.
  double at(int64_t row, int64_t column) const {
    const auto block = static_cast<size_t>(row / params.block * n + column);
    const double zero = zeros.empty() ? params.zero : zeros[block],
                 scale = scales.empty() ? params.scale : scales[block];
    double code;
    if (params.bits == 4) {
      const uint8_t byte = codes[static_cast<size_t>(row / 2 * n + column)];
      code = row % 2 ? byte >> 4 : byte & 15;
    } else {
      const uint8_t byte = codes[static_cast<size_t>(row * n + column)];
      code = dtype == SINTER_I8 ? static_cast<int8_t>(byte) : byte;
    }
    return (code - zero) * scale;
  }
};

/// Sum and sum of magnitudes of row `i` of `a` times column `j`.
std::pair<double, double> sumOf(const std::vector<float> &a, int64_t i,
                                const Weights &weights, int64_t j) {
  double sum = 0, magnitude = 0;
  for (int64_t k = 0; k < weights.k; ++k) {
    const double term =
        double{a[static_cast<size_t>(i * weights.k + k)]} * weights.at(k, j);
    sum += term;
    magnitude += std::fabs(term);
  }
  return {sum, magnitude};
}

bool isNear(double value, double expected, double magnitude) {
  return std::fabs(value - expected) <= 4e-6 * magnitude; // also refuses NaN
}

std::vector<float> randomRows(int64_t count) {
  std::vector<float> a(static_cast<size_t>(count));
  Draw draw(7);
  for (float &x : a)
    x = draw.number();
  return a;
}

void checkPanels(cpu::RowUnit unit, const Weights &weights, int64_t rows) {
  const auto source = weights.source();
  const std::vector<float> a = randomRows(rows * weights.k);
  auto panel =
      AlignedBlock::allocate(static_cast<uint64_t>(cpu::coded_panels::bytes(
                                 weights.params, weights.dtype, weights.k)),
                             "a test");
  for (int64_t first = 0; first < weights.n; first += cpu::rowPanelColumns) {
    cpu::coded_panels::pack(source, first / cpu::rowPanelColumns,
                            panel->data());
    std::vector<float> sums(static_cast<size_t>(rows * cpu::rowPanelColumns),
                            std::numeric_limits<float>::quiet_NaN());
    cpu::coded_panels::function(unit, weights.params, weights.dtype, rows)(
        {a.data(), weights.k, 1}, panel->data(),
        cpu::coded_panels::form(source), sums.data());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = first;
           j < std::min(first + cpu::rowPanelColumns, weights.n); ++j) {
        const auto [sum, magnitude] = sumOf(a, i, weights, j);
        REQUIRE(isNear(
            sums[static_cast<size_t>(i * cpu::rowPanelColumns + j - first)],
            sum, magnitude));
      }
  }
}

/// The product by the CPU's library, with a bias and a relu.
std::string checkProduct(const Weights &weights, int64_t m, bool byLoops,
                         bool storesColumns) {
  const int64_t n = weights.n, k = weights.k;
  sinter_matmul p = test::dense(m, n, k);
  if (storesColumns) {
    p.cStrideM = 1;
    p.cStrideN = m;
  }
  p.numPostOps = 2;
  p.postOps[0] = {SINTER_POST_BIAS, 4, 0, 0};
  p.postOps[1] = {SINTER_POST_RELU, 0, 0, 0};
  p.weights = weights.params;
  std::vector<float> a = randomRows(m * k), bias = randomRows(n),
                     c(static_cast<size_t>(m * n));
  // Constants in one block, as in an artifact.
  std::vector<uint8_t> constants;
  auto add = [&](const void *bytes, size_t count) {
    const sinter_slice slice{SINTER_SPACE_CONSTANT, 0, constants.size(), count};
    const auto *from = static_cast<const uint8_t *>(bytes);
    constants.insert(constants.end(), from, from + count);
    constants.resize((constants.size() + 63) / 64 * 64);
    return slice;
  };
  const sinter_slice slices[] = {
      {SINTER_SPACE_INPUT, 0, 0, 4 * a.size()},
      add(weights.codes.data(), weights.codes.size()),
      add(weights.scales.data(), 4 * weights.scales.size()),
      add(weights.zeros.data(), 4 * weights.zeros.size()),
      add(bias.data(), 4 * bias.size()),
      {SINTER_SPACE_OUTPUT, 0, 0, 4 * c.size()}};
  auto block = AlignedBlock::allocate(constants.size(), "a test");
  std::copy(constants.begin(), constants.end(), block->data());
  sinter_command command = test::callOf(&p);
  command.matmul.dtypeOfB = weights.dtype;
  command.matmul.way = byLoops ? SINTER_BY_LOOPS : SINTER_BY_LIBRARY;
  command.slices = slices;
  command.numSlices = 6;
  command.numReads = 5;
  std::string description;
  std::vector<float> ofOneThread;
  for (int threads : {1, 3}) {
    std::fill(c.begin(), c.end(), std::numeric_limits<float>::quiet_NaN());
    void *buffers[6] = {a.data()};
    for (size_t i = 1; i < 5; ++i)
      buffers[i] = block->data() + slices[i].offsetBytes;
    buffers[5] = c.data();
    REQUIRE(test::runCall(command, buffers, threads, block->data(), description)
                .ok());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double added = bias[static_cast<size_t>(j)];
        const auto [sum, magnitude] = sumOf(a, i, weights, j);
        REQUIRE(isNear(c[static_cast<size_t>(i * p.cStrideM + j * p.cStrideN)],
                       std::max(sum + added, 0.0),
                       magnitude + std::fabs(added)));
      }
    if (threads == 1)
      ofOneThread = c;
    else
      REQUIRE(c == ofOneThread);
  }
  return description;
}

} // namespace

TEST_CASE("coded weights: each unit of this CPU", "[matmul]") {
  for (cpu::RowUnit unit : {cpu::RowUnit::Avx2, cpu::RowUnit::Avx512}) {
    if (unit > cpu::rowUnit()) {
      WARN("this CPU has no unit " << static_cast<int>(unit));
      continue;
    }
    for (auto [bits, dtype] :
         {std::pair{4u, SINTER_U8}, {8u, SINTER_I8}, {8u, SINTER_U8}})
      for (Own own : {Own::Nothing, Own::Scales, Own::ScalesAndZeros})
        for (auto [k, n, block] :
             {std::tuple{8, 1, 8}, {96, 64, 32}, {80, 200, 80}, {320, 67, 16}})
          for (int64_t rows = 1; rows <= cpu::maxPanelRows; ++rows) {
            CAPTURE(unit, bits, uint32_t{dtype}, own, k, n, block, rows);
            checkPanels(unit, {k, n, bits, dtype, block, own}, rows);
          }
  }
}

TEST_CASE("coded weights: rows, layouts, threads, loops", "[matmul]") {
  for (auto [bits, dtype] :
       {std::pair{4u, SINTER_U8}, {8u, SINTER_I8}, {8u, SINTER_U8}})
    for (Own own : {Own::Nothing, Own::Scales, Own::ScalesAndZeros})
      for (int64_t m : {1, 2, 5, 16, 17})
        for (bool byLoops : {false, true})
          for (bool storesColumns : {false, true}) {
            CAPTURE(bits, uint32_t{dtype}, own, m, byLoops, storesColumns);
            const std::string description = checkProduct(
                {192, 150, bits, dtype, 64, own}, m, byLoops, storesColumns);
            const bool readsCodes =
                m <= 16 && !byLoops && cpu::rowUnit() != cpu::RowUnit::None;
            CHECK((description.find(std::to_string(bits) +
                                    "-bit weights packed at load") !=
                   std::string::npos) == readsCodes);
            CHECK((description.find("weights decoded at load") !=
                   std::string::npos) != readsCodes);
          }
}

// Infinite and NaN inputs give what the float32 weights would give.
TEST_CASE("coded weights: infinities and NaN", "[matmul]") {
  if (cpu::rowUnit() == cpu::RowUnit::None)
    return;
  const float inf = std::numeric_limits<float>::infinity();
  for (Own own : {Own::Scales, Own::ScalesAndZeros})
    for (float special : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
      const Weights weights(64, 64, 8, SINTER_U8, 32, own);
      std::vector<float> a = randomRows(64);
      a[40] = special;
      auto panel =
          AlignedBlock::allocate(static_cast<uint64_t>(cpu::coded_panels::bytes(
                                     weights.params, weights.dtype, 64)),
                                 "a test");
      const auto source = weights.source();
      cpu::coded_panels::pack(source, 0, panel->data());
      std::vector<float> sums(64);
      cpu::coded_panels::function(cpu::rowUnit(), weights.params, weights.dtype,
                                  1)({a.data(), 64, 1}, panel->data(),
                                     cpu::coded_panels::form(source),
                                     sums.data());
      for (int64_t j = 0; j < 64; ++j) {
        const double expected = sumOf(a, 0, weights, j).first;
        const double value = sums[static_cast<size_t>(j)];
        CAPTURE(own, special, j, expected, value);
        CHECK((std::isnan(expected) ? std::isnan(value) : value == expected));
      }
    }
}
