//===- Cost.cpp - the cost of running a fusion ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/remat/Cost.h"

#include "ir/exec/Exec.h"
#include "passes/fuse/Cluster.h"
#include "passes/precision/PrecisionReport.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// The operations that a core does while its memory moves a byte: 100 GFLOP/s
/// of contractions with AVX-512, 10 GB/s.
constexpr double kFlopsPerByte = 10;

double elements(Value value) {
  return static_cast<double>(ir::tensorType(value).getNumElements());
}

double flopsOfOp(Operation &op) {
  if (auto part = dyn_cast<ir::FusionOpInterface>(op))
    return flopsOf(part);
  if (double products = countMultiplyAdds(&op); products > 0)
    return 2 * products;
  if (ir::isView(&op) || isa<ir::ConstantOp, ir::IotaOp>(op))
    return 0;
  if (ir::isReduction(&op))
    return elements(op.getOperand(0));
  double result = 0;
  for (Value value : op.getResults())
    result += elements(value);
  return result;
}

} // namespace

double flopsOf(ir::FusionOpInterface fusion) {
  double flops = 0;
  for (Operation &op : fusion.getBody().front().without_terminator())
    flops += flopsOfOp(op);
  return flops;
}

double cpuTimeOf(ir::FusionOpInterface fusion) {
  llvm::SmallSetVector<Value, 8> values;
  values.insert(fusion->operand_begin(), fusion->operand_end());
  values.insert(fusion->result_begin(), fusion->result_end());
  double bytes = 0;
  for (Value value : values)
    bytes += static_cast<double>(exec::sizeBytes(value.getType()));
  return std::max(bytes, flopsOf(fusion) / kFlopsPerByte);
}

} // namespace sinter::passes::plan
