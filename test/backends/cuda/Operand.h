//===- Operand.h - operands of one command, for tests -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_BACKENDS_CUDA_OPERAND_H
#define SINTER_TEST_BACKENDS_CUDA_OPERAND_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sinter::test {

/// The bytes of one slice and, before a run, their values in double.
struct Operand {
  uint32_t dtype = SINTER_F32;
  std::vector<double> values;
  std::vector<uint8_t> bytes;
  /// Where the slice begins in memory that is aligned to 256 bytes.
  uint64_t offsetBytes = 0;

  /// Values in [-1, 1] that differ from seed to seed, rounded to the dtype;
  /// SINTER_BOOL: arbitrary bytes.
  static Operand random(uint32_t dtype, int64_t elements, uint32_t seed);
  double load(int64_t index) const;
  /// Replaces a value and its bytes.
  void store(int64_t index, double value);
};

/// Half the distance of neighbours near 1; 0 for integers.
double roundingOf(uint32_t dtype);

/// The type of a contraction's operands in memory.
inline uint32_t storageOf(uint32_t dtype) {
  return dtype == SINTER_TF32 ? uint32_t(SINTER_F32) : dtype;
}

/// Compares results with sums in double and keeps the first that is wrong.
class Comparison {
public:
  /// `slack`: what a result may differ by beside roundings, for each unit of
  /// the magnitude of its sum. 0 where every sum is in fp32.
  explicit Comparison(double slack = 0) : slack_(slack) {}

  /// Whether `found` differs from `value` at most by one rounding to `dtype`
  /// and the roundings of a sum of `terms` terms whose magnitudes add up to
  /// `magnitude`, computed in fp32 (fp64 for fp64, exactly for integers). NaN
  /// and infinity must be found where they are expected. `vendor`: what a
  /// vendor's kernel may add to that; not allowed where `slack` is 0.
  void near(double found, double value, uint32_t dtype, double magnitude,
            int64_t terms, const char *what, int64_t index, double vendor = 0);
  /// As near(), with the largest difference given.
  void within(double found, double value, double allowed, const char *what,
              int64_t index);
  void fail(std::string line);

  /// One line about the first wrong result; empty if there is none.
  const std::string &failure() const { return failure_; }
  /// The largest share of its bound that a result used, wrong ones included.
  double worst() const { return worst_; }
  int64_t numWrong() const { return numWrong_; }

private:
  double slack_, worst_ = 0;
  int64_t numWrong_ = 0;
  std::string failure_;
};

struct Ran {
  rt::Status prepared; // ok or SINTER_UNSUPPORTED
  rt::Status computed;
  std::string description;
};

/// Checks `command`, which needs no slices yet, prepares it and runs it. Copies
/// back all operands except the first `numReads`, which must be unchanged.
/// `onlyPrepare`: does not run it.
using CommandRunner =
    std::function<Ran(sinter_command command, std::vector<Operand> &operands,
                      uint32_t numReads, bool onlyPrepare)>;

/// The slices of such a command.
std::vector<sinter_slice> slicesOf(const std::vector<Operand> &operands,
                                   uint32_t numReads);

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_CUDA_OPERAND_H
