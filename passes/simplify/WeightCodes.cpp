//===- WeightCodes.cpp - choose codes for constant weights ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/WeightCodes.h"

#include <algorithm>

namespace sinter::passes {

WeightIntegers::WeightIntegers(const std::vector<int16_t> &from,
                               const std::vector<int64_t> &alongK,
                               const std::vector<int64_t> &alongN)
    : length(static_cast<int64_t>(alongK.size())),
      count(static_cast<int64_t>(alongN.size())), numbers(length * count) {
  // Caches well for whichever order the elements have in `from`.
  constexpr int64_t kTile = 64;
  for (int64_t first = 0; first < count; first += kTile) {
    const int64_t end = std::min(first + kTile, count);
    for (int64_t k = 0; k < length; ++k)
      for (int64_t n = first; n < end; ++n)
        numbers[k * count + n] = from[alongK[k] + alongN[n]];
  }
}

WeightCodes WeightCodes::choose(const WeightIntegers &integers, int64_t block) {
  const int64_t length = integers.length, count = integers.count;
  std::vector<int16_t> least(length / block * count, 255),
      most(least.size(), -255);
  for (int64_t k = 0; k < length; ++k) {
    const int16_t *row = integers.numbers.data() + k * count;
    int16_t *low = least.data() + k / block * count,
            *high = most.data() + k / block * count;
    for (int64_t n = 0; n < count; ++n) {
      low[n] = std::min(low[n], row[n]);
      high[n] = std::max(high[n], row[n]);
    }
  }
  const int lowest = *std::min_element(least.begin(), least.end()),
            highest = *std::max_element(most.begin(), most.end());
  int widest = 0;
  for (size_t i = 0; i < least.size(); ++i)
    widest = std::max(widest, most[i] - least[i]);
  auto negative = [](int low) { return static_cast<int16_t>(-low); };
  // A byte has two codes of one block.
  const bool fits4 = widest < 16 && block % 2 == 0;
  if (fits4 && highest - lowest < 16)
    return {4, block, false, {negative(lowest)}};
  if (!fits4 && lowest >= -128 && highest <= 127)
    return {8, block, true, {}};
  if (highest - lowest < 256 && !fits4)
    return {8, block, false, {negative(lowest)}};
  std::transform(least.begin(), least.end(), least.begin(), negative);
  return {fits4 ? 4 : 8, block, false, std::move(least)};
}

std::vector<char> WeightCodes::bytesOf(const WeightIntegers &integers) const {
  const int64_t count = integers.count, rows = bits == 4 ? 2 : 1;
  const bool perBlock = zeros.size() > 1;
  const std::vector<int16_t> same(perBlock ? 0 : count,
                                  zeros.empty() ? 0 : zeros.front());
  std::vector<char> bytes(integers.numbers.size() / rows);
  char *to = bytes.data();
  for (int64_t k = 0; k < integers.length; k += rows, to += count) {
    const int16_t *zero =
        perBlock ? zeros.data() + k / block * count : same.data();
    const int16_t *low = integers.numbers.data() + k * count;
    if (bits == 4)
      for (int64_t n = 0; n < count; ++n)
        to[n] = static_cast<char>((low[n] + zero[n]) |
                                  (low[count + n] + zero[n]) << 4);
    else
      for (int64_t n = 0; n < count; ++n)
        to[n] = static_cast<char>(low[n] + zero[n]);
  }
  return bytes;
}

} // namespace sinter::passes
