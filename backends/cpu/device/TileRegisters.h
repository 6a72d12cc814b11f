//===- TileRegisters.h - AMX registers for blocks ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_TILEREGISTERS_H
#define SINTER_BACKENDS_CPU_DEVICE_TILEREGISTERS_H

#include <cstdint>

namespace sinter::cpu {

/// The rows and the columns of a block of a product.
inline constexpr int64_t blockRows = 32, panelColumns = 32;

/// Memory that is read soon: it is brought into the cache of level 2 step by
/// step of a product.
class PanelFetch {
public:
  /// Nothing.
  PanelFetch() = default;
  /// `bytes` bytes from `panel` on, which may be null, in `steps` steps.
  PanelFetch(const uint8_t *panel, int64_t bytes, int64_t steps)
      : at_(panel), end_(panel ? panel + bytes : panel),
        linesOfStep_((bytes / lineBytes + steps - 1) / steps) {}

  void step() {
    for (int64_t i = 0; i < linesOfStep_ && at_ < end_; ++i, at_ += lineBytes)
      __builtin_prefetch(at_, /*rw=*/0, /*locality=*/2);
  }

private:
  static constexpr int64_t lineBytes = 64;

  const uint8_t *at_ = nullptr, *end_ = nullptr;
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
