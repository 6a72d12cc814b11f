//===- Cost.cpp - floating-point operations of a fusion -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Cost.h"

#include "passes/fuse/Cluster.h"
#include "passes/precision/PrecisionReport.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

double elements(Value value) {
  return static_cast<double>(ir::tensorType(value).getNumElements());
}

double flopsOfOp(Operation &op) {
  if (auto part = dyn_cast<ir::FusionOp>(op))
    return flopsOf(part);
  if (double products = countMultiplyAdds(&op); products > 0)
    return 2 * products;
  if (isa<ir::ConstantOp, ir::ReshapeOp, ir::BroadcastOp, ir::TransposeOp,
          ir::SliceOp, ir::IotaOp>(op))
    return 0;
  if (isReduction(&op))
    return elements(op.getOperand(0));
  double result = 0;
  for (Value value : op.getResults())
    result += elements(value);
  return result;
}

} // namespace

double flopsOf(ir::FusionOp fusion) {
  double flops = 0;
  for (Operation &op : fusion.getBody().front().without_terminator())
    flops += flopsOfOp(op);
  return flops;
}

} // namespace sinter::passes::plan
