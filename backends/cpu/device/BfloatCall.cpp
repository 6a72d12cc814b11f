//===- BfloatCall.cpp - calls that multiply bf16 in panels ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatCall.h"
#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/Blocks.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

/// The longest chain of additions: rounding errors grow with its length.
static constexpr int64_t chainDepth = 4096;

BfloatCall::BfloatCall(const sinter_command &command, const BlockStore &store,
                       Sizes sizes, Depth depth)
    : PanelCall(command,
                [&] {
                  sizes.depth =
                      depth.depth * static_cast<int64_t>(depth.parts.size());
                  sizes.panelBytes = panelBytes(sizes.depth);
                  return sizes;
                }()),
      store_(store), depth_(std::move(depth)), step_(depthStep(depth_.depth)) {
  const int64_t piece = std::min(depth_.depth, chainDepth / step_ * step_);
  const size_t group = static_cast<size_t>(
                   std::max<int64_t>(1, chainDepth / depth_.depth)),
               parts = depth_.parts.size();
  for (size_t part = 0; part < parts; part += group)
    for (int64_t begin = 0; begin < depth_.depth; begin += piece)
      chains_.push_back({part, std::min(group, parts - part), begin,
                         std::min(piece, depth_.depth - begin)});
}

void BfloatCall::sumBlock(TileRegisters &tiles, const BfloatRows &rows,
                          const uint8_t *panel, float *sums, PanelFetch &fetch,
                          StepWork &work) const {
  if (chains_.size() == 1)
    return multiplyBfloats(bfloatUnit(), tiles, rows, panel, sums, panelColumns,
                           fetch, work);
  alignas(64) float partial[blockRows * panelColumns];
  for (const Chain &chain : chains_) {
    BfloatRows stretch = rows;
    stretch.data += chain.begin;
    stretch.parts = rows.parts.subspan(chain.firstPart, chain.parts);
    stretch.depth = chain.depth;
    const int64_t above =
        static_cast<int64_t>(chain.firstPart) * depth_.depth + chain.begin;
    const bool isFirst = &chain == &chains_.front();
    multiplyBfloats(bfloatUnit(), tiles, stretch, panel + panelBytes(above),
                    isFirst ? sums : partial, panelColumns, fetch, work);
    if (!isFirst)
      addSums(sums, partial, rows.count * panelColumns);
  }
}

namespace {

/// A block whose sums are complete.
struct SummedBlock {
  const BlockStore *store;
  void *const *buffers;
  uint32_t result;
  BlockPlace place;
  alignas(64) float sums[blockRows * panelColumns];

  static void storeRows(const void *block, RowRange range) {
    auto *own = static_cast<SummedBlock *>(const_cast<void *>(block));
    own->store->store(own->sums, own->place, range, own->buffers, own->result);
  }
};

} // namespace

/// While tiles multiply a block, the other units of the core store the one
/// before it.
void BfloatCall::compute(TileRegisters &tiles, const Task &task,
                         void *const *buffers) const {
  const int64_t depth =
                    depth_.depth * static_cast<int64_t>(depth_.parts.size()),
                steps = depth / step_;
  PanelFetch fetch(task.next, (task.end - task.begin) * task.panels * steps);
  BfloatRows rows{nullptr, 0, 0, depth_.parts, depth_.depth, step_};
  SummedBlock blocks[2];
  for (SummedBlock &block : blocks) {
    block.store = &store_;
    block.buffers = buffers;
    block.result = command_.numSlices - 1;
  }
  const bool overlaps = bfloatUnit() == Bf16Unit::Tiles;
  constexpr int64_t rowsOfPiece = 2;
  StepWork work; // the block before
  size_t turn = 0;
  for (int64_t number = task.begin; number < task.end; ++number)
    for (int64_t panel = 0; panel < task.panels; ++panel) {
      SummedBlock &block = blocks[turn];
      const int64_t column = panel * panelColumns;
      block.place.firstColumn = task.firstColumn + column;
      block.place.columns = std::min(panelColumns, task.columns - column);
      rows.data = reinterpret_cast<const Bfloat *>(task.a);
      setBlock(number, task.batch, rows, block.place);
      work.spread(steps, rowsOfPiece);
      sumBlock(tiles, rows, task.panel + panel * panelBytes(depth), block.sums,
               fetch, work);
      work.finish();
      work = StepWork(SummedBlock::storeRows, &block, block.place.count);
      if (!overlaps)
        work.finish();
      turn ^= 1;
    }
  work.finish();
}
