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
/// The fewest tasks of a product that has so many blocks: work for threads.
constexpr int64_t minTasks = 16;
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
}

void BfloatCall::packConstantB(OneDnnContext &context, const Bfloat *b) {
  constantB_ = context.packed.make(
      static_cast<uint64_t>(bytesOfB()),
      [&](uint8_t *panels) { packPanels(b, 0, panels_, panels); });
}

int64_t BfloatCall::bytesOfB() const {
  return panels_ * panelBytes(panelDepth());
}

/// Of one product: B, if it is not constant, and then the copy of A.
uint64_t BfloatCall::packedBytes() const {
  return static_cast<uint64_t>(
      (constantB_ ? 0 : bytesOfB()) +
      (sizes_.copyUnits ? alignUp(sizes_.copyBytes) : 0));
}

uint64_t BfloatCall::sharedBytes() const {
  return isBatched() ? 0 : packedBytes();
}

uint64_t BfloatCall::perWorkerBytes() const {
  return isBatched() ? packedBytes() : 0;
}

Status BfloatCall::bind(const Scratch &scratch, int) {
  scratch_ = scratch;
  return {};
}

Bfloat *BfloatCall::copyOfA(uint8_t *scratch) const {
  return reinterpret_cast<Bfloat *>(scratch + (constantB_ ? 0 : bytesOfB()));
}

void BfloatCall::packPanels(const Bfloat *b, int64_t begin, int64_t end,
                            uint8_t *panels) const {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first = panel * panelColumns;
    pack(b, first, std::min(panelColumns, sizes_.columns - first),
         panels + panel * panelBytes(panelDepth()));
  }
}

/// `scratch` has what is packed.
BfloatCall::Operands BfloatCall::operandsOf(void *const *buffers, int64_t batch,
                                            uint8_t *scratch) const {
  return {batch, sizes_.copyUnits ? copyOfA(scratch) : operandA(buffers, batch),
          constantB_ ? constantB_.get() : scratch};
}

/// One chunk of A times one panel.
void BfloatCall::runTask(BfloatBlocks &blocks, void *const *buffers,
                         const Operands &operands, int64_t task,
                         bool isLast) const {
  const int64_t bytes = panelBytes(panelDepth()), panel = task % panels_,
                begin = task / panels_ * chunk_,
                end = std::min(sizes_.blocks, begin + chunk_);
  const uint8_t *current = operands.panels + panel * bytes;
  // The panel of the next task is fetched in equal parts.
  const uint8_t *next = operands.panels + (panel + 1) % panels_ * bytes;
  const int64_t part = isLast ? 0 : bytes / (end - begin) / 64 * 64;
  alignas(64) float sums[blockRows * panelColumns];
  BfloatRows rows{
      operands.a, 0, 0, sizes_.parts, sizes_.depth, depthStep(sizes_.depth)};
  BlockPlace place;
  place.firstColumn = panel * panelColumns;
  place.columns = std::min(panelColumns, sizes_.columns - place.firstColumn);
  for (int64_t block = begin; block < end; ++block, next += part) {
    rows.data = operands.a;
    setBlock(block, operands.batch, rows, place);
    blocks.multiply(rows, current, sums, next, part);
    store_.store(sums, place, buffers, command_.numSlices - 1);
  }
}

/// A whole product by one worker.
void BfloatCall::runAlone(BfloatBlocks &blocks, void *const *buffers,
                          int64_t batch, uint8_t *scratch) const {
  if (!constantB_)
    packPanels(operandB(buffers, batch), 0, panels_, scratch);
  for (int64_t unit = 0; unit < sizes_.copyUnits; ++unit)
    copy(operandA(buffers, batch), unit, copyOfA(scratch));
  const Operands operands = operandsOf(buffers, batch, scratch);
  for (int64_t task = 0; task < tasks(); ++task)
    runTask(blocks, buffers, operands, task, task + 1 == tasks());
}

/// One product by all workers.
void BfloatCall::runTogether(void *const *buffers, const CallContext &context,
                             int64_t batch) const {
  auto parallelFor = [&](int64_t count, int64_t grain, auto &&function) {
    context.pool->parallelFor(
        context.threads, count, grain,
        [&](int, int64_t begin, int64_t end) { function(begin, end); });
  };
  if (!constantB_)
    parallelFor(panels_, 1, [&](int64_t begin, int64_t end) {
      packPanels(operandB(buffers, batch), begin, end, scratch_.shared);
    });
  if (sizes_.copyUnits)
    parallelFor(sizes_.copyUnits, ceilDiv(sizes_.copyUnits, minTasks),
                [&](int64_t begin, int64_t end) {
                  for (int64_t unit = begin; unit < end; ++unit)
                    copy(operandA(buffers, batch), unit,
                         copyOfA(scratch_.shared));
                });
  const Operands operands = operandsOf(buffers, batch, scratch_.shared);
  parallelFor(
      tasks(),
      std::max<int64_t>(1, static_cast<int64_t>(grainFlops / flopsOfTask())),
      [&](int64_t begin, int64_t end) {
        BfloatBlocks blocks(bfloatUnit());
        for (int64_t task = begin; task < end; ++task)
          runTask(blocks, buffers, operands, task, task + 1 == end);
      });
}

double BfloatCall::flopsOfTask() const {
  return 2.0 * static_cast<double>(chunk_ * blockRows * panelColumns) *
         static_cast<double>(panelDepth());
}

Status BfloatCall::run(void *const *buffers, const CallContext &context) {
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
        uint8_t *scratch = scratch_.perWorker + static_cast<uint64_t>(worker) *
                                                    scratch_.perWorkerStride;
        BfloatBlocks blocks(bfloatUnit());
        for (int64_t batch = begin; batch < end; ++batch)
          runAlone(blocks, buffers, batch, scratch);
      });
  return {};
}
