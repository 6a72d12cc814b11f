//===- ByteCall.cpp - calls that multiply bytes in panels -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteCall.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;

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

void ByteCall::compute(TileRegisters &tiles, const Task &task,
                       void *const *buffers) const {
  alignas(64) uint32_t sums[blockRows * panelColumns];
  BlockPlace place;
  place.firstColumn = task.firstColumn;
  place.columns = task.columns;
  PanelFetch fetch(task.next, bytePanelBytes(panelDepth()),
                   (task.end - task.begin) * (panelDepth() / byteStep));
  for (int64_t block = task.begin; block < task.end; ++block) {
    ByteBlock rows{nullptr, 0, 0, factors_.depth, factors_.parts};
    setBlock(task.a, block, task.batch, rows, place);
    multiplyBytes(factors_.unit, tiles, factors_.signs, rows, task.panel, sums,
                  fetch);
    store_.store(sums, place, buffers, command_.numSlices - 1);
  }
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
  const uint32_t byLoops = command.kind == SINTER_CMD_CONV
                               ? command.conv.byLoops
                               : command.matmul.byLoops;
  const ByteUnit unit = byLoops ? ByteUnit::Loops : byteUnit();
  const bool isDequantized =
      std::any_of(postOps.begin(), postOps.end(), [](const sinter_post_op &op) {
        return op.kind == SINTER_POST_DEQUANTIZE;
      });
  return unit != ByteUnit::Loops || isDequantized ? std::optional(unit)
                                                  : std::nullopt;
}
