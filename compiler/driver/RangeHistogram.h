//===- RangeHistogram.h - the range of quantised values ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The numbers of one tensor, over all rows of calibration data, and the range
// that 8-bit codes of it should stand for. Two passes over the data: extremes()
// for everything, then count() for everything in any order.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_RANGEHISTOGRAM_H
#define SINTER_COMPILER_DRIVER_RANGEHISTOGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sinter::compiler {

class RangeHistogram {
public:
  static constexpr int64_t kBins = 2048; // of equal width
  /// The share of the numbers, in percent, that the range of "percentile"
  /// holds; half of the others lie on either side.
  static constexpr double kPercentile = 99.99;

  void extremes(llvm::ArrayRef<float> numbers);
  void count(llvm::ArrayRef<float> numbers);
  /// False if a number was NaN or infinite.
  bool isFinite() const { return finite; }

  /// A range with 0 in it:
  ///  minmax: the least and the greatest number;
  ///  percentile: kPercentile, linear within a bin;
  ///  mse: the bounds, at edges of bins, with the smallest mean square error.
  ///  A number outside is moved to the nearest bound; one inside, but 0,
  ///  is off by step^2 / 12 on average, as in any uniform quantiser.
  std::pair<double, double> range(llvm::StringRef method) const;

private:
  double edge(int64_t bin) const;
  double percentile(double below) const;
  std::pair<double, double> leastError() const;

  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  bool finite = true;
  int64_t zeros = 0, total = 0;
  std::vector<int64_t> bins; // empty until the first count()
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_RANGEHISTOGRAM_H
