//===- Random.cpp - meaning of counter-based randomness -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

#include <array>

using namespace mlir;
using namespace sinter::ir;

/// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3", SC 2011. The first of the four words.
static uint32_t philox(std::array<uint32_t, 4> counter,
                       std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t left = uint64_t(0xD2511F53) * counter[0];
    uint64_t right = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(right >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(right),
               static_cast<uint32_t>(left >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter[0];
}

LogicalResult DropoutOp::evaluate(ArrayRef<Tensor> operands,
                                  SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(x.type());
  uint64_t seed = operands[1].ints[0], threshold = getThreshold();
  uint32_t step = static_cast<uint32_t>(operands[2].ints[0]);
  uint32_t opId = static_cast<uint32_t>(getOpId());
  double kept = 1 - getRatio().convertToDouble();
  uint64_t first = getFirst() ? operands[3].ints[0] : 0;
  for (size_t i = 0; i < x.floats.size(); ++i) {
    uint64_t index = first + i;
    uint32_t word = philox(
        {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), step,
         opId},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    result.floats[i] = word >= threshold ? x.floats[i] / kept : 0;
  }
  results.push_back(std::move(result));
  return success();
}
