//===- RangeHistogram.cpp - the range of quantised values -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/RangeHistogram.h"

#include <algorithm>
#include <cmath>

using namespace sinter::compiler;

void RangeHistogram::extremes(llvm::ArrayRef<float> numbers) {
  float low = std::numeric_limits<float>::infinity(), high = -low, sum = 0;
  for (float number : numbers) {
    low = std::min(low, number);
    high = std::max(high, number);
    sum += number * 0; // NaN if the number is not finite
  }
  finite &= sum == 0;
  least = std::min<double>(least, low);
  greatest = std::max<double>(greatest, high);
}

double RangeHistogram::edge(int64_t bin) const {
  return bin == kBins
             ? greatest
             : least + (greatest - least) * (static_cast<double>(bin) / kBins);
}

void RangeHistogram::count(llvm::ArrayRef<float> numbers) {
  bins.resize(kBins);
  const double scale = greatest > least ? kBins / (greatest - least) : 0;
  for (float number : numbers) {
    auto bin = static_cast<int64_t>((number - least) * scale);
    ++bins[std::clamp<int64_t>(bin, 0, kBins - 1)];
    zeros += number == 0;
  }
  total += static_cast<int64_t>(numbers.size());
}

/// The number that `below` of the numbers are less than.
double RangeHistogram::percentile(double below) const {
  double sum = 0;
  for (int64_t bin = 0; bin < kBins; ++bin) {
    auto inBin = static_cast<double>(bins[bin]);
    if (inBin > 0 && sum + inBin >= below)
      return edge(bin) +
             (edge(bin + 1) - edge(bin)) * std::max(below - sum, 0.0) / inBin;
    sum += inBin;
  }
  return greatest;
}

// With sums of the numbers' zeroth, first and second powers up to each edge,
// the error of a pair of bounds takes a few operations: all pairs are tried.
std::pair<double, double> RangeHistogram::leastError() const {
  std::vector<double> count(kBins + 1), first(kBins + 1), second(kBins + 1);
  for (int64_t bin = 0; bin < kBins; ++bin) {
    auto inBin = static_cast<double>(bins[bin]);
    double middle = (edge(bin) + edge(bin + 1)) / 2;
    count[bin + 1] = count[bin] + inBin;
    first[bin + 1] = first[bin] + inBin * middle;
    second[bin + 1] = second[bin] + inBin * middle * middle;
  }
  // The squared distances of the numbers of bins [from, to) to `bound`.
  auto distances = [&](int64_t from, int64_t to, double bound) {
    return (second[to] - second[from]) - 2 * bound * (first[to] - first[from]) +
           bound * bound * (count[to] - count[from]);
  };
  // A bound and the edge of bins at it. The widest come first.
  using Bound = std::pair<double, int64_t>;
  std::vector<Bound> lows, highs;
  for (int64_t bin = 0; bin <= kBins; ++bin) {
    if (edge(bin) < 0)
      lows.emplace_back(edge(bin), bin);
    if (edge(kBins - bin) > 0)
      highs.emplace_back(edge(kBins - bin), kBins - bin);
  }
  // At a bound of 0, the bin with 0 counts as inside.
  lows.emplace_back(0,
                    static_cast<int64_t>(lows.empty() ? 0 : lows.size() - 1));
  highs.emplace_back(
      0, kBins - static_cast<int64_t>(highs.empty() ? 0 : highs.size() - 1));
  double best = std::numeric_limits<double>::infinity();
  std::pair<double, double> range = {0, 0};
  for (auto [low, begin] : lows) {
    double below = distances(0, begin, low);
    for (auto [high, end] : highs) {
      if (end < begin)
        break;
      double step = (high - low) / 255;
      double inside =
          std::max(count[end] - count[begin] - static_cast<double>(zeros), 0.0);
      double error =
          below + distances(end, kBins, high) + inside * step * step / 12;
      if (error < best) {
        best = error;
        range = {low, high};
      }
    }
  }
  return range;
}

std::pair<double, double> RangeHistogram::range(llvm::StringRef method) const {
  if (!(least <= greatest)) // no numbers
    return {0, 0};
  std::pair<double, double> result = {least, greatest};
  if (method != "minmax" && greatest > least && total > 0) {
    const double outside =
        static_cast<double>(total) * (100 - kPercentile) / 200;
    result = method == "mse"
                 ? leastError()
                 : std::pair(percentile(outside),
                             percentile(static_cast<double>(total) - outside));
  }
  return {std::min(result.first, 0.0), std::max(result.second, 0.0)};
}
