//===- Resize.cpp - ops on another number of rows -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/Resize.h"

using namespace mlir;

namespace sinter::passes {

bool mapsOneOperand(Operation *op) {
  return isa<ir::BroadcastOp, ir::ReduceOp, ir::ArgReduceOp, ir::SoftmaxOp,
             ir::LogSoftmaxOp, ir::SliceOp, ir::PadOp, ir::TransposeOp,
             ir::ReshapeOp>(op);
}

Operation *copyResized(OpBuilder &builder, Operation *op, ValueRange operands,
                       std::optional<int64_t> dim, int64_t size) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addAttributes(op->getAttrs());
  for (Value result : op->getResults()) {
    RankedTensorType type = ir::tensorType(result);
    SmallVector<int64_t> shape(type.getShape());
    if (dim)
      shape[*dim] = size;
    state.addTypes(type.clone(shape));
  }
  Operation *copied = builder.create(state);
  if (auto slice = dyn_cast<ir::SliceOp>(copied); slice && dim) {
    SmallVector<int64_t> limits(slice.getLimits());
    limits[*dim] = size;
    slice.setLimits(limits);
  }
  if (auto constant = dyn_cast<ir::ConstantOp>(copied))
    constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue())
                              .resizeSplat(constant.getType()));
  return copied;
}

} // namespace sinter::passes
