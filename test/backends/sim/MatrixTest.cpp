//===- MatrixTest.cpp - cp.async, ldmatrix, mma.sync ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// This test writes the layouts of fragments a second time, from the PTX manual.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Arithmetic.h"
#include "backends/sim/device/WarpCall.h"
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

std::string textOf(const std::string &file) {
  std::ifstream stream(std::string(SINTER_SIM_KERNELS) + "/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Runs mma.ll, or the given text; returns C, or the error.
struct Product {
  std::vector<uint16_t> a, b;
  std::vector<float> c = std::vector<float>(16 * 8);
  std::string error;

  Product(const std::string &text, uint64_t seed, const SimOptions &build)
      : a(16 * 64), b(8 * 64) {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = uint16_t(narrow(SINTER_SIM_BF16, SINTER_SIM_NEAREST,
                             double(int(i * 37 % 41) - 20) / 8));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = uint16_t(narrow(SINTER_SIM_BF16, SINTER_SIM_NEAREST,
                             double(int(i * 29 % 23) - 11) / 4));
    auto kernel = SimKernel::fromText(text, "mma", build);
    INFO(kernel->error());
    REQUIRE(kernel->code());
    EngineOptions options;
    options.seed = seed;
    Engine engine(options);
    error =
        engine
            .launch(kernel->launch({rangeOf(a), rangeOf(b), rangeOf(c)}, 1, 32),
                    nullptr)
            .message();
  }

  bool isRight() const {
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 8; ++j) {
        float sum = 0;
        for (size_t k = 0; k < 64; ++k)
          sum = std::fma(widen(SINTER_SIM_BF16, a[i * 64 + k]),
                         widen(SINTER_SIM_BF16, b[j * 64 + k]), sum);
        if (c[i * 8 + j] != sum)
          return false;
      }
    return true;
  }
};

/// One warp's mma: `place` gives the element {row, column} of A or B that a
/// lane, register and slot hold.
struct Fragments {
  uint32_t operands[32][10] = {}, results[32][4] = {};
  WarpCall calls[32];
  WarpCall *lanes[32];

  explicit Fragments(uint32_t kind) {
    for (int lane = 0; lane < 32; ++lane) {
      calls[lane].kind = WarpCall::Mma;
      calls[lane].mode = kind;
      calls[lane].operands = operands[lane];
      calls[lane].registers = results[lane];
      lanes[lane] = &calls[lane];
    }
  }
};

} // namespace

TEST_CASE("a product through cp.async, ldmatrix and mma.sync") {
  std::string text = textOf("mma.ll");
  for (bool isChecked : {false, true})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Product product(text, seed, {2, isChecked, false, false, ""});
      INFO("seed " << seed << ": " << product.error);
      CHECK(product.error == "");
      CHECK(product.isRight());
    }
}

TEST_CASE("a missing wait for cp.async gives wrong values") {
  std::string text = textOf("mma.ll");
  std::string wait = "wait.group(i32 1)";
  text.replace(text.find(wait), wait.size(), "wait.group(i32 2)");
  int numFound = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Product product(text, seed, {2, false, false, false, ""});
    CHECK(product.error == "");
    numFound += !product.isRight();
  }
  CHECK(numFound == 5);
}

TEST_CASE("tf32 fragments") {
  Fragments warp(SINTER_SIM_MMA_M16N8K8_TF32);
  auto a = [](int row, int k) { return float(row * 3 - k); };
  auto b = [](int k, int column) { return float(k * 5 - column * 2); };
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, in = lane % 4;
    // Bits below tf32's mantissa are ignored.
    auto put = [&](int reg, float value) {
      warp.operands[lane][reg] = std::bit_cast<uint32_t>(value) | 0x1fff;
    };
    put(0, a(group, in));
    put(1, a(group + 8, in));
    put(2, a(group, in + 4));
    put(3, a(group + 8, in + 4));
    put(4, b(in, group));
    put(5, b(in + 4, group));
    for (int reg = 0; reg < 4; ++reg)
      warp.operands[lane][6 + reg] = std::bit_cast<uint32_t>(1000.0f * lane);
  }
  computeMma(warp.lanes);
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < 4; ++reg) {
      int row = lane / 4 + 8 * (reg / 2), column = 2 * (lane % 4) + reg % 2;
      float sum = 1000.0f * lane;
      for (int k = 0; k < 8; ++k)
        sum += a(row, k) * b(k, column);
      CHECK(std::bit_cast<float>(warp.results[lane][reg]) == sum);
    }
}

TEST_CASE("f16 fragments") {
  Fragments warp(SINTER_SIM_MMA_M16N8K16_F16);
  auto a = [](int row, int k) { return float(row - 2 * k); };
  auto b = [](int k, int column) { return float(k + 3 * column); };
  auto pair = [](float low, float high) {
    return narrow(SINTER_SIM_F16, SINTER_SIM_NEAREST, low) |
           narrow(SINTER_SIM_F16, SINTER_SIM_NEAREST, high) << 16;
  };
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, k = 2 * (lane % 4);
    uint32_t *operands = warp.operands[lane];
    operands[0] = pair(a(group, k), a(group, k + 1));
    operands[1] = pair(a(group + 8, k), a(group + 8, k + 1));
    operands[2] = pair(a(group, k + 8), a(group, k + 9));
    operands[3] = pair(a(group + 8, k + 8), a(group + 8, k + 9));
    operands[4] = pair(b(k, group), b(k + 1, group));
    operands[5] = pair(b(k + 8, group), b(k + 9, group));
  }
  computeMma(warp.lanes);
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < 4; ++reg) {
      int row = lane / 4 + 8 * (reg / 2), column = 2 * (lane % 4) + reg % 2;
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += a(row, k) * b(k, column);
      CHECK(std::bit_cast<float>(warp.results[lane][reg]) == sum);
    }
}

TEST_CASE("a chain of instructions is within its bound of the exact sum") {
  // Row 0 times column 0: lane 0's elements 0 and 1 of each half, and those of
  // lanes 1 to 3.
  constexpr int kInstructions = 64;
  for (auto kind :
       {SINTER_SIM_MMA_M16N8K16_F16, SINTER_SIM_MMA_M16N8K16_BF16}) {
    auto type =
        kind == SINTER_SIM_MMA_M16N8K16_F16 ? SINTER_SIM_F16 : SINTER_SIM_BF16;
    uint32_t state = 1;
    auto random = [&] {
      state = state * 1664525u + 1013904223u;
      return uint16_t(narrow(type, SINTER_SIM_NEAREST,
                             double(int32_t(state)) / (1u << 28)));
    };
    double exact = 0, magnitude = 0;
    uint32_t sum = 0;
    for (int step = 0; step < kInstructions; ++step) {
      Fragments warp(kind);
      for (int lane = 0; lane < 4; ++lane)
        for (int half = 0; half < 2; ++half)
          for (int slot = 0; slot < 2; ++slot) {
            uint16_t a = random(), b = random();
            warp.operands[lane][2 * half] |= uint32_t(a) << 16 * slot;
            warp.operands[lane][4 + half] |= uint32_t(b) << 16 * slot;
            double product = double(widen(type, a)) * widen(type, b);
            exact += product;
            magnitude += std::fabs(product);
          }
      warp.operands[0][6] = sum;
      computeMma(warp.lanes);
      sum = warp.results[0][0];
    }
    double bound = 16 * kInstructions * std::ldexp(magnitude, -24);
    double error = std::fabs(std::bit_cast<float>(sum) - exact);
    CHECK(error <= bound);
    CHECK(error > 0); // it rounds
  }
}

TEST_CASE("s8 fragments") {
  Fragments warp(SINTER_SIM_MMA_M16N8K32_S8);
  auto a = [](int row, int k) { return row * 7 % 19 - k; };
  auto b = [](int k, int column) { return k * 3 % 11 - 5 * column; };
  auto four = [](const std::function<int(int)> &element) {
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i)
      bits |= uint32_t(uint8_t(int8_t(element(i)))) << (8 * i);
    return bits;
  };
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, k = 4 * (lane % 4);
    for (int reg = 0; reg < 4; ++reg)
      warp.operands[lane][reg] = four([&](int i) {
        return a(group + 8 * (reg % 2), k + i + 16 * (reg / 2));
      });
    for (int reg = 0; reg < 2; ++reg)
      warp.operands[lane][4 + reg] =
          four([&](int i) { return b(k + i + 16 * reg, group); });
  }
  computeMma(warp.lanes);
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < 4; ++reg) {
      int row = lane / 4 + 8 * (reg / 2), column = 2 * (lane % 4) + reg % 2;
      int sum = 0;
      for (int k = 0; k < 32; ++k)
        sum += a(row, k) * b(k, column);
      CHECK(int(warp.results[lane][reg]) == sum);
    }
}

TEST_CASE("ldmatrix, plain and transposed") {
  for (bool isTransposed : {false, true}) {
    uint16_t rows[16][8];
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column)
        rows[row][column] = uint16_t(row * 100 + column);
    WarpCall calls[32];
    WarpCall *lanes[32];
    uint32_t results[32][2];
    for (int lane = 0; lane < 32; ++lane) {
      calls[lane].kind = WarpCall::LoadMatrix;
      calls[lane].mode = 2;
      calls[lane].isTransposed = isTransposed;
      calls[lane].address = rows[lane % 16];
      calls[lane].registers = results[lane];
      lanes[lane] = &calls[lane];
    }
    computeLoadMatrix(lanes);
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 2; ++matrix)
        for (int i = 0; i < 2; ++i) {
          int row = lane / 4, column = 2 * (lane % 4) + i;
          int value = isTransposed ? rows[8 * matrix + column][row]
                                   : rows[8 * matrix + row][column];
          CHECK(int(results[lane][matrix] >> (16 * i) & 0xffff) == value);
        }
  }
}
