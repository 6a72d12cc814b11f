//===- AttentionGradTest.cpp ----------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/Calls.h"
#include "test/runtime/RunCall.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace sinter;
using namespace sinter::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> randomFloats(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float &x : numbers)
    x = normal(generator);
  return numbers;
}

/// The operands of an attention, its results and their gradients.
struct Gradient {
  sinter_attention params{};
  std::vector<float> query, key, value, mask, output, stats, outputGrad;
  std::vector<float> queryGrad, keyGrad, valueGrad;
  std::string description;

  Gradient(int64_t batch, int64_t heads, int64_t queries, int64_t keys,
           int64_t depth) {
    sinter_attention &p = params;
    p.dtype = SINTER_F32;
    p.hasStats = 1;
    p.batch = batch;
    p.heads = heads;
    p.queries = queries;
    p.keys = keys;
    p.depth = depth;
    p.scale = 1.0F / std::sqrt(static_cast<float>(depth));
    p.query = p.queryGrad = interleaved(queries, heads, depth, 8);
    p.key = p.value = p.keyGrad = interleaved(keys, heads, depth, 16);
    p.valueGrad = interleaved(keys, heads, depth, 0);
    p.output = p.outputGrad = interleaved(queries, heads, depth, 0);
    auto random = [&](const sinter_heads &at, uint32_t seed) {
      return randomFloats(batch * at.batchStride, seed);
    };
    query = random(p.query, 1);
    key = random(p.key, 2);
    value = random(p.value, 3);
    output = random(p.output, 4);
    outputGrad = random(p.outputGrad, 5);
    stats.resize(static_cast<size_t>(batch * heads * queries));
    // What the call does not write stays as it is.
    queryGrad = query;
    keyGrad = key;
    valueGrad = value;
  }
  /// A mask for each row, the same for all heads.
  void addMask() {
    params.hasMask = 1;
    params.mask = {params.queries * params.keys, 0, params.keys};
    mask = randomFloats(params.batch * params.queries * params.keys, 6);
  }

  void run(int threads = 1) {
    std::vector<void *> buffers = {query.data(), key.data(), value.data()};
    auto addMaskTo = [&] {
      if (params.hasMask)
        buffers.push_back(mask.data());
    };
    addMaskTo();
    buffers.insert(buffers.end(), {stats.data(), output.data()});
    call(SINTER_ATTENTION_FORWARD, buffers, 2, threads);
    buffers = {query.data(),  key.data(),        value.data(),
               output.data(), outputGrad.data(), stats.data()};
    addMaskTo();
    buffers.insert(buffers.end(),
                   {queryGrad.data(), keyGrad.data(), valueGrad.data()});
    call(SINTER_ATTENTION_BACKWARD, buffers, 3, threads);
  }

  size_t at(const sinter_heads &heads, int64_t b, int64_t h,
            int64_t row) const {
    return static_cast<size_t>(b * heads.batchStride + h * heads.headStride +
                               row * heads.rowStride);
  }

  /// Compares with float64. Errors are relative to the largest gradient of an
  /// operand, or to 1, the size of what they are computed from.
  void check() const {
    const sinter_attention &p = params;
    std::vector<double> dq(query.size()), dk(key.size()), dv(valueGrad.size());
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t h = 0; h < p.heads; ++h)
        for (int64_t i = 0; i < p.queries; ++i)
          addRow(b, h, i, dq, dk, dv);
    INFO(description);
    compare("query", queryGrad, dq, p.queryGrad, p.queries, query);
    compare("key", keyGrad, dk, p.keyGrad, p.keys, key);
    compare("value", valueGrad, dv, p.valueGrad, p.keys, value);
  }

private:
  void call(uint32_t direction, std::vector<void *> &buffers, uint32_t writes,
            int threads) {
    params.direction = direction;
    sinter_command command = callOf(&params);
    std::vector<sinter_slice> slices(buffers.size());
    command.slices = slices.data();
    command.numSlices = static_cast<uint32_t>(slices.size());
    command.numReads = command.numSlices - writes;
    rt::Status status =
        runCall(command, buffers.data(), threads, nullptr, description);
    INFO(status.message());
    REQUIRE(status.ok());
  }

  /// Adds what a query gives.
  void addRow(int64_t b, int64_t h, int64_t i, std::vector<double> &dq,
              std::vector<double> &dk, std::vector<double> &dv) const {
    const sinter_attention &p = params;
    const int64_t keys = p.causal ? std::min(p.keys, i + 1) : p.keys;
    const auto depth = static_cast<size_t>(p.depth);
    std::vector<double> share(static_cast<size_t>(keys)), grad(share.size());
    const size_t q = at(p.query, b, h, i), o = at(p.outputGrad, b, h, i);
    for (int64_t j = 0; j < keys; ++j) {
      const size_t k = at(p.key, b, h, j), v = at(p.value, b, h, j),
                   n = static_cast<size_t>(j);
      for (size_t d = 0; d < depth; ++d) {
        share[n] += double(query[q + d]) * key[k + d];
        grad[n] += double(outputGrad[o + d]) * value[v + d];
      }
      share[n] *= p.scale;
      if (p.hasMask)
        share[n] += mask[at(p.mask, b, h, i) + n];
    }
    const double greatest = *std::max_element(share.begin(), share.end());
    if (greatest == -infinity)
      return;
    double sum = 0, along = 0;
    for (double &x : share)
      sum += x = std::exp(x - greatest);
    for (size_t n = 0; n < share.size(); ++n)
      along += (share[n] /= sum) * grad[n];
    for (int64_t j = 0; j < keys; ++j) {
      const size_t k = at(p.key, b, h, j), n = static_cast<size_t>(j);
      const double score = share[n] * (grad[n] - along) * p.scale;
      for (size_t d = 0; d < depth; ++d) {
        dq[q + d] += score * key[k + d];
        dk[k + d] += score * query[q + d];
        dv[at(p.valueGrad, b, h, j) + d] += share[n] * outputGrad[o + d];
      }
    }
  }

  void compare(const char *name, const std::vector<float> &found,
               const std::vector<double> &wanted, const sinter_heads &heads,
               int64_t rows, const std::vector<float> &before) const {
    double largest = 0, worst = 0;
    std::vector<bool> isWritten(found.size());
    for (double x : wanted)
      largest = std::max(largest, std::abs(x));
    for (int64_t b = 0; b < params.batch; ++b)
      for (int64_t h = 0; h < params.heads; ++h)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t d = 0; d < params.depth; ++d) {
            const size_t n = at(heads, b, h, i) + static_cast<size_t>(d);
            const double error = std::abs(found[n] - wanted[n]);
            REQUIRE(std::isfinite(error));
            worst = std::max(worst, error);
            isWritten[n] = true;
          }
    INFO("gradient of the " << name << ", the largest " << largest);
    CHECK(worst <= 0x1p-19 * std::max(1.0, largest));
    for (size_t n = 0; n < found.size(); ++n)
      if (!isWritten[n])
        REQUIRE(found[n] == before[n]);
  }
};

} // namespace

TEST_CASE("gradient of attention: sizes", "[attention]") {
  struct Sizes {
    int64_t batch, heads, queries, keys, depth;
  };
  for (const Sizes &s :
       {Sizes{1, 1, 1, 1, 8}, Sizes{2, 3, 17, 31, 40}, Sizes{1, 2, 33, 64, 64},
        Sizes{2, 2, 128, 128, 64}, Sizes{1, 1, 5, 50, 128},
        Sizes{1, 3, 64, 22, 24}, Sizes{1, 1, 300, 520, 16},
        Sizes{1, 2, 600, 90, 32}, Sizes{1, 1, 513, 513, 64}})
    for (bool causal : {false, true})
      for (bool masked : {false, true}) {
        INFO(s.queries << " x " << s.keys << " x " << s.depth << ", causal "
                       << causal << ", masked " << masked);
        Gradient gradient(s.batch, s.heads, s.queries, s.keys, s.depth);
        gradient.params.causal = causal;
        if (masked)
          gradient.addMask();
        gradient.run();
        gradient.check();
      }
}

TEST_CASE("gradient of attention: masks that repeat", "[attention]") {
  Gradient gradient(2, 2, 300, 70, 16);
  gradient.addMask();
  gradient.params.mask = {70, 0, 0}; // the same for all queries
  gradient.run();
  gradient.check();
}

TEST_CASE("gradient of attention: large, negative and no scale",
          "[attention]") {
  for (float scale : {-0.3F, 0.0F, 1.0F}) {
    INFO("scale " << scale);
    Gradient gradient(1, 2, 20, 300, 32);
    gradient.params.scale = scale;
    gradient.run();
    gradient.check();
  }
}

TEST_CASE("gradient of attention: scores of any size", "[attention]") {
  for (float size : {1e4F, 1e6F, 1e15F})
    for (float scale : {0.17677669F, 3.1F}) {
      INFO("size " << size << ", scale " << scale);
      Gradient gradient(1, 2, 20, 300, 32);
      gradient.params.scale = scale;
      gradient.query.front() = size;
      for (size_t i = 0; i < gradient.key.size(); i += 3)
        gradient.key[i] *= size;
      gradient.run();
      for (const auto *grad :
           {&gradient.queryGrad, &gradient.keyGrad, &gradient.valueGrad})
        for (float x : *grad)
          REQUIRE(std::isfinite(x));
      // A probability is at most 1: no value gets more than all queries give.
      for (float x : gradient.valueGrad)
        CHECK(std::abs(x) < 20 * 6);
    }
}

TEST_CASE("gradient of attention: rows whose scores are all -inf give 0",
          "[attention]") {
  Gradient gradient(1, 2, 10, 300, 16);
  gradient.addMask();
  std::fill_n(gradient.mask.begin() + 3 * 300, 300, -infinity);
  std::fill_n(gradient.mask.begin() + 4 * 300, 280, -infinity);
  gradient.run();
  gradient.check();
  for (int64_t h : {0, 1})
    for (size_t d = 0; d < 16; ++d)
      CHECK(gradient.queryGrad[gradient.at(gradient.params.queryGrad, 0, h, 3) +
                               d] == 0);
}

TEST_CASE("gradient of attention: rows that are masked by a finite number",
          "[attention]") {
  // As far as float32 keeps the products beside it, the mask does not matter.
  for (float masked :
       {-33.0F, -1024.0F, -1e9F, std::numeric_limits<float>::lowest()}) {
    INFO("mask " << masked);
    Gradient gradient(1, 2, 40, 300, 16);
    gradient.params.causal = 1;
    gradient.addMask();
    for (float &x : gradient.mask)
      x = 0;
    for (int64_t row : {3, 4, 39})
      std::fill_n(gradient.mask.begin() + row * 300, 300, masked);
    // Multiples of 1/64 stay exact beside -1024; beside the others products
    // vanish.
    for (float &x : gradient.query)
      x = std::round(x);
    for (float &x : gradient.key)
      x = masked < -1e8F ? 0.0F : std::round(x * 4) / 4;
    gradient.params.scale = 0.25F;
    gradient.queryGrad = gradient.query;
    gradient.keyGrad = gradient.key;
    gradient.run();
    gradient.check();
  }
}

TEST_CASE("gradient of attention: NaN reaches what depends on it",
          "[attention]") {
  Gradient gradient(1, 1, 12, 30, 16);
  const sinter_attention &p = gradient.params;
  gradient.outputGrad[gradient.at(p.outputGrad, 0, 0, 4) + 3] = NAN;
  gradient.run();
  for (int64_t i = 0; i < p.queries; ++i)
    for (size_t d = 0; d < 16; ++d)
      CHECK(std::isnan(
                gradient.queryGrad[gradient.at(p.queryGrad, 0, 0, i) + d]) ==
            (i == 4));
  for (int64_t j = 0; j < p.keys; ++j)
    for (size_t d = 0; d < 16; ++d) {
      CHECK(std::isnan(gradient.keyGrad[gradient.at(p.keyGrad, 0, 0, j) + d]));
      CHECK(std::isnan(
                gradient.valueGrad[gradient.at(p.valueGrad, 0, 0, j) + d]) ==
            (d == 3));
    }
}

TEST_CASE("gradient of attention: the same bits for any number of threads",
          "[attention]") {
  for (bool causal : {false, true}) {
    Gradient one(1, 3, 300, 290, 64);
    one.params.causal = causal;
    one.run();
    for (int threads : {2, 3}) {
      Gradient more(1, 3, 300, 290, 64);
      more.params.causal = causal;
      more.run(threads);
      CHECK(more.queryGrad == one.queryGrad);
      CHECK(more.keyGrad == one.keyGrad);
      CHECK(more.valueGrad == one.valueGrad);
    }
  }
}
