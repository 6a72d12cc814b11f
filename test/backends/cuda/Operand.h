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
#include <string>
#include <vector>

namespace sinter::test {

/// The bytes of one slice and, before a run, their values in double.
struct Operand {
  uint32_t dtype = SINTER_F32;
  std::vector<double> values;
  std::vector<uint8_t> bytes;

  /// Values in [-1, 1] that differ from seed to seed, rounded to the dtype;
  /// SINTER_BOOL: arbitrary bytes.
  static Operand random(uint32_t dtype, int64_t elements, uint32_t seed);
  double load(int64_t index) const;
};

/// Half the distance of neighbours near 1; 0 for integers.
double roundingOf(uint32_t dtype);

/// Requires that `found` differs from `value` at most by one rounding to
/// `dtype` and the roundings of a sum of `terms` terms whose magnitudes add up
/// to `magnitude`, computed in fp32 (fp64 for fp64, exactly for integers).
void requireNear(double found, double value, uint32_t dtype, double magnitude,
                 int64_t terms, const char *what);

struct Ran {
  rt::Status prepared; // ok or SINTER_UNSUPPORTED
  std::string description;
};

/// Checks `command`, which needs no slices yet, prepares it and runs it on the
/// simulated device's library. Copies back all operands except the first
/// `numReads`, which must be unchanged. `onlyPrepare`: does not run it.
Ran runOnSim(sinter_command command, std::vector<Operand> &operands,
             uint32_t numReads, bool onlyPrepare);

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_CUDA_OPERAND_H
