//===- Shuffle.h - the order of rows by seed and epoch ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// There is no shuffled index list and no generator state to save: any row of
// any epoch is computed by itself, so resuming needs nothing but the step
// number.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_SHUFFLE_H
#define SINTER_RUNTIME_DATA_SHUFFLE_H

#include <cstdint>

namespace sinter::rt {

/// A pseudo-random permutation of [0, size): a Feistel network over the next
/// power of two, walked along its cycle until the value is below `size` (fewer
/// than two rounds on average). Luby and Rackoff, 1988; Black and Rogaway,
/// 2002.
class Permutation {
public:
  static constexpr int numRounds = 8;

  /// `size` >= 0.
  Permutation(uint64_t seed, int64_t epoch, int64_t size);
  /// `index` in [0, size); the result too.
  int64_t operator()(int64_t index) const;

private:
  uint64_t size_;
  uint32_t leftBits_, rightBits_;
  uint64_t keys_[numRounds];
};

/// Which rows make up which batch, over all epochs.
struct RowOrder {
  int64_t rows = 0;
  int64_t batch = 1;
  uint64_t seed = 0;
  bool shuffle = true;
  /// Each batch is split into `parts` equal runs of rows, of which this takes
  /// number `part`, divided into `microBatches` equal runs.
  int64_t part = 0, parts = 1, microBatches = 1;

  /// The rows that are left over make a last batch, which repeats a row at the
  /// positions beyond them.
  bool padsLast = false;

  int64_t partRows() const { return batch / (parts * microBatches); }

  /// Only whole batches, unless the last one is padded: the rows that are left
  /// over are not used in the epoch.
  int64_t batchesPerEpoch() const {
    return rows / batch + (padsLast && rows % batch != 0 ? 1 : 0);
  }
  /// The partRows() rows of micro-batch `number`, counted over all steps from
  /// the first of epoch 0.
  void rowsOf(int64_t number, int64_t *out) const;
  /// How many of these rows count; they come first.
  int64_t validRows(int64_t number) const;

private:
  /// Position of micro-batch `number`'s first row in the epoch.
  int64_t firstOf(int64_t number) const;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_SHUFFLE_H
