//===- BlockStore.cpp - finish and store blocks of a product --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/EveryWidth.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>
#include <array>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

void BlockStore::fetch(const BlockPlace &place, void *const *buffers,
                       uint32_t result) const {
  const auto *first = static_cast<const uint8_t *>(buffers[result]);
  constexpr int64_t lineBytes = 64;
  const int64_t width = isBfloat_ ? sizeof(Bfloat) : sizeof(float),
                bytes = place.columns * width;
  for (int64_t i = 0; i < place.count; ++i) {
    const int64_t row = place.rows[static_cast<size_t>(i)];
    if (row == BlockPlace::dropped)
      continue;
    for (int64_t at = 0; at < bytes; at += lineBytes)
      __builtin_prefetch(first + row * width + at, /*rw=*/1, /*locality=*/3);
  }
}

#if defined(__x86_64__)
#define SINTER_BFLOAT_CPU                                                      \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
// For helpers that become part of their callers.
#define SINTER_BFLOAT_INLINE                                                   \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"),               \
                 always_inline)) inline

namespace {

/// A row of a block in two registers.
struct Row {
  __m512 low, high;
};

/// One pass over a block.
struct Pass {
  float *sums;
  const BlockPlace &place;
  const void *bias = nullptr; // of all columns, or of all rows
  bool biasAlongRows = false;
  const void *operand = nullptr; // added after the bias
  void *result = nullptr;        // null: the block changes in place
};

/// The elements of a row that are in the result.
SINTER_BFLOAT_INLINE __mmask32 maskOf(const BlockPlace &place) {
  return static_cast<__mmask32>((uint64_t(1) << place.columns) - 1);
}

SINTER_BFLOAT_INLINE Row load(const float *from) {
  return {_mm512_load_ps(from), _mm512_load_ps(from + 16)};
}

SINTER_BFLOAT_INLINE __m512 widened(__m256i half) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

template <class Element>
SINTER_BFLOAT_INLINE Row loadOperand(const void *operand, int64_t offset,
                                     __mmask32 mask) {
  const Element *from = static_cast<const Element *>(operand) + offset;
  if constexpr (std::is_same_v<Element, float>) {
    return {
        _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from),
        _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + 16)};
  } else {
    const __m512i line = _mm512_maskz_loadu_epi16(mask, from);
    return {widened(_mm512_castsi512_si256(line)),
            widened(_mm512_extracti64x4_epi64(line, 1))};
  }
}

/// vcvtne2ps2bf16 rounds to nearest and stores denormal numbers as 0, as which
/// the unit reads them.
template <class Element>
SINTER_BFLOAT_INLINE void storeResult(const Row &row, void *result,
                                      int64_t offset, __mmask32 mask) {
  Element *to = static_cast<Element *>(result) + offset;
  if constexpr (std::is_same_v<Element, float>) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), row.low);
    _mm512_mask_storeu_ps(to + 16, static_cast<__mmask16>(mask >> 16),
                          row.high);
  } else {
    _mm512_mask_storeu_epi16(to, mask,
                             (__m512i)_mm512_cvtne2ps_pbh(row.high, row.low));
  }
}

/// NaN stays NaN; other values that are not positive become 0.
SINTER_BFLOAT_INLINE __m512 relu(__m512 x) {
  return _mm512_maskz_mov_ps(
      _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
}

template <class Element, bool hasBias, bool hasOperand, bool hasRelu>
SINTER_BFLOAT_CPU void runPass(const Pass &pass) {
  const __mmask32 mask = maskOf(pass.place);
  Row bias{};
  if (hasBias && !pass.biasAlongRows)
    bias = loadOperand<Element>(pass.bias, pass.place.firstColumn, mask);
  for (int64_t i = 0; i < pass.place.count; ++i) {
    const int64_t offset = pass.place.rows[static_cast<size_t>(i)];
    if (offset == BlockPlace::dropped)
      continue;
    float *line = pass.sums + i * panelColumns;
    Row row = load(line);
    if constexpr (hasBias) {
      if (pass.biasAlongRows)
        bias.low = bias.high = _mm512_set1_ps(rt::toFloat(
            static_cast<const Element *>(pass.bias)[pass.place.firstRow + i]));
      row.low = _mm512_add_ps(row.low, bias.low);
      row.high = _mm512_add_ps(row.high, bias.high);
    }
    if constexpr (hasOperand) {
      const Row added = loadOperand<Element>(pass.operand, offset, mask);
      row.low = _mm512_add_ps(row.low, added.low);
      row.high = _mm512_add_ps(row.high, added.high);
    }
    if constexpr (hasRelu) {
      row.low = relu(row.low);
      row.high = relu(row.high);
    }
    if (pass.result) {
      storeResult<Element>(row, pass.result, offset, mask);
    } else {
      _mm512_store_ps(line, row.low);
      _mm512_store_ps(line + 16, row.high);
    }
  }
}

template <class Element> void runPass(const Pass &pass, bool hasRelu) {
  static constexpr std::array<void (*)(const Pass &), 8> functions = {
      runPass<Element, false, false, false>,
      runPass<Element, false, false, true>,
      runPass<Element, false, true, false>,
      runPass<Element, false, true, true>,
      runPass<Element, true, false, false>,
      runPass<Element, true, false, true>,
      runPass<Element, true, true, false>,
      runPass<Element, true, true, true>};
  const size_t index = 4 * size_t(pass.bias != nullptr) +
                       2 * size_t(pass.operand != nullptr) + size_t(hasRelu);
  functions[index](pass);
}

} // namespace

void BlockStore::store(float *sums, const BlockPlace &place,
                       void *const *buffers, uint32_t result) const {
  auto next = postOps_.begin();
  const auto end = postOps_.end();
  auto take = [&](uint32_t kind) {
    return next != end && next->kind == kind ? &*next++ : nullptr;
  };
  // A bias, an operand and relu, in this order, are part of one pass. Between
  // passes the others change the block, with the columns beyond the result's.
  for (;;) {
    Pass pass{sums, place};
    pass.biasAlongRows = biasAlongRows_;
    if (const sinter_post_op *op = take(SINTER_POST_BIAS))
      pass.bias = buffers[op->slice];
    if (const sinter_post_op *op = take(SINTER_POST_ADD))
      pass.operand = buffers[op->slice];
    const bool hasRelu = take(SINTER_POST_RELU) != nullptr;
    const bool isLast = next == end;
    if (isLast)
      pass.result = buffers[result];
    if (isLast || pass.bias || pass.operand || hasRelu)
      isBfloat_ ? runPass<Bfloat>(pass, hasRelu)
                : runPass<float>(pass, hasRelu);
    if (isLast)
      return;
    if (readsOperand(*next) || next->kind == SINTER_POST_RELU)
      continue;
    const PostOpOperand none;
    applyPostOps(
        {&*next++, 1},
        {sums, 1, place.count * panelColumns, place.count * panelColumns, 1},
        &none);
  }
}
#else
void BlockStore::store(float *, const BlockPlace &, void *const *,
                       uint32_t) const {
  (void)isBfloat_;
  (void)biasAlongRows_;
}
#endif
