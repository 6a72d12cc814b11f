//===- ByteCall.cpp - calls that multiply bytes in panels -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteCall.h"
#include "backends/cpu/device/Blocks.h"

#include <algorithm>
#include <array>

using namespace sinter;
using namespace sinter::cpu;

/// With more corrections for each 16 elements of 8 columns, Sums16 would gain
/// less than it costs: a correction has 72 bytes and takes time at load. On a
/// Zen 5, convolutions of ResNet-50 multiply 160e9 elements a second without
/// corrections, 126e9 with 1.0 and 100e9 with 1.6, and 93e9 by Pairs. Normally
/// distributed weights need 0.05 if their standard deviation is 20, and 0.9 if
/// it is 36; weights spread evenly from -127 to 127 need 1.6.
static constexpr double mostCorrections = 1.2;
/// So many panels tell how many corrections there are.
static constexpr int64_t samples = 4;

ByteUnit ByteCall::unitOfConstant(const uint8_t *b) const {
  if (factors_.unit != ByteUnit::Pairs || !factors_.signs.b)
    return factors_.unit;
  std::vector<uint8_t> panel(static_cast<size_t>(bytePanelBytes(panelDepth())));
  ByteCorrections corrections(factors_.parts, factors_.used);
  for (int64_t number = 0; number < panels();
       number += ceilDiv(panels(), samples)) {
    packPanelOf(b, number, panel.data());
    corrections.cut(panel.data());
  }
  return corrections.density() <= mostCorrections ? ByteUnit::Sums16
                                                  : factors_.unit;
}

ByteCall::ByteCall(const sinter_command &command, const ByteStore &store,
                   Sizes sizes, Factors factors)
    : PanelCall(command,
                [&] {
                  sizes.depth = static_cast<int64_t>(factors.parts.size()) *
                                factors.depth;
                  sizes.panelBytes = bytePanelBytes(sizes.depth);
                  return sizes;
                }()),
      store_(store), factors_(std::move(factors)) {}

void ByteCall::packConstantB(OneDnnContext &context, const uint8_t *b) {
  factors_.unit = unitOfConstant(b);
  PanelCall::packConstantB(context, b);
  if (corrections_)
    corrections_->moveTo(context.packed);
}

void ByteCall::finishPanels(uint8_t *panels) {
  if (factors_.unit != ByteUnit::Sums16)
    return;
  corrections_.emplace(factors_.parts, factors_.used);
  for (int64_t panel = 0; panel < this->panels(); ++panel)
    corrections_->cut(panels + panel * bytePanelBytes(panelDepth()));
}

/// A block is stored after the next one is multiplied: the CPU overlaps both,
/// and no store waits for its sums.
void ByteCall::compute(TileRegisters &tiles, const Task &task,
                       void *const *buffers) const {
  struct Block {
    alignas(64) uint32_t sums[blockRows * panelColumns];
    BlockPlace place;
  };
  std::array<Block, 2> blocks;
  size_t turn = 0;
  bool isPending = false;
  auto store = [&](Block &block) {
    store_.store(block.sums, block.place, buffers, command_.numSlices - 1);
  };
  const int64_t bytes = bytePanelBytes(panelDepth()),
                groupRows = unitRows(factors_.unit).most;
  int64_t steps = 0; // of a panel
  for (int64_t number = task.begin; number < task.end; ++number) {
    const RowForm form = formOf(number);
    steps += static_cast<int64_t>(form.parts.size()) * factors_.depth /
             byteStep * ceilDiv(form.count, groupRows);
  }
  ByteBlock rows;
  PanelCorrections corrections{};
  rows.depth = factors_.depth;
  rows.used = factors_.used;
  rows.hasOffsets = factors_.hasOffsets;
  PanelFetch fetch(task.next, steps * task.panels);
  for (int64_t number = task.begin; number < task.end; ++number) {
    const RowForm form = formOf(number);
    rows.count = form.count;
    rows.parts = form.parts;
    for (int64_t panel = 0; panel < task.panels; ++panel) {
      Block &block = blocks[turn];
      const int64_t column = panel * panelColumns;
      block.place.firstColumn = task.firstColumn + column;
      block.place.columns = std::min(panelColumns, task.columns - column);
      block.place.count = form.count;
      setBlock(task.a, number, task.batch, rows, block.place);
      if (corrections_)
        corrections =
            corrections_->ofPanel(block.place.firstColumn / panelColumns);
      multiplyBytes(factors_.unit, tiles, factors_.signs, rows,
                    task.panel + panel * bytes, block.sums, fetch,
                    &corrections);
      turn ^= 1;
      if (isPending)
        store(blocks[turn]);
      isPending = true;
    }
  }
  if (isPending)
    store(blocks[turn ^ 1]);
}

std::optional<ByteSigns> sinter::cpu::byteSigns(const sinter_command &command) {
  const bool isConv = command.kind == SINTER_CMD_CONV;
  const uint32_t first = isConv ? command.conv.params->dtype
                                : command.matmul.params->dtype,
                 other = isConv ? command.conv.dtypeOfFilter
                                : command.matmul.dtypeOfB,
                 second = other ? other : first;
  auto isByte = [](uint32_t dtype) {
    return dtype == SINTER_U8 || dtype == SINTER_I8;
  };
  if (!isByte(first) || !isByte(second))
    return std::nullopt;
  return ByteSigns{first == SINTER_I8, second == SINTER_I8};
}

std::optional<ByteUnit>
sinter::cpu::unitOf(const sinter_command &command,
                    std::span<const sinter_post_op> postOps,
                    uint32_t outDtype) {
  if (!ByteStore::fits(command, postOps, outDtype))
    return std::nullopt;
  const uint32_t way =
      command.kind == SINTER_CMD_CONV ? command.conv.way : command.matmul.way;
  const ByteUnit unit = way == SINTER_BY_LOOPS ? ByteUnit::Loops : byteUnit();
  const bool isDequantized =
      std::any_of(postOps.begin(), postOps.end(), [](const sinter_post_op &op) {
        return op.kind == SINTER_POST_DEQUANTIZE;
      });
  return unit != ByteUnit::Loops || isDequantized ? std::optional(unit)
                                                  : std::nullopt;
}
