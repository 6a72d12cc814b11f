//===- Intervals.h - intervals that hold every element ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Intervals that are certain, derived from constants, small integers, indices
// and functions with bounded values. Used by lints, and by the importer, which
// omits run-time checks of indices that cannot be out of range.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_INTERVALS_H
#define SINTER_IR_INTERVALS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <limits>

namespace sinter::ir {

/// Bounds of all elements that are not NaN.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool isKnown() const { return std::isfinite(low) && std::isfinite(high); }
  Interval joined(Interval other) const {
    return {std::min(low, other.low), std::max(high, other.high)};
  }
};

/// The intervals of values, computed on demand and cached: ops that were asked
/// about must not change in between.
class Intervals {
public:
  Interval of(mlir::Value value);
  /// Takes `interval` for that of `value`.
  void assume(mlir::Value value, Interval interval) { known[value] = interval; }

private:
  Interval compute(mlir::Value value, mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Interval> known;
  int depth = 0;
};

} // namespace sinter::ir

#endif // SINTER_IR_INTERVALS_H
