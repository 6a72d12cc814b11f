//===- StepWork.h - work between the steps of a product ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_STEPWORK_H
#define SINTER_BACKENDS_CPU_DEVICE_STEPWORK_H

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sinter::cpu {

/// Rows of a block.
struct RowRange {
  int64_t begin, end;
};

/// The rows of a block that are finished and stored piece by piece between the
/// steps of the next block's product. AMX multiplies for many cycles after its
/// instructions were issued; the other units of the core are free then.
class StepWork {
public:
  using Piece = void (*)(const void *block, RowRange rows);

  /// No rows.
  StepWork() = default;
  /// `block` stays in place until all rows are done.
  StepWork(Piece piece, const void *block, int64_t rows)
      : piece_(piece), block_(block), rows_(rows) {}

  /// The product has so many steps. Pieces have `least` rows or more.
  void spread(int64_t steps, int64_t least) {
    if (rows_ == 0)
      return;
    rowsOfPiece_ = std::max(least, (rows_ + steps - 1) / steps);
    const int64_t pieces = (rows_ + rowsOfPiece_ - 1) / rowsOfPiece_;
    interval_ = left_ = std::max<int64_t>(1, steps / pieces);
  }
  void step() {
    if (--left_ == 0) {
      left_ = interval_;
      run(rowsOfPiece_);
    }
  }
  /// Does what is left.
  void finish() { run(rows_); }

private:
  void run(int64_t rows) {
    const int64_t end = std::min(rows_, done_ + rows);
    if (done_ < end)
      piece_(block_, {done_, end});
    done_ = end;
  }

  Piece piece_ = nullptr;
  const void *block_ = nullptr;
  int64_t rows_ = 0, done_ = 0;
  int64_t rowsOfPiece_ = 0, interval_ = 0;
  int64_t left_ = std::numeric_limits<int64_t>::max(); // steps to the next one
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_STEPWORK_H
