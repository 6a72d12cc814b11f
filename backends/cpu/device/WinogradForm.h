//===- WinogradForm.h - 3x3 windows with few multiplications ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The minimal filtering algorithms F(m x m, 3 x 3) of Winograd, as Lavin and
// Gray use them for convolutions (Fast Algorithms for Convolutional Neural
// Networks, 2015). A tile of m x m results of one channel takes (m + 2)^2
// multiplications instead of 9 m^2. The tile's input, the filter and the result
// are transformed by matrices that come from evaluating polynomials at m + 1
// points and at infinity.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_WINOGRADFORM_H
#define SINTER_BACKENDS_CPU_DEVICE_WINOGRADFORM_H

#include <cstdint>
#include <vector>

namespace sinter::cpu {

/// F(m x m, 3 x 3), where m is `tile`: 2 or 4.
class WinogradForm {
public:
  /// The most points and results of a tile.
  static constexpr int64_t mostPoints = 36, mostResults = 16;

  explicit WinogradForm(int64_t tile) : tile_(tile) {}

  /// The results of a tile in one dimension.
  int64_t tile() const { return tile_; }
  /// The points of its input in one dimension.
  int64_t side() const { return tile_ + 2; }
  int64_t points() const { return side() * side(); }

  /// The filters as the products read them: {points, channels, filters}, from
  /// {filters, channels, 3, 3}. Computed in float64.
  std::vector<float> filters(const float *filter, int64_t channels,
                             int64_t filters) const;
  /// Transforms the input of a tile: channel c of point i is at from[i][c] and
  /// goes to to[i * stride + c].
  void transformInput(const float *const *from, int64_t channels, float *to,
                      int64_t stride) const;
  /// Transforms the products of a tile. Channel c of point i is at
  /// from[i * stride + c]; that of result i goes to to[i * channels + c].
  void transformResult(const float *from, int64_t stride, int64_t channels,
                       float *to) const;

private:
  int64_t tile_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_WINOGRADFORM_H
