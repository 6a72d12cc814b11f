//===- BlockStore.h - finish and store blocks of a product ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What follows the sums of a block of a product of bf16: the post-ops in
// float32, one rounding, and the store.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BLOCKSTORE_H
#define SINTER_BACKENDS_CPU_DEVICE_BLOCKSTORE_H

#include "backends/cpu/device/BfloatPanels.h"
#include "backends/cpu/device/StepWork.h"
#include "sinter/abi.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter::cpu {

/// The places of the rows of a block in the result and in operands of its
/// shape.
struct BlockPlace {
  /// Of a row that is not part of the result.
  static constexpr int64_t dropped = -1;

  std::array<int64_t, blockRows> rows;   // elements up to its first column
  int64_t count = 0;                     // of rows
  int64_t columns = 0;                   // of one or more panels
  int64_t firstRow = 0, firstColumn = 0; // of the block, for a bias
};

/// Whether blocks change what the post-ops of other blocks read: an operand
/// shares memory with the result of `command`, and is not the value that the
/// result replaces.
bool readsOther(const sinter_command &command,
                std::span<const sinter_post_op> postOps);

/// Rows of a block and their operands, for one pass.
struct RowsOfBlock;

/// to[i] += from[i]
void addSums(float *to, const float *from, int64_t count);

class BlockStore {
public:
  /// `outDtype` is bf16 or fp32; operands of post-ops have it, too. A bias has
  /// one element for each row with `biasAlongRows`, else for each column.
  BlockStore(std::span<const sinter_post_op> postOps, uint32_t outDtype,
             bool biasAlongRows);

  /// Some rows of a panel of the block: its columns from `column` on, at most
  /// panelColumns. `sums` has `place.count` rows of panelColumns numbers, is
  /// aligned to 64 bytes, and is changed. The CPU has a unit for bf16.
  /// `buffers` are those of the command; the result is buffer `result`.
  void store(float *sums, const BlockPlace &place, int64_t column,
             RowRange range, void *const *buffers, uint32_t result) const;

  /// Fetches into the cache what post-ops add to a panel of the block.
  void fetchAddends(const BlockPlace &place, int64_t column,
                    void *const *buffers) const;

  /// One pass over rows in registers; null: absent. The post-ops are applied in
  /// this order.
  struct Pass {
    const sinter_post_op *bias, *function, *add, *relu;
    /// Follows in a pass of its own.
    const sinter_post_op *other;
    void (*run)(const RowsOfBlock &rows);
  };

private:
  bool isBfloat_, biasAlongRows_;
  std::vector<Pass> passes_; // the last one stores
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BLOCKSTORE_H
