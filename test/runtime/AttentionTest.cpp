//===- AttentionTest.cpp --------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Float16.h"
#include "test/runtime/Calls.h"
#include "test/runtime/RunCall.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace sinter;
using namespace sinter::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Numbers in memory as the attention has them.
class Numbers {
public:
  Numbers(uint32_t dtype, size_t count)
      : dtype_(dtype), bytes_(count * (dtype == SINTER_F32 ? 4 : 2)) {}

  size_t size() const { return bytes_.size() / (dtype_ == SINTER_F32 ? 4 : 2); }
  void *data() { return bytes_.data(); }
  const std::vector<uint8_t> &bytes() const { return bytes_; }
  void set(size_t i, float value) {
    if (dtype_ == SINTER_F32)
      put(i, value);
    else if (dtype_ == SINTER_F16)
      put(i, rounded<rt::Half>(value));
    else
      put(i, rounded<rt::Bfloat>(value));
  }
  double at(size_t i) const {
    return dtype_ == SINTER_F32   ? get<float>(i)
           : dtype_ == SINTER_F16 ? rt::toFloat(get<rt::Half>(i))
                                  : rt::toFloat(get<rt::Bfloat>(i));
  }
  static Numbers random(uint32_t dtype, size_t count, uint32_t seed) {
    Numbers numbers(dtype, count);
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < count; ++i)
      numbers.set(i, normal(generator));
    return numbers;
  }

private:
  template <class T> static T rounded(float value) {
    T to;
    rt::fromFloat(value, to);
    return to;
  }
  template <class T> void put(size_t i, T value) {
    std::memcpy(bytes_.data() + i * sizeof(T), &value, sizeof(T));
  }
  template <class T> T get(size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  uint32_t dtype_;
  std::vector<uint8_t> bytes_;
};

/// An attention, its operands and its results.
struct Attention {
  sinter_attention params{};
  Numbers query, key, value, output;
  std::vector<float> mask, stats;
  std::string description;

  Attention(uint32_t dtype, int64_t batch, int64_t heads, int64_t queries,
            int64_t keys, int64_t depth)
      : query(dtype, 0), key(dtype, 0), value(dtype, 0), output(dtype, 0) {
    sinter_attention &p = params;
    p.direction = SINTER_ATTENTION_FORWARD;
    p.dtype = dtype;
    p.batch = batch;
    p.heads = heads;
    p.queries = queries;
    p.keys = keys;
    p.depth = depth;
    p.scale = 1.0F / std::sqrt(static_cast<float>(depth));
    p.query = interleaved(queries, heads, depth, 8);
    p.key = p.value = interleaved(keys, heads, depth, 16);
    p.output = interleaved(queries, heads, depth, 0);
    auto random = [&](const sinter_heads &at, uint32_t seed) {
      return Numbers::random(dtype, static_cast<size_t>(batch * at.batchStride),
                             seed);
    };
    query = random(p.query, 1);
    key = random(p.key, 2);
    value = random(p.value, 3);
    output = random(p.output, 4);
  }
  /// A mask for each row, the same for all heads.
  void addMask() {
    params.hasMask = 1;
    params.mask = {params.queries * params.keys, 0, params.keys};
    std::mt19937 generator(5);
    std::normal_distribution<float> normal;
    mask.resize(
        static_cast<size_t>(params.batch * params.queries * params.keys));
    for (float &x : mask)
      x = normal(generator);
  }
  void addStats() {
    params.hasStats = 1;
    stats.resize(
        static_cast<size_t>(params.batch * params.heads * params.queries));
  }

  void run(int threads = 1) {
    sinter_command command = callOf(&params);
    std::vector<void *> buffers = {query.data(), key.data(), value.data()};
    if (params.hasMask)
      buffers.push_back(mask.data());
    if (params.hasStats)
      buffers.push_back(stats.data());
    buffers.push_back(output.data());
    std::vector<sinter_slice> slices(buffers.size());
    command.slices = slices.data();
    command.numSlices = static_cast<uint32_t>(slices.size());
    command.numReads = 3 + params.hasMask;
    rt::Status status =
        runCall(command, buffers.data(), threads, nullptr, description);
    INFO(status.message());
    REQUIRE(status.ok());
  }

  static size_t placeOf(const sinter_heads &at, int64_t b, int64_t h,
                        int64_t row) {
    return static_cast<size_t>(b * at.batchStride + h * at.headStride +
                               row * at.rowStride);
  }

  /// Compares with float64. Errors are relative to the largest value; those of
  /// float32 grow with the scores.
  void check() const {
    const sinter_attention &p = params;
    const double size =
        std::max(1.0, std::sqrt(double(p.depth)) * std::abs(p.scale));
    const double bound = p.dtype == SINTER_BF16  ? 0x1p-8
                         : p.dtype == SINTER_F16 ? 0x1p-11
                                                 : 0x1p-21 * size;
    double worst = 0, worstStats = 0;
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t h = 0; h < p.heads; ++h)
        for (int64_t i = 0; i < p.queries; ++i)
          checkRow(b, h, i, worst, worstStats);
    INFO(description);
    CHECK(worst < bound);
    CHECK(worstStats < (p.dtype == SINTER_F32 ? 0x1p-20 * size : 0x1p-14));
  }

private:
  void checkRow(int64_t b, int64_t h, int64_t i, double &worst,
                double &worstStats) const {
    const sinter_attention &p = params;
    const int64_t keys = p.causal ? std::min(p.keys, i + 1) : p.keys;
    const auto depth = static_cast<size_t>(p.depth);
    std::vector<double> share(static_cast<size_t>(keys));
    const size_t q = placeOf(p.query, b, h, i);
    for (int64_t j = 0; j < keys; ++j) {
      const size_t k = placeOf(p.key, b, h, j);
      double score = 0;
      for (size_t d = 0; d < depth; ++d)
        score += query.at(q + d) * key.at(k + d);
      share[static_cast<size_t>(j)] =
          score * p.scale +
          (p.hasMask ? mask[placeOf(p.mask, b, h, i) + static_cast<size_t>(j)]
                     : 0.0F);
    }
    const double greatest = *std::max_element(share.begin(), share.end());
    double sum = 0;
    for (double &x : share)
      sum += x = greatest == -infinity ? 0 : std::exp(x - greatest);
    double largest = 0;
    std::vector<double> wanted(depth);
    for (int64_t j = 0; j < keys; ++j) {
      const size_t v = placeOf(p.value, b, h, j);
      for (size_t d = 0; d < depth; ++d) {
        if (sum > 0)
          wanted[d] += share[static_cast<size_t>(j)] / sum * value.at(v + d);
        largest = std::max(largest, std::abs(value.at(v + d)));
      }
    }
    const size_t o = placeOf(p.output, b, h, i);
    for (size_t d = 0; d < depth; ++d) {
      const double error = std::abs(output.at(o + d) - wanted[d]) / largest;
      REQUIRE(std::isfinite(error));
      worst = std::max(worst, error);
    }
    if (!p.hasStats)
      return;
    const float found =
        stats[static_cast<size_t>((b * p.heads + h) * p.queries + i)];
    if (sum == 0)
      CHECK(found == -infinity);
    else
      worstStats =
          std::max(worstStats, std::abs(found - (greatest + std::log(sum))));
  }
};

const std::vector<uint32_t> types = {SINTER_F32, SINTER_BF16, SINTER_F16};

} // namespace

TEST_CASE("attention: sizes", "[attention]") {
  struct Sizes {
    int64_t batch, heads, queries, keys, depth;
  };
  for (uint32_t dtype : types)
    for (const Sizes &s : {Sizes{1, 1, 1, 1, 8}, Sizes{2, 3, 17, 31, 40},
                           Sizes{1, 2, 33, 64, 64}, Sizes{2, 2, 197, 197, 64},
                           Sizes{1, 1, 5, 50, 128}, Sizes{1, 3, 64, 22, 24},
                           Sizes{1, 1, 40, 2077, 16}, Sizes{1, 1, 1, 3000, 96}})
      for (bool causal : {false, true})
        for (bool masked : {false, true}) {
          INFO("dtype " << dtype << ", " << s.queries << " x " << s.keys
                        << " x " << s.depth << ", causal " << causal
                        << ", masked " << masked);
          Attention attention(dtype, s.batch, s.heads, s.queries, s.keys,
                              s.depth);
          attention.params.causal = causal;
          if (masked)
            attention.addMask();
          attention.addStats();
          attention.run();
          attention.check();
        }
}

TEST_CASE("attention: large, negative and no scale", "[attention]") {
  for (uint32_t dtype : types)
    for (float scale : {-0.3F, 0.0F, 1.0F}) {
      INFO("dtype " << dtype << ", scale " << scale);
      Attention attention(dtype, 1, 2, 20, 1100, 32);
      attention.params.scale = scale;
      attention.addStats();
      attention.run();
      attention.check();
    }
}

TEST_CASE("attention: scores of any size", "[attention]") {
  for (uint32_t dtype : types)
    for (float size : {1e4F, 1e6F, 1e15F})
      for (float scale : {0.17677669F, 3.1F}) {
        if (dtype == SINTER_F16 && size > 1e4F)
          continue; // beyond its range
        INFO("dtype " << dtype << ", size " << size << ", scale " << scale);
        Attention attention(dtype, 1, 2, 20, 1100, 32);
        attention.params.scale = scale;
        attention.query.set(0, size);
        attention.query.set(attention.query.size() - 1, -size);
        for (size_t i = 0; i < attention.key.size(); i += 3)
          attention.key.set(i, static_cast<float>(attention.key.at(i)) * size);
        // Then each row gives what its shares add up to.
        for (size_t i = 0; i < attention.value.size(); ++i)
          attention.value.set(i, 1);
        attention.run();
        for (size_t i = 0; i < attention.output.size(); ++i)
          CHECK(std::abs(attention.output.at(i) - 1) < 0x1p-8);
      }
}

TEST_CASE("attention: rows whose scores are all -inf give 0", "[attention]") {
  for (uint32_t dtype : types) {
    INFO("dtype " << dtype);
    Attention attention(dtype, 1, 2, 10, 1300, 16);
    attention.addMask();
    attention.addStats();
    const auto keys = static_cast<size_t>(attention.params.keys);
    std::fill_n(attention.mask.begin() + 3 * 1300, keys,
                -std::numeric_limits<float>::infinity());
    // Only keys of the second stretch, and only those of the first.
    std::fill_n(attention.mask.begin() + 4 * 1300, 1200,
                -std::numeric_limits<float>::infinity());
    std::fill_n(attention.mask.begin() + 5 * 1300 + 100, 1200,
                -std::numeric_limits<float>::infinity());
    attention.run();
    attention.check();
  }
}

TEST_CASE("attention: NaN and infinities reach their row alone",
          "[attention]") {
  for (uint32_t dtype : types) {
    Attention attention(dtype, 1, 1, 12, 30, 16);
    const sinter_attention &p = attention.params;
    attention.query.set(Attention::placeOf(p.query, 0, 0, 4) + 3, NAN);
    attention.query.set(Attention::placeOf(p.query, 0, 0, 7) + 5, INFINITY);
    attention.run();
    for (int64_t i = 0; i < p.queries; ++i)
      for (size_t d = 0; d < 16; ++d) {
        INFO("dtype " << dtype << ", row " << i);
        const double x =
            attention.output.at(Attention::placeOf(p.output, 0, 0, i) + d);
        CHECK(std::isnan(x) == (i == 4 || i == 7));
      }
  }
}

TEST_CASE("attention: the same bits for any number of threads", "[attention]") {
  for (uint32_t dtype : types)
    for (bool causal : {false, true}) {
      Attention attention(dtype, 1, 3, 300, 1100, 64);
      attention.params.causal = causal;
      attention.run();
      const std::vector<uint8_t> one = attention.output.bytes();
      for (int threads : {2, 3}) {
        attention.run(threads);
        CHECK(attention.output.bytes() == one);
      }
    }
}

TEST_CASE("attention: what the CPU has no call for", "[attention]") {
  Attention attention(SINTER_F32, 1, 1, 4, 4, 136);
  sinter_command command = callOf(&attention.params);
  std::string description;
  auto messageOf = [&] {
    void *buffers[] = {nullptr};
    return runCall(command, buffers, 1, nullptr, description).message();
  };
  CHECK(messageOf() ==
        "attention on the CPU has a depth of at most 128, not 136");
  attention.params.depth = 128;
  attention.params.dtype = SINTER_BF16;
  attention.params.direction = SINTER_ATTENTION_BACKWARD;
  CHECK(messageOf() ==
        "the gradient of attention on the CPU takes float32 alone");
}
