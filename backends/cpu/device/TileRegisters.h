//===- TileRegisters.h - AMX registers for blocks ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_TILEREGISTERS_H
#define SINTER_BACKENDS_CPU_DEVICE_TILEREGISTERS_H

#include <cstdint>
#include <limits>

namespace sinter::cpu {

/// The rows and the columns of a block of a product.
inline constexpr int64_t blockRows = 32, panelColumns = 32;

/// `count` pieces of memory of `bytes` bytes each, which begin `stride` bytes
/// apart.
struct Pieces {
  const uint8_t *first = nullptr;
  int64_t bytes = 0, count = 0, stride = 0;
};

/// The memory of a rows x columns matrix of elements of `width` bytes, of which
/// one stride, in elements, is 1; nothing if neither is.
inline Pieces piecesOf(const uint8_t *first, int64_t rows, int64_t rowStride,
                       int64_t columns, int64_t colStride, int64_t width) {
  if (colStride == 1)
    return {first, width * columns, rows, width * rowStride};
  if (rowStride == 1)
    return {first, width * rows, columns, width * colStride};
  return {};
}

/// A part of the depth of a product.
struct PanelPart {
  int64_t inRow;   // elements in front of it in a row of A
  int64_t inPanel; // bytes in front of it in a panel
};

/// Memory that is read soon: it is brought into the cache of level 2 step by
/// step of a product.
class PanelFetch {
public:
  /// Nothing.
  PanelFetch() = default;
  /// `pieces`, in `steps` steps.
  PanelFetch(const Pieces &pieces, int64_t steps)
      : at_(pieces.first), end_(pieces.first + pieces.bytes),
        toNext_(pieces.stride -
                (pieces.bytes + lineBytes - 1) / lineBytes * lineBytes),
        stride_(pieces.stride), left_(pieces.bytes > 0 ? pieces.count : 0) {
    const int64_t lines = left_ * ((pieces.bytes + lineBytes - 1) / lineBytes);
    linesOfStep_ = (lines + steps - 1) / steps;
  }

  void step() {
    for (int64_t i = 0; i < linesOfStep_ && left_ > 0; ++i) {
      __builtin_prefetch(at_, /*rw=*/0, /*locality=*/2);
      at_ += lineBytes;
      if (at_ < end_)
        continue;
      at_ += toNext_;
      end_ += stride_;
      --left_;
    }
  }

  /// Fetches what is left, if there were fewer steps.
  void finish() {
    linesOfStep_ = std::numeric_limits<int64_t>::max();
    step();
  }

private:
  static constexpr int64_t lineBytes = 64;

  const uint8_t *at_ = nullptr, *end_ = nullptr;
  int64_t toNext_ = 0, stride_ = 0;
  int64_t left_ = 0; // pieces
  int64_t linesOfStep_ = 0;
};

/// The shapes of the tile registers of one thread. At most one object for a
/// thread at a time, and no call of the library during its lifetime. Without
/// configure(), it needs no AMX.
///
/// A block has up to 32 rows of A and 32 columns of B: tiles 0 and 1 are the
/// sums of the first 16 rows, 2 and 3 those of the others, 4 and 5 are of A, 6
/// and 7 of B.
class TileRegisters {
public:
  TileRegisters() = default;
  ~TileRegisters();
  TileRegisters(const TileRegisters &) = delete;
  TileRegisters &operator=(const TileRegisters &) = delete;

  /// For blocks of `rows` rows (1 to 32), of each of which `bytes` bytes are
  /// multiplied at once (4 to 64, a multiple of 4). Returns at once if the
  /// registers have these shapes.
  void configure(int64_t rows, int64_t bytes);

private:
  int64_t rows_ = 0, bytes_ = 0;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_TILEREGISTERS_H
