//===- Collective.cpp - meaning of what replicas do together --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

using namespace mlir;
using namespace sinter::ir;

// One evaluation is one replica; its peers hold the same values.
LogicalResult AllReduceOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const auto replicas = static_cast<int64_t>(getReplicas());
  for (const Tensor &operand : operands) {
    Tensor result = operand;
    for (double &value : result.floats)
      value *= static_cast<double>(replicas);
    for (int64_t &value : result.ints)
      value = static_cast<int64_t>(static_cast<uint64_t>(value) *
                                   static_cast<uint64_t>(replicas));
    results.push_back(std::move(result));
  }
  return success();
}
