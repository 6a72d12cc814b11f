//===- ByteCorrections.cpp - weights that 16-bit sums can hold ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteCorrections.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>

using namespace sinter::cpu;
using namespace sinter::cpu::bytetiles;

namespace {

/// Of the sum of the positive or the negative weights that meet in 16 bits.
constexpr int32_t mostWeight = 128;

/// The weights with one sign that meet in 16 bits.
struct OneSign {
  int32_t sign, sum = 0;

  bool fits(int32_t weight) const {
    return sum + std::max(sign * weight, 0) <= mostWeight;
  }
  void add(int32_t weight) { sum += std::max(sign * weight, 0); }
};

/// A pair of products of a correction.
struct Pair {
  OneSign positive{1}, negative{-1};
  int64_t count = 0;

  bool take(int32_t weight) {
    if (count == 2 || !positive.fits(weight) || !negative.fits(weight))
      return false;
    positive.add(weight);
    negative.add(weight);
    ++count;
    return true;
  }
};

} // namespace

/// Cuts the weights of 8 columns in the groups at `low` and `high`, of rows
/// `row` and `row` + 4 on. The first halves of both groups meet in 16 bits, and
/// so do the second ones. The largest weights are cut, so that few are.
void ByteCorrections::cutGroups(uint8_t *low, uint8_t *high, int64_t row,
                                Columns &columns) const {
  constexpr int64_t half = group / 2;
  for (int64_t at = 0; at < ByteCorrection::bytes; at += half) {
    const std::array<uint8_t *, 4> places = {low + at, low + at + 1, high + at,
                                             high + at + 1};
    std::array<int32_t, 4> weights;
    OneSign positive{1}, negative{-1};
    for (size_t i = 0; i < places.size(); ++i) {
      weights[i] = static_cast<int8_t>(*places[i]);
      positive.add(weights[i]);
      negative.add(weights[i]);
    }
    for (OneSign side : {positive, negative})
      while (side.sum > mostWeight) {
        size_t largest = 0;
        for (size_t i = 1; i < places.size(); ++i)
          if (side.sign * weights[i] > side.sign * weights[largest])
            largest = i;
        const int32_t excess = std::min(side.sum - mostWeight,
                                        side.sign * weights[largest]),
                      factor = side.sign * excess;
        side.sum -= excess;
        weights[largest] -= factor;
        *places[largest] = static_cast<uint8_t>(weights[largest]);
        const auto inGroups = static_cast<int64_t>(
            at % group + static_cast<int64_t>(largest % 2) +
            static_cast<int64_t>(largest / 2) * group);
        // In the order of rows, of which only the last few may be later ones.
        std::vector<Excess> &column = columns[at / group];
        const auto own = static_cast<int32_t>(row + inGroups);
        auto place = column.end();
        while (place != column.begin() && std::prev(place)->row > own)
          --place;
        column.insert(place, {own, factor});
      }
  }
}

/// Each correction begins at the first excess that is left, and takes what it
/// can of the columns.
void ByteCorrections::append(Columns &columns, const PanelPart &part) {
  constexpr int32_t window = ByteCorrection::window;
  const auto last =
      static_cast<int32_t>((used_ + window - 1) / window * window - window);
  std::array<size_t, ByteCorrection::columns> done{};
  while (true) {
    int32_t first = std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i < done.size(); ++i)
      if (done[i] < columns[i].size())
        first = std::min(first, columns[i][done[i]].row);
    if (first == std::numeric_limits<int32_t>::max())
      return;
    first = std::min(first, last);
    ByteCorrection correction{};
    for (size_t i = 0; i < done.size(); ++i) {
      std::array<Pair, 2> pairs;
      std::vector<Excess> &column = columns[i];
      for (size_t j = done[i];
           j < column.size() && column[j].row < first + window; ++j)
        for (size_t pair = 0; column[j].factor != 0 && pair < 2; ++pair) {
          if (!pairs[pair].take(column[j].factor))
            continue;
          const size_t at = i * ByteCorrection::factorsOfColumn + 2 * pair +
                            static_cast<size_t>(pairs[pair].count) - 1;
          correction.places[at] = static_cast<uint8_t>(column[j].row - first);
          correction.factors[at] = static_cast<int8_t>(column[j].factor);
          column[j].factor = 0;
        }
      while (done[i] < column.size() && column[done[i]].factor == 0)
        ++done[i];
    }
    list_.push_back(correction);
    windows_.push_back(part.inRow + first);
  }
}

void ByteCorrections::cut(uint8_t *panel) {
  Columns columns;
  ++panels_;
  for (int64_t quarter = 0; quarter < PanelCorrections::quarters; ++quarter)
    for (const PanelPart &part : parts_) {
      for (std::vector<Excess> &column : columns)
        column.clear();
      for (int64_t row = 0; row < used_; row += 2 * group) {
        uint8_t *low = panel + part.inPanel + lineOffset(row, quarter / 2) +
                       quarter % 2 * ByteCorrection::bytes;
        cutGroups(low, low + lineBytes, row, columns);
      }
      append(columns, part);
      starts_.push_back(static_cast<uint32_t>(list_.size()));
    }
}

void ByteCorrections::moveTo(PackedStore &store) {
  const size_t bytes = list_.size() * sizeof(ByteCorrection);
  moved_ = store.make(bytes, [&](uint8_t *to) {
    if (bytes)
      std::memcpy(to, list_.data(), bytes);
  });
  list_ = {};
}

PanelCorrections ByteCorrections::ofPanel(int64_t panel) const {
  return {static_cast<int64_t>(parts_.size()),
          starts_.data() + panel * startsOfPanel(),
          moved_ ? reinterpret_cast<const ByteCorrection *>(moved_.get())
                 : list_.data(),
          windows_.data()};
}

double ByteCorrections::density() const {
  const int64_t windows = (used_ + ByteCorrection::window - 1) /
                          ByteCorrection::window * panels_ * startsOfPanel();
  return windows ? static_cast<double>(windows_.size()) /
                       static_cast<double>(windows)
                 : 0;
}
