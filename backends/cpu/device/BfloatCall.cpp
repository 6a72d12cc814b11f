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
/// Results from which on the CPU may not find an addend in a cache of its own.
/// It does not look ahead over the products of a panel.
static constexpr uint64_t leastFetchedBytes = 2 << 20;

BfloatCall::BfloatCall(const sinter_command &command, const BlockStore &store,
                       Sizes sizes, Depth depth)
    : PanelCall(command,
                [&] {
                  sizes.depth =
                      depth.depth * static_cast<int64_t>(depth.parts.size());
                  sizes.panelBytes = panelBytes(sizes.depth);
                  return sizes;
                }()),
      store_(store), depth_(std::move(depth)), step_(depthStep(depth_.depth)),
      fetchesAddends_(bfloatUnit() == Bf16Unit::Dot &&
                      command.slices[command.numSlices - 1].sizeBytes >=
                          leastFetchedBytes),
      partsOfChain_(
          static_cast<size_t>(std::max<int64_t>(1, chainDepth / depth_.depth))),
      depthOfChain_(std::min(depth_.depth, chainDepth / step_ * step_)) {}

/// Parts in chains, or each part in pieces that are chains.
void BfloatCall::sumPanel(TileRegisters &tiles, const BfloatRows &rows,
                          const uint8_t *panel, int64_t columns, float *sums,
                          PanelFetch &fetch, StepWork &work) const {
  const size_t parts = rows.parts.size();
  if (parts <= partsOfChain_ && depth_.depth <= depthOfChain_)
    return multiplyBfloats(bfloatUnit(), tiles, rows, panel, columns, sums,
                           panelColumns, fetch, work);
  alignas(64) float partial[blockRows * panelColumns];
  bool isFirst = true;
  for (size_t part = 0; part < parts; part += partsOfChain_)
    for (int64_t begin = 0; begin < depth_.depth; begin += depthOfChain_) {
      BfloatRows chain = rows;
      chain.data += begin;
      chain.parts =
          rows.parts.subspan(part, std::min(partsOfChain_, parts - part));
      chain.depth = std::min(depthOfChain_, depth_.depth - begin);
      multiplyBfloats(bfloatUnit(), tiles, chain, panel + panelBytes(begin),
                      columns, isFirst ? sums : partial, panelColumns, fetch,
                      work);
      if (!isFirst)
        addSums(sums, partial, rows.count * panelColumns);
      isFirst = false;
    }
}

namespace {

/// A block, and its place in the result from the first column of a task on.
struct PlacedBlock {
  BfloatRows rows;
  BlockPlace place;
};

/// A panel of a block whose sums are complete.
struct SummedPanel {
  const BlockStore *store;
  void *const *buffers;
  uint32_t result;
  const BlockPlace *place;
  int64_t column; // of the task
  alignas(64) float sums[blockRows * panelColumns];

  static void storeRows(const void *panel, RowRange range) {
    auto *own = static_cast<SummedPanel *>(const_cast<void *>(panel));
    own->store->store(own->sums, *own->place, own->column, range, own->buffers,
                      own->result);
  }
};

} // namespace

/// While tiles multiply a panel, the other units of the core store the one
/// before it.
void BfloatCall::compute(TileRegisters &tiles, const Task &task,
                         void *const *buffers) const {
  const int64_t depth =
                    depth_.depth * static_cast<int64_t>(depth_.parts.size()),
                steps = depth / step_;
  PanelFetch fetch(task.next, (task.end - task.begin) * task.panels * steps);
  PlacedBlock blocks[2]; // also the one before
  for (PlacedBlock &block : blocks) {
    block.rows.parts = depth_.parts;
    block.rows.depth = depth_.depth;
    block.rows.step = step_;
    block.rows.isOdd = depth_.isOdd;
    block.place.firstColumn = task.firstColumn;
    block.place.columns = task.columns;
  }
  SummedPanel panels[2];
  for (SummedPanel &panel : panels) {
    panel.store = &store_;
    panel.buffers = buffers;
    panel.result = command_.numSlices - 1;
  }
  const bool overlaps = bfloatUnit() == Bf16Unit::Tiles;
  constexpr int64_t rowsOfPiece = 2;
  StepWork work; // the panel before
  size_t turn = 0;
  for (int64_t number = task.begin; number < task.end; ++number) {
    PlacedBlock &block = blocks[static_cast<size_t>(number - task.begin) % 2];
    block.rows.data = reinterpret_cast<const Bfloat *>(task.a);
    setBlock(number, task.batch, block.rows, block.place);
    for (int64_t i = 0; i < task.panels; ++i) {
      SummedPanel &panel = panels[turn];
      panel.place = &block.place;
      panel.column = i * panelColumns;
      if (fetchesAddends_ && i == 0)
        store_.fetchAddends(block.place, 0, buffers);
      if (fetchesAddends_ && i + 1 < task.panels)
        store_.fetchAddends(block.place, panel.column + panelColumns, buffers);
      work.spread(steps, rowsOfPiece);
      sumPanel(tiles, block.rows, task.panel + i * panelBytes(depth),
               std::min(panelColumns, task.columns - panel.column), panel.sums,
               fetch, work);
      work.finish();
      work = StepWork(SummedPanel::storeRows, &panel, block.place.count);
      if (!overlaps)
        work.finish();
      turn ^= 1;
    }
  }
  work.finish();
  fetch.finish(); // some blocks have fewer parts than the panels
}
