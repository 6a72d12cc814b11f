//===- Intervals.h - intervals that hold every element ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Intervals, from what is known for certain: constants, small integers, indices
// and functions with bounded values. Called by lints and by the importer, which
// checks no index at run time that cannot be out of range.
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

/// The intervals of values, found when they are asked for and kept: no op that
/// was asked about may change in between.
class Intervals {
public:
  Interval of(mlir::Value value);

private:
  Interval compute(mlir::Value value, mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Interval> known;
  int depth = 0;
};

} // namespace sinter::ir

#endif // SINTER_IR_INTERVALS_H
