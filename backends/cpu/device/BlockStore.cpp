//===- BlockStore.cpp - finish and store blocks of a product --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/BfloatRegisters.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/EveryWidth.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/FloatFunctions.h"

#include <algorithm>
#include <array>

using namespace sinter;
using namespace sinter::cpu;
using rt::Bfloat;

bool sinter::cpu::readsOther(const sinter_command &command,
                             std::span<const sinter_post_op> postOps) {
  const sinter_slice &result = command.slices[command.numSlices - 1];
  return std::any_of(
      postOps.begin(), postOps.end(), [&](const sinter_post_op &op) {
        if (!readsOperand(op) || !overlaps(command.slices[op.slice], result))
          return false;
        return !readsResultShape(op) ||
               command.slices[op.slice].offsetBytes != result.offsetBytes;
      });
}

SINTER_EVERY_WIDTH
void sinter::cpu::addSums(float *to, const float *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

namespace sinter::cpu {
/// What a pass reads and writes.
struct RowsOfBlock {
  float *sums;
  const BlockPlace &place;
  int64_t column; // the first one, of the place
  RowRange range;
  const void *bias; // of all columns, or of all rows
  bool biasAlongRows;
  const void *added;
  void *result; // null: the block changes in place
};
} // namespace sinter::cpu

#if defined(__x86_64__)
namespace {

/// The elements of a row that are in the result.
SINTER_BFLOAT_INLINE __mmask32 maskOf(const RowsOfBlock &rows) {
  const int64_t columns =
      std::min(panelColumns, rows.place.columns - rows.column);
  return static_cast<__mmask32>((uint64_t(1) << columns) - 1);
}

template <class Element, bool hasBias, Function function, bool hasAdded,
          bool hasRelu>
SINTER_BFLOAT_CPU void runPass(const RowsOfBlock &rows) {
  // In registers: a store could change what `rows` refers to.
  const __mmask32 mask = maskOf(rows);
  const bool hasHigh = mask >> 16, biasAlongRows = rows.biasAlongRows;
  const int64_t end = rows.range.end, column = rows.column,
                firstRow = rows.place.firstRow;
  const int64_t *offsets = rows.place.rows.data();
  const auto *biases = static_cast<const Element *>(rows.bias);
  const auto *added = static_cast<const Element *>(rows.added);
  auto *result = static_cast<Element *>(rows.result);
  float *line = rows.sums + rows.range.begin * panelColumns;
  auto maskOfHalf = [mask](int half) {
    return static_cast<__mmask16>(mask >> (16 * half));
  };
  __m512 bias[2];
  if (hasBias && !biasAlongRows)
    for (int half : {0, 1})
      bias[half] =
          loadOperand(biases + rows.place.firstColumn + column + 16 * half,
                      maskOfHalf(half));
  for (int64_t i = rows.range.begin; i < end; ++i, line += panelColumns) {
    if (offsets[i] == BlockPlace::dropped)
      continue;
    const int64_t offset = offsets[i] + column;
    if (hasBias && biasAlongRows)
      bias[0] = bias[1] = _mm512_set1_ps(rt::toFloat(biases[firstRow + i]));
    auto finished = [&](int half) SINTER_BFLOAT_LAMBDA {
      __m512 x = _mm512_load_ps(line + 16 * half);
      if constexpr (hasBias)
        x = _mm512_add_ps(x, bias[half]);
      x = applied<function>(x);
      if constexpr (hasAdded)
        x = _mm512_add_ps(
            x, loadOperand(added + offset + 16 * half, maskOfHalf(half)));
      return hasRelu ? relu(x) : x;
    };
    const __m512 low = finished(0),
                 high = hasHigh ? finished(1) : _mm512_setzero_ps();
    if (result) {
      storeRow(result + offset, mask, low, high);
    } else {
      _mm512_store_ps(line, low);
      _mm512_store_ps(line + 16, high);
    }
  }
}

using RunPass = void (*)(const RowsOfBlock &rows);

template <class Element, Function function>
RunPass passOf(const BlockStore::Pass &pass) {
  static constexpr std::array<RunPass, 8> functions = {
      runPass<Element, false, function, false, false>,
      runPass<Element, false, function, false, true>,
      runPass<Element, false, function, true, false>,
      runPass<Element, false, function, true, true>,
      runPass<Element, true, function, false, false>,
      runPass<Element, true, function, false, true>,
      runPass<Element, true, function, true, false>,
      runPass<Element, true, function, true, true>};
  return functions[4 * size_t(pass.bias != nullptr) +
                   2 * size_t(pass.add != nullptr) +
                   size_t(pass.relu != nullptr)];
}

/// Null if registers do not apply the function of the pass.
template <class Element> RunPass passOf(const BlockStore::Pass &pass) {
  if (!pass.function)
    return passOf<Element, nullptr>(pass);
  switch (pass.function->kind) {
  case SINTER_POST_GELU_ERF:
    return passOf<Element, rt::fastGeluErf>(pass);
  case SINTER_POST_GELU_TANH:
    return passOf<Element, rt::fastGeluTanh>(pass);
  case SINTER_POST_HARD_SWISH:
    return passOf<Element, rt::hardSwish>(pass);
  case SINTER_POST_SIGMOID:
    return passOf<Element, rt::fastSigmoid>(pass);
  case SINTER_POST_SWISH:
    return passOf<Element, rt::fastSwish>(pass);
  default:
    return nullptr;
  }
}

} // namespace

BlockStore::BlockStore(std::span<const sinter_post_op> postOps,
                       uint32_t outDtype, bool biasAlongRows)
    : isBfloat_(outDtype == SINTER_BF16), biasAlongRows_(biasAlongRows) {
  auto next = postOps.begin();
  auto take = [&](uint32_t kind) {
    return next != postOps.end() && next->kind == kind ? &*next++ : nullptr;
  };
  auto runOf = [&](const Pass &pass) {
    return isBfloat_ ? passOf<Bfloat>(pass) : passOf<float>(pass);
  };
  do {
    Pass pass{};
    pass.bias = take(SINTER_POST_BIAS);
    if (next != postOps.end()) {
      pass.function = &*next;
      if (runOf(pass))
        ++next;
      else
        pass.function = nullptr;
    }
    pass.add = take(SINTER_POST_ADD);
    pass.relu = take(SINTER_POST_RELU);
    pass.run = runOf(pass);
    const bool isOther = next != postOps.end() && !readsOperand(*next) &&
                         next->kind != SINTER_POST_RELU;
    if (isOther && !pass.bias && !pass.function && !pass.add && !pass.relu)
      pass.run = nullptr; // nothing comes before it
    pass.other = isOther ? &*next++ : nullptr;
    passes_.push_back(pass);
  } while (next != postOps.end());
  if (passes_.back().other) {
    Pass store{};
    store.run = runOf(store);
    passes_.push_back(store);
  }
}

void BlockStore::store(float *sums, const BlockPlace &place, int64_t column,
                       RowRange range, void *const *buffers,
                       uint32_t result) const {
  // Passes but the last one change the block, with the columns beyond the
  // result's.
  for (const Pass &pass : passes_) {
    auto operandOf = [&](const sinter_post_op *op) {
      return op ? buffers[op->slice] : nullptr;
    };
    const bool isLast = &pass == &passes_.back();
    if (pass.run)
      pass.run({sums, place, column, range, operandOf(pass.bias),
                biasAlongRows_, operandOf(pass.add),
                isLast ? buffers[result] : nullptr});
    if (!pass.other)
      continue;
    const PostOpOperand none;
    const int64_t count = (range.end - range.begin) * panelColumns;
    applyPostOps({pass.other, 1},
                 {sums + range.begin * panelColumns, 1, count, count, 1},
                 &none);
  }
}

void BlockStore::fetchAddends(const BlockPlace &place, int64_t column,
                              void *const *buffers) const {
  const int64_t bytes = isBfloat_ ? sizeof(Bfloat) : sizeof(float);
  for (const Pass &pass : passes_) {
    if (!pass.add)
      continue;
    const auto *addend = static_cast<const uint8_t *>(buffers[pass.add->slice]);
    for (int64_t i = 0; i < place.count; ++i) {
      const int64_t row = place.rows[static_cast<size_t>(i)];
      if (row != BlockPlace::dropped)
        __builtin_prefetch(addend + bytes * (row + column));
    }
  }
}
#else
void BlockStore::fetchAddends(const BlockPlace &, int64_t,
                              void *const *) const {}

BlockStore::BlockStore(std::span<const sinter_post_op>, uint32_t, bool) {}

void BlockStore::store(float *, const BlockPlace &, int64_t, RowRange,
                       void *const *, uint32_t) const {
  (void)isBfloat_;
  (void)biasAlongRows_;
}
#endif
