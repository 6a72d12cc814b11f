//===- ByteStore.cpp - finish and store blocks of 8-bit products ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteStore.h"
#include "backends/cpu/device/EveryWidth.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/CpuFeatures.h"

#include <algorithm>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;

namespace {

/// Added to a float of less than 2^22, it leaves the float, rounded to nearest
/// even, in the lowest bits of the sum.
constexpr float roundingMagic = 12582912.0f; // 1.5 * 2^23

/// How QUANTIZE makes a code.
struct Quantizer {
  Quantizer(const sinter_post_op &op, uint32_t dtype)
      : scale(op.alpha), zero(op.beta),
        least((dtype == SINTER_U8 ? 0.0f : -128.0f) - zero),
        greatest((dtype == SINTER_U8 ? 255.0f : 127.0f) - zero) {}

  float scale, zero;
  float least, greatest; // before the zero point is added
};

SINTER_EVERY_WIDTH
void dequantizeLine(const uint32_t *sums, const float *scales, float *to) {
  for (int64_t i = 0; i < panelColumns; ++i)
    to[i] = static_cast<float>(static_cast<int32_t>(sums[i])) * scales[i];
}

/// Clamping first gives the same code, since the bounds are integers.
SINTER_EVERY_WIDTH
void quantizeLine(const float *x, const Quantizer &by, uint8_t *to) {
  for (int64_t i = 0; i < panelColumns; ++i) {
    float q = x[i] / by.scale;
    q = q != q ? -by.zero : q;
    q = q < by.least ? by.least : q;
    q = q > by.greatest ? by.greatest : q;
    const float code = ((q + roundingMagic) - roundingMagic) + by.zero;
    to[i] = static_cast<uint8_t>(static_cast<int32_t>(code));
  }
}

template <class Element>
void storeElements(const Element *line, int64_t count, int64_t stride,
                   void *result, int64_t offset) {
  Element *to = static_cast<Element *>(result) + offset;
  if (stride == 1) {
    std::copy_n(line, count, to);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    to[i * stride] = line[i];
}

bool isCode(uint32_t dtype) { return dtype == SINTER_U8 || dtype == SINTER_I8; }

} // namespace

ByteStore::ByteStore(std::span<const sinter_post_op> postOps, uint32_t outDtype,
                     bool alongRows, int64_t columnStride)
    : postOps_(postOps), outDtype_(outDtype), alongRows_(alongRows),
      columnStride_(columnStride),
      isInRegisters_(readForm() && !alongRows && columnStride == 1) {}

/// Sets form_; false if the post-ops have another order, or the CPU has other
/// registers.
bool ByteStore::readForm() {
  auto next = postOps_.begin();
  auto take = [&](uint32_t kind) {
    return next != postOps_.end() && next->kind == kind ? &*next++ : nullptr;
  };
  form_.integerBias = take(SINTER_POST_BIAS);
  form_.scales = take(SINTER_POST_DEQUANTIZE);
  if (form_.scales) {
    form_.bias = take(SINTER_POST_BIAS);
    form_.add = take(SINTER_POST_ADD);
    form_.relu = take(SINTER_POST_RELU);
    form_.quantize = take(SINTER_POST_QUANTIZE);
  }
  // The reciprocal of the scale needs all its digits.
  const bool isNormal =
      !form_.quantize || (std::isnormal(form_.quantize->alpha) &&
                          std::isnormal(1.0f / form_.quantize->alpha));
  return next == postOps_.end() && isNormal &&
         rt::checkCpuFeatures("+avx512f,+avx512bw,+avx512vl,+avx512dq").ok();
}

bool ByteStore::fits(const sinter_command &command,
                     std::span<const sinter_post_op> postOps,
                     uint32_t outDtype) {
  bool isFloat = false, isCoded = false;
  for (const sinter_post_op &op : postOps) {
    switch (op.kind) {
    case SINTER_POST_BIAS:
    case SINTER_POST_ADD:
    case SINTER_POST_RELU:
      break;
    case SINTER_POST_DEQUANTIZE:
      isFloat = true;
      break;
    case SINTER_POST_QUANTIZE: {
      isCoded = true;
      const Quantizer by(op, outDtype);
      if (by.zero != std::nearbyint(by.zero) || by.least > 0 || by.greatest < 0)
        return false;
      break;
    }
    default:
      if (!isFloat || !hasPostOp(op.kind))
        return false;
    }
  }
  return outDtype == (isFloat ? SINTER_F32 : SINTER_I32) ||
                 (isCoded && isCode(outDtype))
             ? !readsOther(command, postOps)
             : false;
}

/// One row, step by step.
void ByteStore::storeLine(uint32_t *sums, int64_t row, const BlockPlace &place,
                          void *const *buffers, void *result) const {
  const int64_t offset = place.rows[static_cast<size_t>(row)],
                columns = place.columns;
  alignas(64) float line[panelColumns] = {}, factors[panelColumns] = {};
  alignas(64) uint8_t codes[panelColumns];
  bool isFloat = false;
  for (const sinter_post_op &op : postOps_) {
    const void *operand = readsOperand(op) || op.kind == SINTER_POST_DEQUANTIZE
                              ? buffers[op.slice]
                              : nullptr;
    const int64_t first = op.kind == SINTER_POST_ADD ? offset
                          : alongRows_               ? place.firstRow + row
                                                     : place.firstColumn,
                  step = op.kind == SINTER_POST_ADD ? columnStride_
                         : alongRows_               ? 0
                                                    : 1;
    if (op.kind == SINTER_POST_DEQUANTIZE) {
      for (int64_t j = 0; j < columns; ++j)
        factors[j] = static_cast<const float *>(operand)[first + j * step];
      dequantizeLine(sums, factors, line);
      isFloat = true;
    } else if (op.kind == SINTER_POST_QUANTIZE) {
      quantizeLine(line, Quantizer(op, outDtype_), codes);
    } else if (isFloat) {
      PostOpOperand added;
      if (operand)
        added = {static_cast<const float *>(operand) + first, 0, step};
      applyPostOps({&op, 1}, {line, 1, columns, panelColumns, 1}, &added);
    } else if (op.kind == SINTER_POST_RELU) {
      for (int64_t j = 0; j < columns; ++j)
        sums[j] = static_cast<int32_t>(sums[j]) <= 0 ? 0 : sums[j];
    } else {
      for (int64_t j = 0; j < columns; ++j)
        sums[j] += static_cast<const uint32_t *>(operand)[first + j * step];
    }
  }
  if (isCode(outDtype_))
    storeElements(codes, columns, columnStride_, result, offset);
  else if (isFloat)
    storeElements(line, columns, columnStride_, result, offset);
  else
    storeElements(sums, columns, columnStride_, result, offset);
}

void ByteStore::store(uint32_t *sums, const BlockPlace &place,
                      void *const *buffers, uint32_t result) const {
  if (isInRegisters_)
    return storeInRegisters(sums, place, buffers, buffers[result]);
  for (int64_t row = 0; row < place.count; ++row)
    if (place.rows[static_cast<size_t>(row)] != BlockPlace::dropped)
      storeLine(sums + row * panelColumns, row, place, buffers,
                buffers[result]);
}

#if defined(__x86_64__)
#define SINTER_STORE_CPU                                                       \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
// For helpers that become part of their callers.
#define SINTER_STORE_INLINE                                                    \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"),                 \
                 always_inline)) inline

namespace {

/// The 32 columns of a row, for one kind of register.
template <class Register> struct Halves {
  Register low, high;
};

SINTER_STORE_INLINE Halves<__m512i>
loadIntegers(const void *from, int64_t offset, __mmask32 mask) {
  const auto *first = static_cast<const int32_t *>(from) + offset;
  return {
      _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), first),
      _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask >> 16), first + 16)};
}

SINTER_STORE_INLINE Halves<__m512> loadFloats(const void *from, int64_t offset,
                                              __mmask32 mask) {
  const auto *first = static_cast<const float *>(from) + offset;
  return {
      _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), first),
      _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), first + 16)};
}

/// Codes of 16 floats, in the lowest bytes. x / scale is found as a product
/// with the reciprocal. Its error is less than 2^-13 in the range of codes, so
/// only quotients near a tie, and NaN, need the division.
class RegisterQuantizer {
public:
  SINTER_STORE_INLINE explicit RegisterQuantizer(const Quantizer &by)
      : scale(_mm512_set1_ps(by.scale)),
        reciprocal(_mm512_set1_ps(1.0f / by.scale)),
        zero(_mm512_set1_ps(by.zero)), least(_mm512_set1_ps(by.least)),
        greatest(_mm512_set1_ps(by.greatest)),
        magic(_mm512_set1_ps(roundingMagic + by.zero)) {}

  SINTER_STORE_INLINE __m128i codes(__m512 x) const {
    const __m512 q = clamped(_mm512_mul_ps(x, reciprocal)),
                 rounded = _mm512_add_ps(q, magic),
                 distance = _mm512_abs_ps(
                     _mm512_sub_ps(q, _mm512_sub_ps(rounded, magic)));
    // Also true for NaN.
    const __mmask16 isInDoubt = _mm512_cmp_ps_mask(
        distance, _mm512_set1_ps(0.5f - 0x1p-12f), _CMP_NLE_UQ);
    if (__builtin_expect(isInDoubt, 0))
      return exactCodes(x);
    return _mm512_cvtepi32_epi8(_mm512_castps_si512(rounded));
  }

private:
  /// NaN stays NaN.
  SINTER_STORE_INLINE __m512 clamped(__m512 q) const {
    return _mm512_min_ps(greatest, _mm512_max_ps(least, q));
  }
  SINTER_STORE_INLINE __m128i exactCodes(__m512 x) const {
    const __m512 q =
        _mm512_roundscale_ps(clamped(_mm512_div_ps(x, scale)),
                             _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __mmask16 isNumber = _mm512_cmp_ps_mask(q, q, _CMP_ORD_Q);
    return _mm512_cvtepi32_epi8(
        _mm512_maskz_cvtps_epi32(isNumber, _mm512_add_ps(q, zero)));
  }

  __m512 scale, reciprocal, zero, least, greatest, magic;
};

} // namespace

SINTER_STORE_CPU
void ByteStore::storeInRegisters(uint32_t *sums, const BlockPlace &place,
                                 void *const *buffers, void *result) const {
  const auto mask = static_cast<__mmask32>((uint64_t(1) << place.columns) - 1);
  auto operandOf = [&](const sinter_post_op *op) {
    return op ? buffers[op->slice] : nullptr;
  };
  Halves<__m512i> integerBias{};
  Halves<__m512> scales{}, bias{};
  if (form_.integerBias)
    integerBias =
        loadIntegers(operandOf(form_.integerBias), place.firstColumn, mask);
  if (form_.scales)
    scales = loadFloats(operandOf(form_.scales), place.firstColumn, mask);
  if (form_.bias)
    bias = loadFloats(operandOf(form_.bias), place.firstColumn, mask);
  const void *added = operandOf(form_.add);
  const sinter_post_op none{0, 0, 1, 0};
  const RegisterQuantizer quantizer(
      Quantizer(form_.quantize ? *form_.quantize : none, outDtype_));
  for (int64_t i = 0; i < place.count; ++i) {
    const int64_t offset = place.rows[static_cast<size_t>(i)];
    if (offset == BlockPlace::dropped)
      continue;
    const uint32_t *line = sums + i * panelColumns;
    Halves<__m512i> sum{
        _mm512_add_epi32(_mm512_load_si512(line), integerBias.low),
        _mm512_add_epi32(_mm512_load_si512(line + 16), integerBias.high)};
    if (!form_.scales) {
      auto *to = static_cast<uint32_t *>(result) + offset;
      _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), sum.low);
      _mm512_mask_storeu_epi32(to + 16, static_cast<__mmask16>(mask >> 16),
                               sum.high);
      continue;
    }
    Halves<__m512> x{_mm512_mul_ps(_mm512_cvtepi32_ps(sum.low), scales.low),
                     _mm512_mul_ps(_mm512_cvtepi32_ps(sum.high), scales.high)};
    if (form_.bias) {
      x.low = _mm512_add_ps(x.low, bias.low);
      x.high = _mm512_add_ps(x.high, bias.high);
    }
    if (added) {
      const Halves<__m512> other = loadFloats(added, offset, mask);
      x.low = _mm512_add_ps(x.low, other.low);
      x.high = _mm512_add_ps(x.high, other.high);
    }
    if (form_.relu) {
      // NaN stays NaN; other values that are not positive become 0.
      auto relu = [](__m512 value) SINTER_STORE_CPU {
        return _mm512_maskz_mov_ps(
            _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_NLE_UQ), value);
      };
      x.low = relu(x.low);
      x.high = relu(x.high);
    }
    if (form_.quantize) {
      const __m128i low = quantizer.codes(x.low),
                    high = quantizer.codes(x.high);
      _mm256_mask_storeu_epi8(static_cast<uint8_t *>(result) + offset, mask,
                              _mm256_set_m128i(high, low));
      continue;
    }
    auto *to = static_cast<float *>(result) + offset;
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), x.low);
    _mm512_mask_storeu_ps(to + 16, static_cast<__mmask16>(mask >> 16), x.high);
  }
}
#else
void ByteStore::storeInRegisters(uint32_t *, const BlockPlace &, void *const *,
                                 void *) const {}
#endif
