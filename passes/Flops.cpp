//===- Flops.cpp - how much arithmetic an op does -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/Flops.h"

#include "passes/OpClasses.h"
#include "passes/precision/PrecisionReport.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::passes;

double Flops::total() const {
  double sum = other;
  for (auto &[type, flops] : contractions)
    sum += flops;
  return sum;
}

static double elements(Value value) {
  return static_cast<double>(ir::tensorType(value).getNumElements());
}

static bool isFloat(Value value) {
  return isa<FloatType>(ir::tensorType(value).getElementType());
}

// Elementwise ops that choose or convert and do not compute.
static bool isFree(Operation *op) {
  return isa<ir::CastOp, ir::WhereOp, ir::CompareOp, ir::IsNanOp,
             ir::StopGradientOp>(op);
}

static double windowSize(ArrayRef<int64_t> window) {
  double size = 1;
  for (int64_t extent : window)
    size *= extent;
  return size;
}

static double otherFlops(Operation *op) {
  if (op->getNumResults() == 0 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return 0;
  Value result = op->getResult(0);
  if (!isFloat(result))
    return 0;
  if (isElementwise(op))
    return isFree(op) ? 0 : elements(result);
  if (isa<ir::ReduceOp, ir::CumulativeOp, ir::CumulativePartsOp>(op))
    return elements(op->getOperand(0));
  if (auto window = dyn_cast<ir::ReduceWindowOp>(op))
    return elements(result) * windowSize(window.getWindow());
  if (auto window = dyn_cast<ir::ReduceWindowGradOp>(op))
    return elements(window.getOutputGrad()) * windowSize(window.getWindow());
  // An addition for each update.
  if (isa<ir::ScatterOp, ir::ScatterElementsOp, ir::ScatterNdOp>(op))
    return elements(op->getOperands().back());
  return 0;
}

// The decomposition, built in a block of its own.
static Flops decomposedFlops(ir::CompositeOpInterface composite) {
  Operation *op = composite.getOperation();
  Block block;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, block.addArgument(operand.getType(), op->getLoc()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  Operation *copy = builder.clone(*op, mapping);
  builder.setInsertionPoint(copy);
  cast<ir::CompositeOpInterface>(copy).decompose(builder);
  copy->erase();
  return flopsOf(block);
}

Flops passes::flopsOf(Operation *op) {
  if (auto fusion = dyn_cast<ir::FusionOpInterface>(op))
    return flopsOf(fusion.getBody().front());
  if (auto scan = dyn_cast<ir::ScanOp>(op)) {
    Flops flops = flopsOf(scan.getBody().front());
    const auto trips = static_cast<double>(scan.getTrips());
    for (auto &[type, count] : flops.contractions)
      count *= trips;
    flops.other *= trips;
    return flops;
  }
  Flops flops;
  if (double products = countMultiplyAdds(op); products > 0) {
    Value operand =
        ir::isContraction(op) ? multiplied(op).first : op->getOperand(0);
    flops.contractions[ir::tensorType(operand).getElementType()] = 2 * products;
  } else if (auto composite = dyn_cast<ir::CompositeOpInterface>(op))
    return decomposedFlops(composite);
  else
    flops.other = otherFlops(op);
  return flops;
}

Flops passes::flopsOf(Block &block) {
  Flops sum;
  for (Operation &op : block) {
    Flops own = flopsOf(&op);
    for (auto &[type, flops] : own.contractions)
      sum.contractions[type] += flops;
    sum.other += own.other;
  }
  return sum;
}
