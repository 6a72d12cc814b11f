//===- AttentionGrad.cpp - the gradient of attention ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Probabilities are computed again from the statistics of the attention, for a
// stretch of keys and a stretch of queries at a time, so that no matrix of
// scores is stored (Dao et al., FlashAttention, algorithm 4). Statistics are
// rounded: where they are large, the sums of the softmax are computed again,
// too.
//
// Scores and their gradients are kept key by key: their rows are the left
// operands of the gradients of keys and values, and the numbers that a query
// has are lines.
//
// Queries are taken from the last to the first. Of a causal attention, the
// queries that see a key come first then, and the keys that a query sees do so
// anyway: products leave out what follows.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/AttentionLibraryCall.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/EveryWidth.h"
#include "backends/cpu/device/FloatPanels.h"
#include "runtime/base/FloatFunctions.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The most keys and the most queries of a stretch.
constexpr int64_t mostKeys = 256, mostQueries = 256;
/// Elements of rows that may be written beyond their end.
constexpr int64_t slack = 63;
constexpr float negativeInfinity = -std::numeric_limits<float>::infinity();

/// Up to this size, the rounding of a statistic changes probabilities by less
/// than 2^-19 of their size.
constexpr float largestStatistic = 32.0F;

/// What probabilities are computed from, for queries one after the other: the
/// probability of a score is e^((score - shift) - logSum).
struct Softmax {
  float *shift, *logSum;
};

/// e^((score - shift) - logSum), at most 1.
inline float probabilityOf(float score, float shift, float logSum) {
  float exponent = (score - shift) - logSum;
  exponent = exponent > 0.0F ? 0.0F : exponent;
  exponent = exponent < kExpLeast ? kExpLeast : exponent;
  return fastExp</*isBounded=*/true>(exponent);
}

/// Turns scores of a key and `count` queries into probabilities, and the
/// products of its value and their output gradients into gradients of scores.
SINTER_EVERY_WIDTH
void scoreGradients(float *score, float *grad, const Softmax &softmax,
                    const float *along, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float probability =
        probabilityOf(score[i], softmax.shift[i], softmax.logSum[i]);
    score[i] = probability;
    grad[i] = probability * (grad[i] - along[i]);
  }
}

SINTER_EVERY_WIDTH
void keepGreatest(float *greatest, const float *score, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    greatest[i] = score[i] > greatest[i] ? score[i] : greatest[i];
}
SINTER_EVERY_WIDTH
void addExponentials(float *sum, const float *score, const float *shift,
                     int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sum[i] += probabilityOf(score[i], shift[i], 0.0F);
}

SINTER_EVERY_WIDTH
void addLine(float *to, const float *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

/// The sum of x[i] * y[i] in a fixed order. `count` is a multiple of 8.
SINTER_EVERY_WIDTH
float productOfLines(const float *x, const float *y, int64_t count) {
  constexpr int64_t parts = 8;
  float sums[parts] = {};
  for (int64_t i = 0; i < count; i += parts)
    for (int64_t j = 0; j < parts; ++j)
      sums[j] += x[i + j] * y[i + j];
  for (int64_t half = parts / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j)
      sums[j] += sums[j + half];
  return sums[0];
}

class AttentionGradCall : public AttentionLibraryCall {
public:
  explicit AttentionGradCall(const sinter_command &command)
      : AttentionLibraryCall(command), unit_(attentionUnit(SINTER_F32)),
        keys_(std::min(p_.keys, mostKeys)),
        queries_(std::min(p_.queries, mostQueries)),
        blockRows_(unit_->blockRows()),
        scoreStride_(oddLines(4 * (queries_ + slack))),
        keyStride_(oddLines(4 * (keys_ + slack))) {
    keyPanelsAt_ = take(unit_->panelBytes(keys_, p_.depth));
    queryColumnsAt_ = take(unit_->panelBytes(p_.depth, queries_));
    gradColumnsAt_ = take(unit_->panelBytes(p_.depth, queries_));
    queryPanelsAt_ = take(unit_->panelBytes(queries_, p_.depth));
    gradPanelsAt_ = take(unit_->panelBytes(queries_, p_.depth));
    sharesAt_ = take(blockRows_ * scoreStride_);
    masksAt_ = take(blockRows_ * scoreStride_);
    scoreGradsAt_ = take(keys_ * scoreStride_);
    turnedAt_ = take(blockRows_ * keyStride_);
    addedAt_ = take(blockRows_ * sumStride());
    keyGradAt_ = take(keys_ * sumStride());
    valueGradAt_ = take(keys_ * sumStride());
    queryGradAt_ = take(p_.queries * sumStride());
    shiftAt_ = take(4 * p_.queries);
    logSumAt_ = take(4 * p_.queries);
    alongAt_ = take(4 * p_.queries);
  }

  Status run(void *const *buffers, const CallContext &context) override {
    context.parallelFor(allHeads(), 1,
                        [&](int worker, int64_t begin, int64_t end) {
                          TileRegisters tiles;
                          for (int64_t head = begin; head < end; ++head)
                            runHead({{head / p_.heads, head % p_.heads},
                                     buffers,
                                     scratchOf(worker),
                                     tiles});
                        });
    return {};
  }

  std::string description() const override {
    return "gradient of " + text(*unit_);
  }

private:
  /// What computes the gradients of one head.
  struct Worker {
    Head head;
    void *const *buffers;
    uint8_t *scratch;
    TileRegisters &tiles;

    float *floats(int64_t place) const {
      return reinterpret_cast<float *>(scratch + place);
    }
  };
  /// Some keys, or some queries in their reverse order.
  struct Stretch {
    int64_t first, count;
  };

  // The slices of the command.
  enum Buffer { query, key, value, output, outputGrad, stats, mask };
  void *gradOf(const Worker &w, Buffer operand) const {
    return w.buffers[6 + p_.hasMask + operand];
  }

  int64_t sumStride() const { return oddLines(4 * (p_.depth + 31)); }

  HeadRows keysOf(const Worker &w, Buffer operand, const sinter_heads &at,
                  int64_t first) const {
    return rowsOf(w.buffers[operand], at, 4, w.head, first);
  }
  HeadRows queriesOf(const Worker &w, const void *operand,
                     const sinter_heads &at, const Stretch &queries) const {
    HeadRows rows =
        rowsOf(operand, at, 4, w.head, p_.queries - 1 - queries.first);
    rows.stride = -rows.stride;
    return rows;
  }
  /// How many of `queries` see a key.
  int64_t queriesOfKey(const Stretch &queries, int64_t key) const {
    return p_.causal ? std::clamp<int64_t>(p_.queries - key - queries.first, 0,
                                           queries.count)
                     : queries.count;
  }
  /// How many of `keys` a query sees, by its number in the reverse order.
  int64_t keysOfQuery(const Stretch &keys, int64_t query) const {
    return p_.causal ? std::clamp<int64_t>(p_.queries - query - keys.first, 0,
                                           keys.count)
                     : keys.count;
  }

  void runHead(const Worker &w) const {
    if (!readLines(w))
      sumAgain(w);
    std::fill_n(w.floats(queryGradAt_), p_.queries * sumStride() / 4, 0.0F);
    const bool isOneStretch = queries_ == p_.queries;
    for (Stretch keys{0, 0}; keys.first < p_.keys; keys.first += keys_) {
      keys.count = std::min(keys_, p_.keys - keys.first);
      unit_->packPanels(keysOf(w, key, p_.key, keys.first), keys.count,
                        p_.depth, w.scratch + keyPanelsAt_, nullptr);
      std::fill_n(w.floats(keyGradAt_), keys.count * sumStride() / 4, 0.0F);
      std::fill_n(w.floats(valueGradAt_), keys.count * sumStride() / 4, 0.0F);
      for (Stretch queries{0, 0}; queries.first < p_.queries;
           queries.first += queries_) {
        queries.count = std::min(queries_, p_.queries - queries.first);
        if (queriesOfKey(queries, keys.first) == 0)
          break;
        if (keys.first == 0 || !isOneStretch)
          packQueries(w, queries);
        addKeys(w, keys, queries);
        addQueries(w, keys, queries);
      }
      store(w.floats(keyGradAt_), keys.count, p_.scale,
            rowsOf(gradOf(w, key), p_.keyGrad, 4, w.head, keys.first));
      store(w.floats(valueGradAt_), keys.count, 1.0F,
            rowsOf(gradOf(w, value), p_.valueGrad, 4, w.head, keys.first));
    }
    store(w.floats(queryGradAt_), p_.queries, p_.scale,
          queriesOf(w, gradOf(w, query), p_.queryGrad, {0, p_.queries}));
  }

  /// Of the queries from number `first` on.
  Softmax softmaxOf(const Worker &w, int64_t first) const {
    return {w.floats(shiftAt_) + first, w.floats(logSumAt_) + first};
  }

  /// Reads the statistics of all queries, and the sums of their probabilities'
  /// products, which are those of output and output gradient. False if
  /// statistics are too large to compute probabilities from.
  bool readLines(const Worker &w) const {
    const Stretch all{0, p_.queries};
    const HeadRows outputs = queriesOf(w, w.buffers[output], p_.output, all),
                   grads =
                       queriesOf(w, w.buffers[outputGrad], p_.outputGrad, all);
    const float *from = static_cast<const float *>(w.buffers[stats]) +
                        (w.head.batch * p_.heads + w.head.head) * p_.queries;
    const Softmax softmax = softmaxOf(w, 0);
    float *along = w.floats(alongAt_);
    bool areSmall = true;
    for (int64_t i = 0; i < p_.queries; ++i) {
      const float own = from[p_.queries - 1 - i];
      const bool isMasked = own == negativeInfinity;
      // Without scores, all probabilities are 0.
      softmax.shift[i] = isMasked ? -own : own;
      softmax.logSum[i] = 0.0F;
      areSmall &= isMasked || std::abs(own) <= largestStatistic;
      along[i] = productOfLines(
          static_cast<const float *>(outputs.data) + i * outputs.stride,
          static_cast<const float *>(grads.data) + i * grads.stride, p_.depth);
    }
    return areSmall;
  }

  /// Computes the greatest score of each query, and the logarithm of the sum of
  /// e^(score - greatest).
  void sumAgain(const Worker &w) const {
    for (Stretch queries{0, 0}; queries.first < p_.queries;
         queries.first += queries_) {
      queries.count = std::min(queries_, p_.queries - queries.first);
      const Softmax softmax = softmaxOf(w, queries.first);
      unit_->packTransposed(queriesOf(w, w.buffers[query], p_.query, queries),
                            queries.count, p_.depth,
                            w.scratch + queryColumnsAt_, nullptr);
      std::fill_n(softmax.shift, queries.count, negativeInfinity);
      forEachKey(w, queries, [&](const float *score, int64_t count) {
        keepGreatest(softmax.shift, score, count);
      });
      for (int64_t i = 0; i < queries.count; ++i)
        if (softmax.shift[i] == negativeInfinity)
          softmax.shift[i] = -negativeInfinity;
      std::fill_n(softmax.logSum, queries.count, 0.0F);
      forEachKey(w, queries, [&](const float *score, int64_t count) {
        addExponentials(softmax.logSum, score, softmax.shift, count);
      });
      for (int64_t i = 0; i < queries.count; ++i)
        softmax.logSum[i] =
            softmax.logSum[i] == 0 ? 0.0F : std::log(softmax.logSum[i]);
    }
  }
  /// Calls `body` with the scores of each key and of those queries that see it.
  template <class Body>
  void forEachKey(const Worker &w, const Stretch &queries, Body &&body) const {
    for (Stretch block{0, 0}; block.first < p_.keys;
         block.first += blockRows_) {
      block.count = std::min(blockRows_, p_.keys - block.first);
      const int64_t used = queriesOfKey(queries, block.first);
      if (used == 0)
        return;
      readBlock(w, block, queries, used);
      for (int64_t row = 0; row < block.count; ++row) {
        const int64_t count = queriesOfKey(queries, block.first + row);
        body(scoresOf(w, row, count), count);
      }
    }
  }

  /// Computes the products of a block of keys and the first `used` of
  /// `queries`, and reads their masks: what scoresOf() takes.
  void readBlock(const Worker &w, const Stretch &block, const Stretch &queries,
                 int64_t used) const {
    multiplyKeys(w, keysOf(w, key, p_.key, block.first), block.count,
                 queryColumnsAt_, queries, used, w.scratch + sharesAt_);
    if (p_.hasMask)
      readMasks(w, block, {queries.first, used});
  }

  /// Products of `rows` rows of keys or values and the first `used` of
  /// `queries`, whose columns are at `columnsAt`.
  void multiplyKeys(const Worker &w, const HeadRows &from, int64_t rows,
                    int64_t columnsAt, const Stretch &queries, int64_t used,
                    uint8_t *to) const {
    unit_->multiply(w.tiles,
                    {static_cast<const uint8_t *>(from.data), 4 * from.stride,
                     rows, p_.depth},
                    {w.scratch + columnsAt, p_.depth, queries.count}, used,
                    reinterpret_cast<float *>(to), scoreStride_ / 4);
  }
  /// The first `count` scores of row `row` of a block, from their products.
  float *scoresOf(const Worker &w, int64_t row, int64_t count) const {
    float *score = w.floats(sharesAt_ + row * scoreStride_);
    scaleAndMask(score, p_.scale,
                 p_.hasMask ? w.floats(masksAt_ + row * scoreStride_) : nullptr,
                 count);
    return score;
  }

  void packQueries(const Worker &w, const Stretch &queries) const {
    auto pack = [&](const HeadRows &rows, int64_t columnsAt, int64_t panelsAt) {
      unit_->packTransposed(rows, queries.count, p_.depth,
                            w.scratch + columnsAt, nullptr);
      unit_->packPanels(rows, queries.count, p_.depth, w.scratch + panelsAt,
                        nullptr);
    };
    pack(queriesOf(w, w.buffers[query], p_.query, queries), queryColumnsAt_,
         queryPanelsAt_);
    pack(queriesOf(w, w.buffers[outputGrad], p_.outputGrad, queries),
         gradColumnsAt_, gradPanelsAt_);
  }

  /// Computes the gradients of scores, and adds what `queries` give to the
  /// gradients of keys and values.
  void addKeys(const Worker &w, const Stretch &keys,
               const Stretch &queries) const {
    uint8_t *shares = w.scratch + sharesAt_;
    for (int64_t first = 0; first < keys.count; first += blockRows_) {
      const int64_t rows = std::min(blockRows_, keys.count - first),
                    used = queriesOfKey(queries, keys.first + first);
      if (used == 0)
        break;
      uint8_t *grads = w.scratch + scoreGradsAt_ + first * scoreStride_;
      const Stretch block{keys.first + first, rows};
      readBlock(w, block, queries, used);
      multiplyKeys(w, keysOf(w, value, p_.value, block.first), rows,
                   gradColumnsAt_, queries, used, grads);
      for (int64_t row = 0; row < rows; ++row)
        finishRow(w, block, row, queries, used,
                  reinterpret_cast<float *>(grads + row * scoreStride_));
      addProduct(w, {shares, scoreStride_, rows, used},
                 {w.scratch + gradPanelsAt_, queries.count, p_.depth},
                 valueGradAt_ + first * sumStride());
      addProduct(w, {grads, scoreStride_, rows, used},
                 {w.scratch + queryPanelsAt_, queries.count, p_.depth},
                 keyGradAt_ + first * sumStride());
    }
  }

  /// The masks of a block of keys, key by key.
  void readMasks(const Worker &w, const Stretch &keys,
                 const Stretch &queries) const {
    const float *from = maskAt(w.buffers[mask], p_.mask, w.head,
                               p_.queries - 1 - queries.first, keys.first);
    copyBlock(
        {w.floats(masksAt_), keys.count, queries.count, scoreStride_ / 4, 1},
        from, 1, -p_.mask.rowStride);
  }

  /// Key `row` of a block; `used` queries see its first key. What they do not
  /// see becomes 0.
  void finishRow(const Worker &w, const Stretch &block, int64_t row,
                 const Stretch &queries, int64_t used, float *grads) const {
    const int64_t count = queriesOfKey(queries, block.first + row);
    float *score = scoresOf(w, row, count);
    scoreGradients(score, grads, softmaxOf(w, queries.first),
                   w.floats(alongAt_) + queries.first, count);
    std::fill(score + count, score + used, 0.0F);
    std::fill(grads + count, grads + queries.count, 0.0F);
  }

  /// Adds what `keys` give to the gradients of queries.
  void addQueries(const Worker &w, const Stretch &keys,
                  const Stretch &queries) const {
    for (int64_t first = 0; first < queries.count; first += blockRows_) {
      const int64_t rows = std::min(blockRows_, queries.count - first),
                    used = keysOfQuery(keys, queries.first + first);
      if (used == 0)
        break;
      copyBlock({w.floats(turnedAt_), rows, used, keyStride_ / 4, 1},
                w.floats(scoreGradsAt_) + first, 1, scoreStride_ / 4);
      addProduct(w, {w.scratch + turnedAt_, keyStride_, rows, used},
                 {w.scratch + keyPanelsAt_, keys.count, p_.depth},
                 queryGradAt_ + (queries.first + first) * sumStride());
    }
  }

  /// Adds a product to the rows at `sumsAt`.
  void addProduct(const Worker &w, const AttentionRows &rows,
                  const AttentionPanels &panels, int64_t sumsAt) const {
    float *added = w.floats(addedAt_);
    unit_->multiply(w.tiles, rows, panels, p_.depth, added, sumStride() / 4);
    for (int64_t i = 0; i < rows.count; ++i)
      addLine(w.floats(sumsAt + i * sumStride()), added + i * (sumStride() / 4),
              p_.depth);
  }

  void store(const float *sums, int64_t rows, float scale,
             const HeadRows &to) const {
    auto *target = static_cast<float *>(const_cast<void *>(to.data));
    for (int64_t i = 0; i < rows; ++i)
      unit_->storeLine(sums + i * (sumStride() / 4), scale, p_.depth,
                       target + i * to.stride);
  }

  const std::unique_ptr<const AttentionUnit> unit_;
  const int64_t keys_, queries_, blockRows_; // of a stretch, of a block
  const int64_t scoreStride_, keyStride_;    // in bytes, as what follows
  int64_t keyPanelsAt_, queryColumnsAt_, gradColumnsAt_, queryPanelsAt_,
      gradPanelsAt_, sharesAt_, masksAt_, scoreGradsAt_, turnedAt_, addedAt_,
      keyGradAt_, valueGradAt_, queryGradAt_, shiftAt_, logSumAt_, alongAt_;
};

} // namespace

LibraryCallResult
sinter::cpu::prepareAttentionGrad(const sinter_command &command) {
  if (command.attention.params->dtype != SINTER_F32)
    return Status(SINTER_UNSUPPORTED,
                  "the gradient of attention on the CPU takes float32 alone");
  return std::unique_ptr<LibraryCall>(
      std::make_unique<AttentionGradCall>(command));
}
