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

namespace {

/// The bytes of a chunk of A: half of a small cache of level 2.
constexpr int64_t chunkBytes = 512 * 1024;
/// The longest chain of additions: rounding errors grow with its length.
constexpr int64_t chainDepth = 4096;
/// The fewest tasks of a product that has so many blocks: work for threads.
constexpr int64_t minTasks = 16;
/// The fewest blocks for which a panel is packed.
constexpr int64_t minBlocksOfPanel = 8;
/// The fewest operations that are worth another thread.
constexpr double grainFlops = 16e6;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

BfloatCall::BfloatCall(const sinter_command &command, const BlockStore &store,
                       Sizes sizes)
    : command_(command), store_(store), sizes_(std::move(sizes)),
      panels_(ceilDiv(sizes_.columns, panelColumns)) {
  const int64_t fitting = chunkBytes / (sizes_.rowBytes * blockRows),
                wanted = ceilDiv(sizes_.blocks, ceilDiv(minTasks, panels_));
  chunk_ = std::clamp<int64_t>(std::min(fitting, wanted), 1, sizes_.blocks);
  chunks_ = ceilDiv(sizes_.blocks, chunk_);
  const int64_t depth = sizes_.depth, step = depthStep(depth),
                piece = std::min(depth, chainDepth / step * step);
  const size_t group = static_cast<size_t>(
                   std::max<int64_t>(1, chainDepth / depth)),
               parts = sizes_.parts.size();
  for (size_t part = 0; part < parts; part += group)
    for (int64_t begin = 0; begin < depth; begin += piece)
      chains_.push_back({part, std::min(group, parts - part), begin,
                         std::min(piece, depth - begin)});
}

void BfloatCall::packConstantB(OneDnnContext &context, const Bfloat *b) {
  constantB_ = context.packed.make(
      static_cast<uint64_t>(bytesOfB()),
      [&](uint8_t *panels) { packPanels(b, 0, panels_, panels); });
}

int64_t BfloatCall::bytesOfB() const {
  return panels_ * panelBytes(panelDepth());
}

/// A panel that meets many blocks is worth packing for them alone: it stays in
/// the caches.
BfloatCall::Panels BfloatCall::panelsOf() const {
  if (constantB_)
    return Panels::Constant;
  if (sizes_.sharesB && sizes_.batches > 1)
    return Panels::Run;
  if (chunks_ == 1 || chunk_ >= minBlocksOfPanel)
    return Panels::Task;
  return Panels::Product;
}

int64_t BfloatCall::sharedBytesOfB() const {
  const Panels panels = panelsOf();
  return panels == Panels::Run || (panels == Panels::Product && !isBatched())
             ? bytesOfB()
             : 0;
}

int64_t BfloatCall::workerBytesOfB() const {
  const Panels panels = panelsOf();
  return panels == Panels::Task                     ? panelBytes(panelDepth())
         : panels == Panels::Product && isBatched() ? bytesOfB()
                                                    : 0;
}

/// A copy of A follows B.
uint64_t BfloatCall::sharedBytes() const {
  return static_cast<uint64_t>(sharedBytesOfB() +
                               (isBatched() ? 0 : alignUp(sizes_.copyBytes)));
}

uint64_t BfloatCall::perWorkerBytes() const {
  return static_cast<uint64_t>(workerBytesOfB() +
                               (isBatched() ? alignUp(sizes_.copyBytes) : 0));
}

Status BfloatCall::bind(const Scratch &scratch, int) {
  scratch_ = scratch;
  return {};
}

uint8_t *BfloatCall::scratchOf(int worker) const {
  return scratch_.perWorker +
         static_cast<uint64_t>(worker) * scratch_.perWorkerStride;
}

void BfloatCall::packPanels(const Bfloat *b, int64_t begin, int64_t end,
                            uint8_t *panels) const {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first = panel * panelColumns;
    pack(b, first, std::min(panelColumns, sizes_.columns - first),
         panels + panel * panelBytes(panelDepth()));
  }
}

void BfloatCall::packTogether(void *const *buffers, const CallContext &context,
                              int64_t batch) const {
  context.pool->parallelFor(
      context.threads, panels_, 1, [&](int, int64_t begin, int64_t end) {
        packPanels(operandB(buffers, batch), begin, end, scratch_.shared);
      });
}

int64_t BfloatCall::panelSteps() const {
  return panelDepth() / depthStep(sizes_.depth);
}

void BfloatCall::sumBlock(BfloatBlocks &blocks, const BfloatRows &rows,
                          const uint8_t *panel, float *sums,
                          BfloatFetch &fetch) const {
  alignas(64) float partial[blockRows * panelColumns];
  for (const Chain &chain : chains_) {
    BfloatRows stretch = rows;
    stretch.data += chain.begin;
    stretch.parts = rows.parts.subspan(chain.firstPart, chain.parts);
    stretch.depth = chain.depth;
    const int64_t above =
        static_cast<int64_t>(chain.firstPart) * sizes_.depth + chain.begin;
    const bool isFirst = &chain == &chains_.front();
    blocks.multiply(stretch, panel + panelBytes(above),
                    isFirst ? sums : partial, fetch);
    if (!isFirst)
      addSums(sums, partial, rows.count * panelColumns);
  }
}

/// One chunk of A times one panel. `own` is the worker's scratch.
void BfloatCall::runTask(BfloatBlocks &blocks, void *const *buffers,
                         const Operands &operands, int64_t task, bool isLast,
                         uint8_t *own) const {
  const int64_t bytes = panelBytes(panelDepth()), panel = task % panels_,
                begin = task / panels_ * chunk_,
                end = std::min(sizes_.blocks, begin + chunk_);
  BlockPlace place;
  place.firstColumn = panel * panelColumns;
  place.columns = std::min(panelColumns, sizes_.columns - place.firstColumn);
  const uint8_t *current = own;
  BfloatFetch fetch{own, own, 0};
  if (operands.panels) {
    current = operands.panels + panel * bytes;
    const uint8_t *next = operands.panels + (panel + 1) % panels_ * bytes;
    if (!isLast)
      fetch = {next, next + bytes,
               ceilDiv(bytes / 64, (end - begin) * panelSteps())};
  } else {
    pack(operands.b, place.firstColumn, place.columns, own);
  }
  alignas(64) float sums[blockRows * panelColumns];
  BfloatRows rows{
      operands.a, 0, 0, sizes_.parts, sizes_.depth, depthStep(sizes_.depth)};
  for (int64_t block = begin; block < end; ++block) {
    rows.data = operands.a;
    setBlock(block, operands.batch, rows, place);
    sumBlock(blocks, rows, current, sums, fetch);
    store_.store(sums, place, buffers, command_.numSlices - 1);
  }
}

/// A whole product by one worker.
void BfloatCall::runAlone(BfloatBlocks &blocks, void *const *buffers,
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
    auto *copied = reinterpret_cast<Bfloat *>(own + workerBytesOfB());
    for (int64_t unit = 0; unit < sizes_.copyUnits; ++unit)
      copy(operands.a, unit, copied);
    operands.a = copied;
  }
  for (int64_t task = 0; task < tasks(); ++task)
    runTask(blocks, buffers, operands, task, task + 1 == tasks(), own);
}

/// One product by all workers.
void BfloatCall::runTogether(void *const *buffers, const CallContext &context,
                             int64_t batch) const {
  Operands operands{batch, operandA(buffers, batch), operandB(buffers, batch),
                    constantB_.get()};
  if (panelsOf() == Panels::Product)
    packTogether(buffers, context, batch);
  if (panelsOf() == Panels::Product || panelsOf() == Panels::Run)
    operands.panels = scratch_.shared;
  if (sizes_.copyUnits) {
    auto *copied =
        reinterpret_cast<Bfloat *>(scratch_.shared + sharedBytesOfB());
    context.pool->parallelFor(context.threads, sizes_.copyUnits,
                              ceilDiv(sizes_.copyUnits, minTasks),
                              [&](int, int64_t begin, int64_t end) {
                                for (int64_t unit = begin; unit < end; ++unit)
                                  copy(operands.a, unit, copied);
                              });
    operands.a = copied;
  }
  context.pool->parallelFor(
      context.threads, tasks(),
      std::max<int64_t>(1, static_cast<int64_t>(grainFlops / flopsOfTask())),
      [&](int worker, int64_t begin, int64_t end) {
        BfloatBlocks blocks(bfloatUnit());
        for (int64_t task = begin; task < end; ++task)
          runTask(blocks, buffers, operands, task, task + 1 == end,
                  scratchOf(worker));
      });
}

double BfloatCall::flopsOfTask() const {
  return 2.0 * static_cast<double>(chunk_ * blockRows * panelColumns) *
         static_cast<double>(panelDepth());
}

Status BfloatCall::run(void *const *buffers, const CallContext &context) {
  if (panelsOf() == Panels::Run)
    packTogether(buffers, context, 0);
  if (!isBatched()) {
    for (int64_t batch = 0; batch < sizes_.batches; ++batch)
      runTogether(buffers, context, batch);
    return {};
  }
  const double flops = flopsOfTask() * static_cast<double>(tasks());
  context.pool->parallelFor(
      context.threads, sizes_.batches,
      std::max<int64_t>(1, static_cast<int64_t>(grainFlops / flops)),
      [&](int worker, int64_t begin, int64_t end) {
        BfloatBlocks blocks(bfloatUnit());
        for (int64_t batch = begin; batch < end; ++batch)
          runAlone(blocks, buffers, batch, scratchOf(worker));
      });
  return {};
}
