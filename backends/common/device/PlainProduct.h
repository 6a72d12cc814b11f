//===- PlainProduct.h - sums of products by loops ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Devices use these products where no library does them: fp64 and integers on
// the CPU, everything on the simulated device. What must stay true: the sum of
// an element runs over k in order, wherever its tile begins.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_DEVICE_PLAINPRODUCT_H
#define SINTER_BACKENDS_COMMON_DEVICE_PLAINPRODUCT_H

#include <algorithm>
#include <cstdint>

namespace sinter::plain {

/// The largest tile of the result; k is packed in pieces of tileDepth.
inline constexpr int64_t tileRows = 32, tileCols = 64, tileDepth = 128;

/// The number of elements that sumTile writes besides the sums.
inline constexpr int64_t packedElements = tileDepth * tileCols;

/// One operand of a tile: its first element, and the strides along its own
/// dimension (rows of A, columns of B) and along k.
template <typename T> struct TileOperand {
  const T *first;
  int64_t stride, strideK;
};

/// sums[i * tileCols + j] = sum over k of a[i, k] * b[k, j] for i < rows and
/// j < tileCols (columns from `cols` on are 0). `packed` has packedElements
/// elements. `convert` converts an element to a Sum.
template <typename Sum, typename TA, typename TB, typename Convert>
void sumTile(const TileOperand<TA> &a, const TileOperand<TB> &b, int64_t rows,
             int64_t cols, int64_t depth, Sum *sums, Sum *packed,
             Convert &&convert) {
  std::fill(sums, sums + tileRows * tileCols, Sum(0));
  for (int64_t k0 = 0; k0 < depth; k0 += tileDepth) {
    int64_t steps = std::min(tileDepth, depth - k0);
    for (int64_t k = 0; k < steps; ++k)
      for (int64_t j = 0; j < tileCols; ++j)
        packed[k * tileCols + j] =
            j < cols ? convert(b.first[(k0 + k) * b.strideK + j * b.stride])
                     : Sum(0);
    for (int64_t i = 0; i < rows; ++i) {
      Sum *line = sums + i * tileCols;
      for (int64_t k = 0; k < steps; ++k) {
        Sum factor = convert(a.first[i * a.stride + (k0 + k) * a.strideK]);
        const Sum *from = packed + k * tileCols;
        for (int64_t j = 0; j < tileCols; ++j)
          line[j] += factor * from[j];
      }
    }
  }
}

} // namespace sinter::plain

#endif // SINTER_BACKENDS_COMMON_DEVICE_PLAINPRODUCT_H
