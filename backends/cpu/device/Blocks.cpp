//===- Blocks.cpp - moving and summing strided fp32 values ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/TransposeSquare.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

using namespace sinter::cpu;

namespace {

constexpr int64_t squareSide = 16;

/// to[row * toStride + col] = from[row + col * fromStride] for a rows x cols
/// piece: both sides are contiguous, along different dimensions.
void transposePiece(float *to, int64_t toStride, const float *from,
                    int64_t fromStride, int64_t rows, int64_t cols) {
  int64_t col = 0;
#if defined(__SSE__)
  static const bool hasWide = __builtin_cpu_supports("avx512f");
  if (hasWide && rows == squareSide && cols == squareSide)
    return transposeSquare(to, toStride, from, fromStride);
  // Four source lines are fully read before the next four: with a stride of a
  // page, they would evict each other from the cache.
  for (; col + 4 <= cols; col += 4) {
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      const float *source = from + row + col * fromStride;
      float *target = to + row * toStride + col;
      __m128 a = _mm_loadu_ps(source);
      __m128 b = _mm_loadu_ps(source + fromStride);
      __m128 c = _mm_loadu_ps(source + 2 * fromStride);
      __m128 d = _mm_loadu_ps(source + 3 * fromStride);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      _mm_storeu_ps(target, a);
      _mm_storeu_ps(target + toStride, b);
      _mm_storeu_ps(target + 2 * toStride, c);
      _mm_storeu_ps(target + 3 * toStride, d);
    }
    for (; row < rows; ++row)
      for (int64_t i = col; i < col + 4; ++i)
        to[row * toStride + i] = from[row + i * fromStride];
  }
#endif
  for (; col < cols; ++col)
    for (int64_t row = 0; row < rows; ++row)
      to[row * toStride + col] = from[row + col * fromStride];
}

} // namespace

void sinter::cpu::copyBlock(const Block &to, const float *from,
                            int64_t fromRowStride, int64_t fromColStride) {
  if (to.colStride == 1 && fromColStride == 1) {
    for (int64_t row = 0; row < to.rows; ++row)
      std::memcpy(to.data + row * to.rowStride, from + row * fromRowStride,
                  static_cast<size_t>(to.cols) * sizeof(float));
    return;
  }
  // Squares keep both sides within a few cache lines.
  auto copySquare = [&](int64_t row0, int64_t col0) {
    int64_t rows = std::min(squareSide, to.rows - row0);
    int64_t cols = std::min(squareSide, to.cols - col0);
    float *target = to.data + row0 * to.rowStride + col0 * to.colStride;
    const float *source = from + row0 * fromRowStride + col0 * fromColStride;
    if (to.colStride == 1 && fromRowStride == 1)
      transposePiece(target, to.rowStride, source, fromColStride, rows, cols);
    else if (to.rowStride == 1 && fromColStride == 1)
      transposePiece(target, to.colStride, source, fromRowStride, cols, rows);
    else
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t col = 0; col < cols; ++col)
          target[row * to.rowStride + col * to.colStride] =
              source[row * fromRowStride + col * fromColStride];
  };
  // It is faster to read lines to their ends than to write them so, unless the
  // lines that are written share few sets of the cache.
  constexpr int64_t crowdedStride = 256;
  if (fromRowStride == 1 && to.rowStride % crowdedStride != 0)
    for (int64_t col0 = 0; col0 < to.cols; col0 += squareSide)
      for (int64_t row0 = 0; row0 < to.rows; row0 += squareSide)
        copySquare(row0, col0);
  else
    for (int64_t row0 = 0; row0 < to.rows; row0 += squareSide)
      for (int64_t col0 = 0; col0 < to.cols; col0 += squareSide)
        copySquare(row0, col0);
}

void sinter::cpu::zeroBlock(const Block &block) {
  for (int64_t row = 0; row < block.rows; ++row)
    for (int64_t col = 0; col < block.cols; ++col)
      block.data[row * block.rowStride + col * block.colStride] = 0.0f;
}

void sinter::cpu::sumPartials(float *first, int64_t stride, int64_t count,
                              int64_t begin, int64_t end) {
  // Pieces stay in the first-level cache together with all their partials.
  constexpr int64_t pieceElements = 512;
  for (int64_t at = begin; at < end; at += pieceElements) {
    int64_t length = std::min(pieceElements, end - at);
    for (int64_t step = 1; step < count; step *= 2)
      for (int64_t i = 0; i + step < count; i += 2 * step) {
        float *to = first + i * stride + at;
        const float *from = first + (i + step) * stride + at;
        for (int64_t j = 0; j < length; ++j)
          to[j] += from[j];
      }
  }
}
