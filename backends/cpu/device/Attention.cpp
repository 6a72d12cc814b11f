//===- Attention.cpp - attention without the matrix of scores -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The scores of a block of queries and a stretch of keys stay in a core's
// caches: they are computed, become probabilities and multiply the values at
// once. Longer sequences have several stretches; the greatest score and the sum
// of a query are carried from one to the next, and what was summed before is
// scaled (Dao et al., FlashAttention; Milakov and Gimelshein, Online normalizer
// calculation for softmax). The bits of a query depend on the number of keys
// alone, for causal attention also on its position.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/AttentionLibraryCall.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/CpuLibrary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

constexpr float negativeInfinity = -std::numeric_limits<float>::infinity();

/// The keys whose scores are computed before they are used. Their panels and
/// those of their values take up to 1 MiB in float32.
constexpr int64_t stretchKeys = 1024;
/// The most queries of a block.
constexpr int64_t mostRows = 64;
/// The most blocks of queries for which keys and values are packed once.
constexpr int64_t mostBlocks = 8;
/// The fewest tasks: work for threads.
constexpr int64_t minTasks = 16;

class AttentionCall : public AttentionLibraryCall {
public:
  AttentionCall(const sinter_command &command,
                std::unique_ptr<const AttentionUnit> unit)
      : AttentionLibraryCall(command), unit_(std::move(unit)),
        width_(p_.dtype == SINTER_F32 ? 4 : 2),
        stretch_(std::min(p_.keys, stretchKeys)),
        blockRows_(std::min(p_.queries, unit_->blockRows())),
        blocks_(ceilDiv(p_.queries, blockRows_)),
        blocksOfTask_(
            std::clamp<int64_t>(p_.batch * p_.heads * blocks_ / minTasks, 1,
                                std::min(mostBlocks, blocks_))) {
    queryStride_ = oddLines(unit_->elementBytes() *
                            unit_->rowElements(p_.depth, p_.depth));
    // Up to 63 columns beyond the keys are written.
    scoreStride_ = oddLines(4 * (stretch_ + 63));
    shareStride_ = oddLines(unit_->elementBytes() * (stretch_ + 63));
    sumStride_ = oddLines(4 * (p_.depth + 31));
    const int64_t rows = blocksOfTask_ * blockRows_;
    keysAt_ = take(unit_->panelBytes(p_.depth, stretch_));
    valuesAt_ = take(unit_->panelBytes(stretch_, p_.depth));
    bufferAt_ = take(attentionBufferBytes);
    queryAt_ = take(blockRows_ * queryStride_);
    scoresAt_ = take(blockRows_ * scoreStride_);
    sharesAt_ = take(blockRows_ * shareStride_);
    addedAt_ = take(blockRows_ * sumStride_);
    sumsAt_ = take(rows * sumStride_);
    rowsAt_ = take(rows * static_cast<int64_t>(sizeof(Row)));
  }

  Status run(void *const *buffers, const CallContext &context) override {
    context.parallelFor(allHeads() * tasksOfHead(), 1,
                        [&](int worker, int64_t begin, int64_t end) {
                          TileRegisters tiles;
                          uint8_t *scratch = scratchOf(worker);
                          int64_t packed =
                              -1; // the head whose only stretch is in scratch
                          for (int64_t task = begin; task < end; ++task)
                            runTask(tiles, buffers, task, packed, scratch);
                        });
    return {};
  }

  std::string description() const override { return text(*unit_); }

private:
  /// What a query carries from stretch to stretch: its greatest product, or
  /// score if scalesAtOnce(), and the sum of its shares.
  struct Row {
    float greatest, sum;
  };
  /// Some blocks of queries of a head.
  struct Task : Head {
    int64_t firstQuery, endQuery;
  };

  /// Whether products are scaled before they are compared. Otherwise the
  /// greatest score is that of the greatest product.
  bool scalesAtOnce() const { return p_.hasMask || p_.scale <= 0; }
  int64_t tasksOfHead() const { return ceilDiv(blocks_, blocksOfTask_); }

  HeadRows rowsOf(const void *operand, const sinter_heads &at, const Task &task,
                  int64_t row) const {
    return cpu::rowsOf(operand, at, width_, task, row);
  }
  const float *maskOf(void *const *buffers, const Task &task, int64_t query,
                      int64_t key) const {
    return p_.hasMask ? maskAt(buffers[3], p_.mask, task, query, key) : nullptr;
  }

  void runTask(TileRegisters &tiles, void *const *buffers, int64_t number,
               int64_t &packed, uint8_t *scratch) const {
    const int64_t head = number / tasksOfHead(),
                  first = number % tasksOfHead() * blocksOfTask_ * blockRows_;
    const Task task{{head / p_.heads, head % p_.heads},
                    first,
                    std::min(p_.queries, first + blocksOfTask_ * blockRows_)};
    for (int64_t key = 0; key < p_.keys; key += stretch_) {
      const int64_t keys = std::min(stretch_, p_.keys - key);
      if (key > 0 && p_.causal && key >= task.endQuery)
        break;
      if (packed != head) {
        auto *buffer = reinterpret_cast<float *>(scratch + bufferAt_);
        unit_->packTransposed(rowsOf(buffers[1], p_.key, task, key), keys,
                              p_.depth, scratch + keysAt_, buffer);
        unit_->packPanels(rowsOf(buffers[2], p_.value, task, key), keys,
                          p_.depth, scratch + valuesAt_, buffer);
        if (keys == p_.keys)
          packed = head;
      }
      for (int64_t query = task.firstQuery; query < task.endQuery;
           query += blockRows_)
        addStretch(tiles, buffers, task, query, key, keys, scratch);
    }
    store(buffers, task, scratch);
  }

  /// Adds the values of `keys` keys from `key` on to the sums of a block.
  void addStretch(TileRegisters &tiles, void *const *buffers, const Task &task,
                  int64_t query, int64_t key, int64_t keys,
                  uint8_t *scratch) const {
    const int64_t rows = std::min(blockRows_, task.endQuery - query);
    const int64_t used = p_.causal ? std::min(keys, query + rows - key) : keys;
    if (used <= 0)
      return;
    uint8_t *queries = scratch + queryAt_, *shares = scratch + sharesAt_;
    unit_->packRows(rowsOf(buffers[0], p_.query, task, query), rows, p_.depth,
                    queries, queryStride_);
    auto *scores = reinterpret_cast<float *>(scratch + scoresAt_);
    unit_->multiply(tiles, {queries, queryStride_, rows, p_.depth},
                    {scratch + keysAt_, p_.depth, keys}, used, scores,
                    scoreStride_ / 4);

    const int64_t inTask = query - task.firstQuery;
    Row *row = reinterpret_cast<Row *>(scratch + rowsAt_) + inTask;
    const bool isFirst = key == 0;
    const int64_t elements = unit_->rowElements(used, keys);
    std::array<float, mostRows> scales; // of the sums so far
    for (int64_t i = 0; i < rows; ++i) {
      if (isFirst)
        row[i] = {negativeInfinity, 0.0F};
      const int64_t count =
          p_.causal ? std::clamp<int64_t>(query + i + 1 - key, 0, used) : used;
      scales[static_cast<size_t>(i)] =
          addScores(scores + i * (scoreStride_ / 4), count,
                    maskOf(buffers, task, query + i, key), row[i],
                    shares + i * shareStride_, used, elements);
    }

    float *sums =
        reinterpret_cast<float *>(scratch + sumsAt_ + inTask * sumStride_);
    auto *added = reinterpret_cast<float *>(scratch + addedAt_);
    unit_->multiply(tiles, {shares, shareStride_, rows, used},
                    {scratch + valuesAt_, keys, p_.depth}, p_.depth,
                    isFirst ? sums : added, sumStride_ / 4);
    if (isFirst)
      return;
    for (int64_t i = 0; i < rows; ++i) {
      float *sum = sums + i * (sumStride_ / 4);
      const float *more = added + i * (sumStride_ / 4);
      for (int64_t j = 0; j < p_.depth; ++j)
        sum[j] = sum[j] * scales[static_cast<size_t>(i)] + more[j];
    }
  }

  /// Turns `count` products of a query and keys, of `used` in the block, into
  /// their shares of the sum: e^(score - greatest). Returns what the sums so
  /// far are to be multiplied by.
  float addScores(float *line, int64_t count, const float *mask, Row &row,
                  uint8_t *shares, int64_t used, int64_t elements) const {
    if (scalesAtOnce())
      scaleAndMask(line, p_.scale, mask, count);
    std::fill(line + count, line + used, negativeInfinity);
    const float greatest = std::max(row.greatest, greatestOf(line, used)),
                scale = scalesAtOnce() ? 1.0F : p_.scale;
    // In a row of -inf, all shares are 0.
    const float finite = greatest == negativeInfinity ? 0.0F : greatest;
    const float before = row.greatest == finite
                             ? 1.0F
                             : std::exp((row.greatest - finite) * scale);
    const float sum =
        unit_->exponentials(line, used, finite, scale, shares, elements);
    row = {greatest, row.sum * before + sum};
    return before;
  }

  void store(void *const *buffers, const Task &task, uint8_t *scratch) const {
    const uint32_t output = 3 + p_.hasMask + p_.hasStats;
    const HeadRows to =
        rowsOf(buffers[output], p_.output, task, task.firstQuery);
    const auto *rows = reinterpret_cast<const Row *>(scratch + rowsAt_);
    float *stats = p_.hasStats
                       ? static_cast<float *>(buffers[output - 1]) +
                             (task.batch * p_.heads + task.head) * p_.queries +
                             task.firstQuery
                       : nullptr;
    auto *target = static_cast<uint8_t *>(const_cast<void *>(to.data));
    for (int64_t i = 0; i < task.endQuery - task.firstQuery; ++i) {
      auto *sums =
          reinterpret_cast<float *>(scratch + sumsAt_ + i * sumStride_);
      const float sum = rows[i].sum;
      if (sum == 0) // all scores are -inf
        std::fill(sums, sums + p_.depth, 0.0F);
      unit_->storeLine(sums, sum == 0 ? 1.0F : 1.0F / sum, p_.depth,
                       target + i * width_ * to.stride);
      const float scale = scalesAtOnce() ? 1.0F : p_.scale;
      if (stats)
        stats[i] = sum == 0 ? negativeInfinity
                            : rows[i].greatest * scale + std::log(sum);
    }
  }

  const std::unique_ptr<const AttentionUnit> unit_;
  const int64_t width_;   // of an element in memory, in bytes
  const int64_t stretch_; // of the keys
  const int64_t blockRows_, blocks_, blocksOfTask_;
  // In bytes.
  int64_t queryStride_, scoreStride_, shareStride_, sumStride_;
  int64_t keysAt_, valuesAt_, bufferAt_, queryAt_, scoresAt_, sharesAt_,
      addedAt_, sumsAt_, rowsAt_;
};

} // namespace

LibraryCallResult sinter::cpu::prepareAttention(const sinter_command &command) {
  const sinter_attention &params = *command.attention.params;
  constexpr int64_t mostDepth = 128;
  if (params.depth > mostDepth)
    return Status(SINTER_UNSUPPORTED,
                  "attention on the CPU has a depth of at most 128, not " +
                      std::to_string(params.depth));
  if (params.direction == SINTER_ATTENTION_BACKWARD)
    return prepareAttentionGrad(command);
  std::unique_ptr<const AttentionUnit> unit = attentionUnit(params.dtype);
  if (!unit)
    return Status(SINTER_UNSUPPORTED, "no attention of the CPU takes dtype " +
                                          std::to_string(params.dtype));
  return std::unique_ptr<LibraryCall>(
      std::make_unique<AttentionCall>(command, std::move(unit)));
}
