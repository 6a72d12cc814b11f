//===- WinogradForm.cpp - the transforms of Winograd's algorithms ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// F(2, 3) evaluates at 0, 1, -1 and infinity; F(4, 3) at 0, a, -a, b, -b and
// infinity. With the usual a = 1 and b = 2, the errors are about four times
// those of direct sums. With a = 5/8 and b = 3/2 they are twice as large,
// because the factors differ less in magnitude (Barabasz, Anderson, Soodhalter
// and Gregg, Error Analysis and Improving the Accuracy of Winograd Convolution
// for Deep Neural Networks, 2020). All factors are exact in float32.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/WinogradForm.h"
#include "backends/cpu/device/EveryWidth.h"

#include <algorithm>
#include <array>

using namespace sinter::cpu;

namespace {

constexpr double a = 5.0 / 8, b = 3.0 / 2, a2 = a * a, b2 = b * b;

/// A row of the matrix that transforms a column of a filter.
using FilterRow = std::array<double, 3>;
/// The row of point p. `divisor`: the product of its differences from all other
/// finite points.
constexpr FilterRow rowAt(double p, double divisor) {
  return {1 / divisor, p / divisor, p * p / divisor};
}
constexpr FilterRow rowAtInfinity = {0, 0, 1};
constexpr FilterRow filterRows2[] = {rowAt(0, 1), rowAt(1, 2), rowAt(-1, 2),
                                     rowAtInfinity};
constexpr FilterRow filterRows4[] = {rowAt(0, a2 *b2),
                                     rowAt(a, 2 * a2 * (a2 - b2)),
                                     rowAt(-a, 2 * a2 * (a2 - b2)),
                                     rowAt(b, 2 * b2 * (b2 - a2)),
                                     rowAt(-b, 2 * b2 * (b2 - a2)),
                                     rowAtInfinity};

/// Fused, as all CPUs with a unit for products have it: the same bits on all.
float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

/// The transforms of one line of a tile: of its input, and of its products.
template <int tile> struct Line;

template <> struct Line<2> {
  static constexpr int side = 4;
  static void input(const float (&d)[4], float (&y)[4]) {
    y[0] = d[0] - d[2];
    y[1] = d[1] + d[2];
    y[2] = d[2] - d[1];
    y[3] = d[3] - d[1];
  }
  static void result(const float (&m)[4], float (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }
};

template <> struct Line<4> {
  static constexpr int side = 6;
  static constexpr auto fa = static_cast<float>(a), fb = static_cast<float>(b),
                        fa2 = static_cast<float>(a2),
                        fb2 = static_cast<float>(b2),
                        fa3 = static_cast<float>(a2 * a),
                        fb3 = static_cast<float>(b2 * b);
  static void input(const float (&d)[6], float (&y)[6]) {
    constexpr auto product = static_cast<float>(a2 * b2),
                   sum = static_cast<float>(a2 + b2);
    y[0] = fma(product, d[0], fma(-sum, d[2], d[4]));
    const float evenA = fma(-fb2, d[2], d[4]), oddA = fma(-fb2, d[1], d[3]),
                evenB = fma(-fa2, d[2], d[4]), oddB = fma(-fa2, d[1], d[3]);
    y[1] = fma(fa, oddA, evenA);
    y[2] = fma(-fa, oddA, evenA);
    y[3] = fma(fb, oddB, evenB);
    y[4] = fma(-fb, oddB, evenB);
    y[5] = fma(product, d[1], fma(-sum, d[3], d[5]));
  }
  static void result(const float (&m)[6], float (&y)[4]) {
    const float sumA = m[1] + m[2], differenceA = m[1] - m[2],
                sumB = m[3] + m[4], differenceB = m[3] - m[4];
    y[0] = m[0] + sumA + sumB;
    y[1] = fma(fb, differenceB, fa * differenceA);
    y[2] = fma(fb2, sumB, fa2 * sumA);
    y[3] = fma(fb3, differenceB, fma(fa3, differenceA, m[5]));
  }
};

/// Channels that are transformed together: two registers of AVX2.
constexpr int64_t width = 16;

/// Transforms one line of `channels` channels: channel c of input i is at
/// from(i)[c], that of output i goes to to(i)[c]. No two of these overlap.
template <auto function, int inputs, int outputs, class From, class To>
[[gnu::always_inline]] inline void transformLine(From from, To to,
                                                 int64_t channels) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (int64_t c = 0; c < channels; ++c) {
    float in[inputs], out[outputs];
    for (int i = 0; i < inputs; ++i)
      in[i] = from(i)[c];
    function(in, out);
    for (int i = 0; i < outputs; ++i)
      to(i)[c] = out[i];
  }
}

template <int tile>
[[gnu::always_inline]] inline void inputOf(const float *const *from,
                                           int64_t first, int64_t channels,
                                           float *to, int64_t stride) {
  constexpr int side = Line<tile>::side;
  alignas(64) float lines[side][side][width];
  for (int y = 0; y < side; ++y)
    transformLine<Line<tile>::input, side, side>(
        [&](int i) { return from[y * side + i] + first; },
        [&](int i) { return lines[y][i]; }, channels);
  for (int x = 0; x < side; ++x)
    transformLine<Line<tile>::input, side, side>(
        [&](int i) { return lines[i][x]; },
        [&](int i) { return to + (i * side + x) * stride + first; }, channels);
}

template <int tile>
[[gnu::always_inline]] inline void resultOf(const float *from, int64_t stride,
                                            int64_t first, int64_t channels,
                                            float *to, int64_t toStride) {
  constexpr int side = Line<tile>::side;
  alignas(64) float lines[side][tile][width];
  for (int y = 0; y < side; ++y)
    transformLine<Line<tile>::result, side, tile>(
        [&](int i) { return from + (y * side + i) * stride + first; },
        [&](int i) { return lines[y][i]; }, channels);
  for (int x = 0; x < tile; ++x)
    transformLine<Line<tile>::result, side, tile>(
        [&](int i) { return lines[i][x]; },
        [&](int i) { return to + (i * tile + x) * toStride + first; },
        channels);
}

/// Calls function(first, count) for parts of the channels.
template <class Function>
[[gnu::always_inline]] inline void forEachPart(int64_t channels,
                                               Function function) {
  int64_t first = 0;
  for (; first + width <= channels; first += width)
    function(first, width);
  if (first < channels)
    function(first, channels - first);
}

SINTER_EVERY_WIDTH
void input2(const float *const *from, int64_t channels, float *to,
            int64_t stride) {
  forEachPart(channels,
              [=](int64_t first, int64_t count) __attribute__((always_inline)) {
                inputOf<2>(from, first, count, to, stride);
              });
}
SINTER_EVERY_WIDTH
void input4(const float *const *from, int64_t channels, float *to,
            int64_t stride) {
  forEachPart(channels,
              [=](int64_t first, int64_t count) __attribute__((always_inline)) {
                inputOf<4>(from, first, count, to, stride);
              });
}
SINTER_EVERY_WIDTH
void result2(const float *from, int64_t stride, int64_t channels, float *to) {
  forEachPart(channels,
              [=](int64_t first, int64_t count) __attribute__((always_inline)) {
                resultOf<2>(from, stride, first, count, to, channels);
              });
}
SINTER_EVERY_WIDTH
void result4(const float *from, int64_t stride, int64_t channels, float *to) {
  forEachPart(channels,
              [=](int64_t first, int64_t count) __attribute__((always_inline)) {
                resultOf<4>(from, stride, first, count, to, channels);
              });
}

constexpr int64_t kernel = 3;

/// Transforms `count` windows, at most `width`, which begin `distance` elements
/// apart, by the matrix of `side` rows. Point p of window i goes to
/// to[p * stride + i].
SINTER_EVERY_WIDTH
void filtersOf(const FilterRow *rows, int64_t side, const float *window,
               int64_t distance, int64_t count, float *to, int64_t stride) {
  double elements[kernel * kernel][width] = {};
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < kernel * kernel; ++j)
      elements[j][i] = window[i * distance + j];
  for (int64_t row = 0; row < side; ++row) {
    const double *y = rows[row].data();
    double line[kernel][width];
    for (int64_t x = 0; x < kernel; ++x)
      for (int64_t i = 0; i < width; ++i)
        line[x][i] = y[0] * elements[x][i] + y[1] * elements[kernel + x][i] +
                     y[2] * elements[2 * kernel + x][i];
    for (int64_t column = 0; column < side; ++column) {
      const double *x = rows[column].data();
      float results[width];
      for (int64_t i = 0; i < width; ++i)
        results[i] = static_cast<float>(x[0] * line[0][i] + x[1] * line[1][i] +
                                        x[2] * line[2][i]);
      std::copy_n(results, count, to);
      to += stride;
    }
  }
}

} // namespace

std::vector<float> WinogradForm::filters(const float *filter, int64_t channels,
                                         int64_t filters) const {
  const FilterRow *rows = tile_ == 2 ? filterRows2 : filterRows4;
  const int64_t stride = channels * filters;
  std::vector<float> result(static_cast<size_t>(points() * stride));
  for (int64_t f = 0; f < filters; f += width)
    for (int64_t c = 0; c < channels; ++c)
      filtersOf(rows, side(), filter + (f * channels + c) * kernel * kernel,
                channels * kernel * kernel, std::min(width, filters - f),
                result.data() + c * filters + f, stride);
  return result;
}

void WinogradForm::transformInput(const float *const *from, int64_t channels,
                                  float *to, int64_t stride) const {
  (tile_ == 2 ? input2 : input4)(from, channels, to, stride);
}

void WinogradForm::transformResult(const float *from, int64_t stride,
                                   int64_t channels, float *to) const {
  (tile_ == 2 ? result2 : result4)(from, stride, channels, to);
}
