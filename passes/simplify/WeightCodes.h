//===- WeightCodes.h - choose codes for constant weights --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Part of weightOnlyProduct: which codes of 4 or 8 bits represent the integers
// of a matrix of weights, and their bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_WEIGHTCODES_H
#define SINTER_PASSES_SIMPLIFY_WEIGHTCODES_H

#include <cstdint>
#include <vector>

namespace sinter::passes {

/// A matrix [length, count] of integers of at most 255, row-major.
struct WeightIntegers {
  int64_t length, count; // K, N
  std::vector<int16_t> numbers;

  /// Element (k, n) is that of `from` at alongK[k] + alongN[n].
  WeightIntegers(const std::vector<int16_t> &from,
                 const std::vector<int64_t> &alongK,
                 const std::vector<int64_t> &alongN);
};

/// How integers become codes: `bits` each, with zero points of blocks along K,
/// or one for all.
struct WeightCodes {
  int64_t bits, block;
  bool isSigned;
  std::vector<int16_t> zeros; // [length / block, count], one, or none for 0

  /// Codes of as few bits as possible. `block` divides the length.
  static WeightCodes choose(const WeightIntegers &integers, int64_t block);

  /// The bytes of the codes, [length, count]; of 4 bits, [length / 2, count].
  std::vector<char> bytesOf(const WeightIntegers &integers) const;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_WEIGHTCODES_H
