//===- ByteStoreRegisters.cpp - blocks of 8-bit products with AVX-512 -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The same results as ByteStore::storeSteps, two rows at a time.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteStore.h"

#include <algorithm>
#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;

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

/// Those of two rows.
constexpr int pairRegisters = 4;
using FloatPair = __m512[pairRegisters];
using IntegerPair = __m512i[pairRegisters];

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

SINTER_STORE_INLINE void storeFloats(Halves<__m512> x, void *to, int64_t offset,
                                     __mmask32 mask) {
  auto *first = static_cast<float *>(to) + offset;
  _mm512_mask_storeu_ps(first, static_cast<__mmask16>(mask), x.low);
  _mm512_mask_storeu_ps(first + 16, static_cast<__mmask16>(mask >> 16), x.high);
}

/// The codes `n` clamped to their type: those of the first row in the lower
/// half, those of the other behind.
SINTER_STORE_INLINE __m512i packCodes(const IntegerPair &n, bool isSigned) {
  // Packing mixes lanes of 16 bytes.
  const __m512i first = _mm512_packs_epi32(n[0], n[1]),
                second = _mm512_packs_epi32(n[2], n[3]),
                order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10,
                                          14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(
      order, isSigned ? _mm512_packs_epi16(first, second)
                      : _mm512_packus_epi16(first, second));
}

/// Codes of floats, or the floats that the codes stand for. x / scale is found
/// as a product with the reciprocal. Three roundings lie between it and the
/// rounded quotient, so only values near a tie, beyond int32, and NaN need the
/// division.
class RegisterQuantizer {
public:
  SINTER_STORE_INLINE explicit RegisterQuantizer(const Quantizer &by,
                                                 uint32_t dtype)
      : scale(_mm512_set1_ps(by.scale)),
        reciprocal(_mm512_set1_ps(1.0f / by.scale)),
        zero(_mm512_set1_ps(by.zero)), least(_mm512_set1_ps(by.least)),
        greatest(_mm512_set1_ps(by.greatest)),
        zeros(_mm512_set1_epi32(static_cast<int32_t>(by.zero))),
        certain(_mm512_castps_si512(_mm512_set1_ps(
            0.5f - 0x1p-22f * (1.0f + std::max(-by.least, by.greatest))))),
        isSigned(dtype == SINTER_I8) {}

  /// The codes of the first row in the lower half, those of the other behind.
  SINTER_STORE_INLINE __m512i codes(const FloatPair &x) const {
    IntegerPair n;
    FloatPair floats;
    round(x, n, floats);
    // Within int32 that the sum with the zero point does not leave.
    const __m512i most = _mm512_set1_epi32(1 << 16);
    for (int i = 0; i < pairRegisters; ++i)
      n[i] = _mm512_add_epi32(
          _mm512_max_epi32(_mm512_min_epi32(n[i], most),
                           _mm512_sub_epi32(_mm512_setzero_si512(), most)),
          zeros);
    return packCodes(n, isSigned);
  }

  SINTER_STORE_INLINE void fake(FloatPair &x) const {
    IntegerPair n;
    FloatPair floats;
    round(x, n, floats);
    for (int i = 0; i < pairRegisters; ++i)
      x[i] = _mm512_mul_ps(clamped(floats[i]), scale);
  }

private:
  /// Codes less the zero point, in two types, which are not clamped yet.
  SINTER_STORE_INLINE void round(const FloatPair &x, IntegerPair &n,
                                 FloatPair &floats) const {
    __m512i worst = _mm512_setzero_si512();
    for (int i = 0; i < pairRegisters; ++i) {
      const __m512 q = _mm512_mul_ps(x[i], reciprocal);
      n[i] = _mm512_cvtps_epi32(q);
      floats[i] = _mm512_cvtepi32_ps(n[i]);
      const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(q, floats[i]));
      worst = _mm512_max_epu32(worst, _mm512_castps_si512(distance));
    }
    if (__builtin_expect(_mm512_cmpgt_epu32_mask(worst, certain), 0))
      for (int i = 0; i < pairRegisters; ++i) {
        n[i] = exactlyRounded(x[i]);
        floats[i] = _mm512_cvtepi32_ps(n[i]);
      }
  }
  SINTER_STORE_INLINE __m512i exactlyRounded(__m512 x) const {
    const __m512 q = clamped(_mm512_div_ps(x, scale));
    return _mm512_cvtps_epi32(_mm512_mask_sub_ps(
        q, _mm512_cmp_ps_mask(q, q, _CMP_UNORD_Q), _mm512_setzero_ps(), zero));
  }
  /// NaN stays NaN.
  SINTER_STORE_INLINE __m512 clamped(__m512 q) const {
    return _mm512_min_ps(greatest, _mm512_max_ps(least, q));
  }

  __m512 scale, reciprocal, zero, least, greatest;
  __m512i zeros;
  __m512i certain; // the largest distance from an integer within the range
                   // of codes that both quotients round alike
  bool isSigned;
};

/// Adds the floats of codes to 16 floats.
class RegisterAdder {
public:
  SINTER_STORE_INLINE RegisterAdder(const sinter_post_op &op, uint32_t dtype)
      : zero(_mm512_set1_ps(op.beta)), scale(_mm512_set1_ps(op.alpha)),
        isSigned(dtype == SINTER_I8) {}

  SINTER_STORE_INLINE __m512 sum(__m512 x, __m128i codes) const {
    const __m512 number = _mm512_cvtepi32_ps(
        isSigned ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes));
    const __m512 added = _mm512_mul_ps(_mm512_sub_ps(number, zero), scale);
    return _mm512_add_ps(x, added);
  }

private:
  __m512 zero, scale;
  bool isSigned;
};

/// A bit for each row of the result.
SINTER_STORE_INLINE uint32_t keptRows(const BlockPlace &place) {
  const __m512i dropped = _mm512_set1_epi64(BlockPlace::dropped);
  uint32_t kept = 0;
  for (int i = 0; i < blockRows; i += 8)
    kept |= static_cast<uint32_t>(_mm512_cmpneq_epi64_mask(
                _mm512_loadu_si512(place.rows.data() + i), dropped))
            << i;
  return kept & static_cast<uint32_t>((uint64_t(1) << place.count) - 1);
}

/// Codes from products with the reciprocal of the scale, as numbers with 16
/// bits behind the point. Half a code and a margin are added, and the bits
/// behind the point are dropped, which rounds to nearest. In units of the last
/// bit, the reciprocal, the product and the quotient are each rounded by one at
/// most where codes are not clamped, and the number by half of one. So codes
/// are in doubt less than twice the margin behind an integer.
class FixedQuantizer {
public:
  SINTER_STORE_INLINE FixedQuantizer(float scale, float zero)
      : factor(_mm512_set1_ps(1.0f / scale * one)),
        shift(_mm512_set1_ps((zero + 0.5f) * one + margin)) {}

  /// Sets bits of `doubts` where the code may be another one. Beyond int32, and
  /// of NaN, the number is the least one, which is an integer.
  SINTER_STORE_INLINE __m512i code(__m512 x, __mmask16 &doubts) const {
    const __m512i n = _mm512_cvtps_epi32(_mm512_fmadd_ps(x, factor, shift));
    doubts |= _mm512_testn_epi32_mask(
        n, _mm512_set1_epi32(int(one) - 2 * int(margin)));
    return _mm512_srai_epi32(n, fractionBits);
  }

private:
  static constexpr int fractionBits = 16;
  static constexpr float one = 1 << fractionBits, margin = 4;

  __m512 factor, shift;
};

/// NaN stays NaN; other values that are not positive become 0.
SINTER_STORE_INLINE __m512 relu(__m512 x) {
  return _mm512_maskz_mov_ps(
      _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
}

} // namespace

/// Sums that are stored as they are.
SINTER_STORE_CPU
void ByteStore::storeIntegers(const uint32_t *sums, const BlockPlace &place,
                              void *const *buffers, void *result) const {
  const auto mask = static_cast<__mmask32>((uint64_t(1) << place.columns) - 1);
  Halves<__m512i> bias{};
  if (form_.integerBias)
    bias = loadIntegers(buffers[form_.integerBias->slice], place.firstColumn,
                        mask);
  for (int64_t i = 0; i < place.count; ++i) {
    const int64_t offset = place.rows[static_cast<size_t>(i)];
    if (offset == BlockPlace::dropped)
      continue;
    const uint32_t *line = sums + i * panelColumns;
    auto *to = static_cast<uint32_t *>(result) + offset;
    _mm512_mask_storeu_epi32(
        to, static_cast<__mmask16>(mask),
        _mm512_add_epi32(_mm512_load_si512(line), bias.low));
    _mm512_mask_storeu_epi32(
        to + 16, static_cast<__mmask16>(mask >> 16),
        _mm512_add_epi32(_mm512_load_si512(line + 16), bias.high));
  }
}

/// With DEQUANTIZE, the rows that have a bit in `among`. `isPlain`: at most
/// biases and QUANTIZE are beside it. `isCorrected`: the sums have a bias.
template <bool isPlain, bool isCorrected>
SINTER_STORE_CPU __attribute__((noinline)) void
ByteStore::storePairs(const uint32_t *sums, const BlockPlace &place,
                      uint32_t among, void *const *buffers,
                      void *result) const {
  const auto mask = static_cast<__mmask32>((uint64_t(1) << place.columns) - 1);
  auto operandOf = [&](const sinter_post_op *op) {
    return op ? buffers[op->slice] : nullptr;
  };
  Halves<__m512i> integerBias{};
  // -0 changes no number.
  Halves<__m512> bias{_mm512_set1_ps(-0.0f), _mm512_set1_ps(-0.0f)};
  if (form_.integerBias)
    integerBias =
        loadIntegers(operandOf(form_.integerBias), place.firstColumn, mask);
  if (form_.bias)
    bias = loadFloats(operandOf(form_.bias), place.firstColumn, mask);
  const Halves<__m512> scales =
      loadFloats(operandOf(form_.scales), place.firstColumn, mask);
  const void *added = operandOf(form_.add);
  const auto *addedCodes =
      static_cast<const uint8_t *>(operandOf(form_.addCodes));
  const sinter_post_op none{0, 0, 1, 0};
  auto given = [&](const sinter_post_op *op) -> const sinter_post_op & {
    return op ? *op : none;
  };
  const RegisterQuantizer quantizer(Quantizer(given(form_.quantize), outDtype_),
                                    outDtype_),
      fakeQuantizer(Quantizer(given(form_.fakeQuantize), outDtype_), outDtype_);
  const RegisterAdder adder(given(form_.addCodes), outDtype_);
  // The last row may be a pair with itself.
  for (uint32_t left = keptRows(place) & among; left != 0;) {
    size_t rows[2];
    rows[0] = rows[1] = static_cast<size_t>(std::countr_zero(left));
    left &= left - 1;
    if (left != 0)
      rows[1] = static_cast<size_t>(std::countr_zero(left));
    left &= left - 1;
    const int64_t offsets[2] = {place.rows[rows[0]], place.rows[rows[1]]};
    FloatPair x;
    for (int row = 0; row < 2; ++row) {
      const uint32_t *line = sums + rows[row] * panelColumns;
      __m512i low = _mm512_load_si512(line),
              high = _mm512_load_si512(line + 16);
      if constexpr (isCorrected) {
        low = _mm512_add_epi32(low, integerBias.low);
        high = _mm512_add_epi32(high, integerBias.high);
      }
      const __m512 lowProduct =
          _mm512_mul_ps(_mm512_cvtepi32_ps(low), scales.low);
      const __m512 highProduct =
          _mm512_mul_ps(_mm512_cvtepi32_ps(high), scales.high);
      x[2 * row] = _mm512_add_ps(lowProduct, bias.low);
      x[2 * row + 1] = _mm512_add_ps(highProduct, bias.high);
    }
    if constexpr (!isPlain) {
      if (form_.fakeQuantize)
        fakeQuantizer.fake(x);
      for (int row = 0; row < 2; ++row) {
        __m512 &low = x[2 * row], &high = x[2 * row + 1];
        if (added) {
          const Halves<__m512> other = loadFloats(added, offsets[row], mask);
          low = _mm512_add_ps(low, other.low);
          high = _mm512_add_ps(high, other.high);
        }
        if (addedCodes) {
          const uint8_t *codes = addedCodes + offsets[row];
          low = adder.sum(
              low, _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), codes));
          high = adder.sum(
              high, _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask >> 16),
                                         codes + 16));
        }
        if (form_.relu) {
          low = relu(low);
          high = relu(high);
        }
      }
    }
    if (form_.quantize) {
      const __m512i codes = quantizer.codes(x);
      auto *to = static_cast<uint8_t *>(result);
      _mm256_mask_storeu_epi8(to + offsets[0], mask,
                              _mm512_castsi512_si256(codes));
      _mm256_mask_storeu_epi8(to + offsets[1], mask,
                              _mm512_extracti64x4_epi64(codes, 1));
    } else {
      storeFloats({x[0], x[1]}, result, offsets[0], mask);
      storeFloats({x[2], x[3]}, result, offsets[1], mask);
    }
  }
}

/// Sums that are dequantised, perhaps with a bias, and quantised; with
/// `isAdded`, added to codes in between. Pairs of rows with a code in doubt are
/// divided.
template <bool isCorrected, bool isAdded>
SINTER_STORE_CPU void
ByteStore::storeCodes(const uint32_t *sums, const BlockPlace &place,
                      void *const *buffers, void *result) const {
  const auto mask = static_cast<__mmask32>((uint64_t(1) << place.columns) - 1);
  const auto lowMask = static_cast<__mmask16>(mask),
             highMask = static_cast<__mmask16>(mask >> 16);
  const Quantizer first(isAdded ? *form_.fakeQuantize : *form_.quantize,
                        outDtype_),
      last(*form_.quantize, outDtype_);
  const bool isSigned = outDtype_ == SINTER_I8, isWhole = mask == ~0u;
  Halves<__m512i> correction{};
  if constexpr (isCorrected)
    correction = loadIntegers(buffers[form_.integerBias->slice],
                              place.firstColumn, mask);
  Halves<__m512> bias{};
  if (form_.bias)
    bias = loadFloats(buffers[form_.bias->slice], place.firstColumn, mask);
  const Halves<__m512> scales =
      loadFloats(buffers[form_.scales->slice], place.firstColumn, mask);
  // Codes that are added to others have no zero point.
  const FixedQuantizer quantizer(first.scale, isAdded ? 0 : last.zero),
      lastQuantizer(last.scale, last.zero);
  const sinter_post_op none{0, 0, 1, 0};
  const sinter_post_op &addCodes = isAdded ? *form_.addCodes : none;
  const __m512i least = _mm512_set1_epi32(static_cast<int32_t>(first.least)),
                greatest =
                    _mm512_set1_epi32(static_cast<int32_t>(first.greatest)),
                addedZero =
                    _mm512_set1_epi32(static_cast<int32_t>(addCodes.beta));
  // A product with 1 adds where no conversions wait.
  const __m512 firstScale = _mm512_set1_ps(first.scale),
               addedScale = _mm512_set1_ps(addCodes.alpha),
               one = _mm512_set1_ps(1);
  const auto *added =
      isAdded ? static_cast<const uint8_t *>(buffers[form_.addCodes->slice])
              : nullptr;
  auto *to = static_cast<uint8_t *>(result);
  // The last row may be a pair with itself.
  for (uint32_t left = keptRows(place); left != 0;) {
    const uint32_t before = left;
    size_t rows[2];
    rows[0] = rows[1] = static_cast<size_t>(std::countr_zero(left));
    left &= left - 1;
    if (left != 0)
      rows[1] = static_cast<size_t>(std::countr_zero(left));
    left &= left - 1;
    const int64_t offsets[2] = {place.rows[rows[0]], place.rows[rows[1]]};
    IntegerPair n;
    __mmask16 doubts = 0;
    for (int i = 0; i < pairRegisters; ++i) {
      const bool isLow = i % 2 == 0;
      const int64_t column = isLow ? 0 : 16;
      __m512i sum =
          _mm512_load_si512(sums + rows[i / 2] * panelColumns + column);
      if constexpr (isCorrected)
        sum = _mm512_add_epi32(sum, isLow ? correction.low : correction.high);
      const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sum),
                                           isLow ? scales.low : scales.high);
      n[i] = quantizer.code(
          _mm512_fmadd_ps(product, one, isLow ? bias.low : bias.high), doubts);
      if constexpr (isAdded) {
        const uint8_t *from = added + offsets[i / 2] + column;
        const __m128i codes =
            isWhole ? _mm_loadu_epi8(from)
                    : _mm_maskz_loadu_epi8(isLow ? lowMask : highMask, from);
        const __m512 fake = _mm512_cvtepi32_ps(
            _mm512_min_epi32(greatest, _mm512_max_epi32(least, n[i])));
        const __m512i code = isSigned ? _mm512_cvtepi8_epi32(codes)
                                      : _mm512_cvtepu8_epi32(codes);
        const __m512 y = _mm512_mul_ps(
            _mm512_cvtepi32_ps(_mm512_sub_epi32(code, addedZero)), addedScale);
        n[i] = lastQuantizer.code(
            _mm512_fmadd_ps(_mm512_mul_ps(fake, firstScale), one, y), doubts);
      }
    }
    if (__builtin_expect(doubts != 0, 0)) {
      storePairs<!isAdded, isCorrected>(sums, place, before ^ left, buffers,
                                        result);
      continue;
    }
    const __m512i codes = packCodes(n, isSigned);
    const __m256i lines[2] = {_mm512_castsi512_si256(codes),
                              _mm512_extracti64x4_epi64(codes, 1)};
    for (int row = 0; row < 2; ++row)
      if (isWhole)
        _mm256_storeu_epi8(to + offsets[row], lines[row]);
      else
        _mm256_mask_storeu_epi8(to + offsets[row], mask, lines[row]);
  }
}

void ByteStore::storeInRegisters(const uint32_t *sums, const BlockPlace &place,
                                 void *const *buffers, void *result) const {
  if (!form_.scales)
    return storeIntegers(sums, place, buffers, result);
  if (hasFastCodes_) {
    if (form_.addCodes)
      return form_.integerBias
                 ? storeCodes<true, true>(sums, place, buffers, result)
                 : storeCodes<false, true>(sums, place, buffers, result);
    return form_.integerBias
               ? storeCodes<true, false>(sums, place, buffers, result)
               : storeCodes<false, false>(sums, place, buffers, result);
  }
  const bool isPlain =
      !form_.fakeQuantize && !form_.add && !form_.addCodes && !form_.relu;
  constexpr uint32_t rows = ~0u;
  if (form_.integerBias)
    return isPlain
               ? storePairs<true, true>(sums, place, rows, buffers, result)
               : storePairs<false, true>(sums, place, rows, buffers, result);
  return isPlain ? storePairs<true, false>(sums, place, rows, buffers, result)
                 : storePairs<false, false>(sums, place, rows, buffers, result);
}
#else
void ByteStore::storeInRegisters(const uint32_t *, const BlockPlace &,
                                 void *const *, void *) const {}
#endif
