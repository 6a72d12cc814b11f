//===- PanelCall.cpp - products of blocks and panels ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/PanelCall.h"
#include "backends/cpu/device/Blocks.h"
#include "runtime/base/CpuId.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The bytes of a chunk of A: half of a core's cache of level 2.
int64_t chunkBytes() {
  constexpr int64_t least = 512 * 1024, most = 2048 * 1024;
  static const int64_t bytes =
      std::clamp(static_cast<int64_t>(hostL2Bytes() / 2), least, most);
  return bytes;
}
/// The fewest tasks of a product that has so many blocks: work for threads.
constexpr int64_t minTasks = 16;
/// The fewest blocks for which a panel is packed.
constexpr int64_t minBlocksOfPanel = 8;
/// The fewest operations that are worth another thread.
constexpr double grainFlops = 16e6;

} // namespace

/// The bytes of a panel that are not more than what a block reads and writes
/// otherwise: its rows of A, and the lines of its result.
int64_t PanelCall::largestPanel(const Sizes &sizes) {
  constexpr int64_t resultBytes = 128; // of a row in a panel, read and written
  return blockRows * (sizes.rowBytes + resultBytes);
}

PanelCall::PanelCall(const sinter_command &command, const Sizes &sizes)
    : command_(command), sizes_(sizes),
      panels_(ceilDiv(sizes.columns, panelColumns)) {
  const int64_t fitting = chunkBytes() / (sizes.rowBytes * blockRows),
                wanted = ceilDiv(sizes.blocks, ceilDiv(minTasks, panels_));
  chunk_ = std::clamp<int64_t>(std::min(fitting, wanted), 1, sizes.blocks);
  chunks_ = ceilDiv(sizes.blocks, chunk_);
}

void PanelCall::packConstantB(OneDnnContext &context, const uint8_t *b) {
  constantB_ = context.packed.make(static_cast<uint64_t>(bytesOfB()),
                                   [&](uint8_t *panels) {
                                     packPanels(b, 0, panels_, panels);
                                     finishPanels(panels);
                                   });
  if (bytesOfB() > chunkBytes() || sizes_.panelBytes > largestPanel(sizes_))
    return;
  chunk_ = 1;
  chunks_ = sizes_.blocks;
  group_ = ceilDiv(panels_, ceilDiv(minTasks, chunks_));
}

/// A panel that meets many blocks is worth packing for them alone: it stays in
/// the caches.
PanelCall::Panels PanelCall::panelsOf() const {
  if (constantB_)
    return Panels::Constant;
  if (sizes_.sharesB && sizes_.batches > 1)
    return Panels::Run;
  if (chunks_ == 1 || chunk_ >= minBlocksOfPanel)
    return Panels::Task;
  return Panels::Product;
}

int64_t PanelCall::sharedBytesOfB() const {
  const Panels panels = panelsOf();
  return panels == Panels::Run || (panels == Panels::Product && !isBatched())
             ? bytesOfB()
             : 0;
}

int64_t PanelCall::workerBytesOfB() const {
  const Panels panels = panelsOf();
  return panels == Panels::Task                     ? sizes_.panelBytes
         : panels == Panels::Product && isBatched() ? bytesOfB()
                                                    : 0;
}

/// A copy of A follows B.
uint64_t PanelCall::sharedBytes() const {
  return static_cast<uint64_t>(sharedBytesOfB() +
                               (isBatched() ? 0 : alignUp(sizes_.copyBytes)));
}

uint64_t PanelCall::perWorkerBytes() const {
  return static_cast<uint64_t>(workerBytesOfB() +
                               (isBatched() ? alignUp(sizes_.copyBytes) : 0));
}

Status PanelCall::bind(const Scratch &scratch, int) {
  scratch_ = scratch;
  return {};
}

void PanelCall::finishPanels(uint8_t *) {}

Pieces PanelCall::columnsOf(const uint8_t *, int64_t, int64_t) const {
  return {};
}

uint8_t *PanelCall::scratchOf(int worker) const {
  return scratch_.perWorker +
         static_cast<uint64_t>(worker) * scratch_.perWorkerStride;
}

void PanelCall::packPanelOf(const uint8_t *b, int64_t number,
                            uint8_t *panel) const {
  const int64_t first = number * panelColumns;
  pack(b, first, std::min(panelColumns, sizes_.columns - first), panel);
}

void PanelCall::packPanels(const uint8_t *b, int64_t begin, int64_t end,
                           uint8_t *panels) const {
  for (int64_t panel = begin; panel < end; ++panel)
    packPanelOf(b, panel, panels + panel * sizes_.panelBytes);
}

void PanelCall::packTogether(void *const *buffers, const CallContext &context,
                             int64_t batch) const {
  context.parallelFor(panels_, 1, [&](int, int64_t begin, int64_t end) {
    packPanels(operandB(buffers, batch), begin, end, scratch_.shared);
  });
}

/// One chunk of A times one panel. `own` is the worker's scratch.
void PanelCall::runTask(TileRegisters &tiles, void *const *buffers,
                        const Operands &operands, int64_t number, bool isLast,
                        uint8_t *own) const {
  const int64_t panel = number % groups() * group_,
                panels = std::min(group_, panels_ - panel),
                first = panel * panelColumns,
                begin = number / groups() * chunk_;
  Task task{operands.batch,
            operands.a,
            own,
            panels,
            first,
            std::min(panels * panelColumns, sizes_.columns - first),
            begin,
            std::min(sizes_.blocks, begin + chunk_),
            {}};
  // Later chunks find a small B in the cache of level 2.
  const bool fetches = !isLast && (begin == 0 || bytesOfB() > chunkBytes());
  // Of several panels, each is fetched while the one before it is read.
  const int64_t next = (panel + 1) % panels_;
  if (!operands.panels) {
    pack(operands.b, first, task.columns, own);
    const int64_t column = next * panelColumns;
    if (fetches)
      task.next = columnsOf(operands.b, column,
                            std::min(panelColumns, sizes_.columns - column));
  } else {
    task.panel = operands.panels + panel * sizes_.panelBytes;
    if (fetches)
      task.next = {operands.panels + next * sizes_.panelBytes,
                   std::min(panels, panels_ - next) * sizes_.panelBytes, 1, 0};
  }
  compute(tiles, task, buffers);
}

/// A whole product by one worker.
void PanelCall::runAlone(TileRegisters &tiles, void *const *buffers,
                         int64_t batch, uint8_t *own) const {
  Operands operands{batch, operandA(buffers, batch), operandB(buffers, batch),
                    constantB_.get()};
  if (panelsOf() == Panels::Run)
    operands.panels = scratch_.shared;
  if (panelsOf() == Panels::Product) {
    packPanels(operands.b, 0, panels_, own);
    operands.panels = own;
  }
  if (sizes_.copyUnits) {
    uint8_t *copied = own + workerBytesOfB();
    for (int64_t unit = 0; unit < sizes_.copyUnits; ++unit)
      copy(operands.a, unit, copied);
    operands.a = copied;
  }
  for (int64_t task = 0; task < tasks(); ++task)
    runTask(tiles, buffers, operands, task, task + 1 == tasks(), own);
}

/// One product by all workers.
void PanelCall::runTogether(void *const *buffers, const CallContext &context,
                            int64_t batch) const {
  Operands operands{batch, operandA(buffers, batch), operandB(buffers, batch),
                    constantB_.get()};
  if (panelsOf() == Panels::Product)
    packTogether(buffers, context, batch);
  if (panelsOf() == Panels::Product || panelsOf() == Panels::Run)
    operands.panels = scratch_.shared;
  if (sizes_.copyUnits) {
    uint8_t *copied = scratch_.shared + sharedBytesOfB();
    context.parallelFor(sizes_.copyUnits, ceilDiv(sizes_.copyUnits, minTasks),
                        [&](int, int64_t begin, int64_t end) {
                          for (int64_t unit = begin; unit < end; ++unit)
                            copy(operands.a, unit, copied);
                        });
    operands.a = copied;
  }
  context.parallelFor(
      tasks(),
      std::max<int64_t>(1, static_cast<int64_t>(grainFlops / flopsOfTask())),
      [&](int worker, int64_t begin, int64_t end) {
        TileRegisters tiles;
        for (int64_t task = begin; task < end; ++task)
          runTask(tiles, buffers, operands, task, task + 1 == end,
                  scratchOf(worker));
      });
}

double PanelCall::flopsOfTask() const {
  return 2.0 * static_cast<double>(chunk_ * blockRows * group_ * panelColumns) *
         static_cast<double>(sizes_.depth);
}

Status PanelCall::run(void *const *buffers, const CallContext &context) {
  if (panelsOf() == Panels::Run)
    packTogether(buffers, context, 0);
  if (!isBatched()) {
    for (int64_t batch = 0; batch < sizes_.batches; ++batch)
      runTogether(buffers, context, batch);
    return {};
  }
  const double flops = flopsOfTask() * static_cast<double>(tasks());
  context.parallelFor(
      sizes_.batches,
      std::max<int64_t>(1, static_cast<int64_t>(grainFlops / flops)),
      [&](int worker, int64_t begin, int64_t end) {
        TileRegisters tiles;
        for (int64_t batch = begin; batch < end; ++batch)
          runAlone(tiles, buffers, batch, scratchOf(worker));
      });
  return {};
}
