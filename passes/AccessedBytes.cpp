//===- AccessedBytes.cpp - the bytes that a kernel reads ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/AccessedBytes.h"

#include "ir/exec/Exec.h"
#include "passes/OpClasses.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::passes;

static int64_t elements(Value value) {
  return ir::tensorType(value).getNumElements();
}

// Whether an element of the result needs at most one element of the operand.
static bool isReadOnce(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isElementwise(op))
    return true;
  // The indices of gather_nd are tuples.
  if (isa<ir::GatherOp, ir::GatherElementsOp, ir::GatherNdOp>(op))
    return use.getOperandNumber() == 0;
  return isa<ir::BroadcastOp, ir::ReshapeOp, ir::TransposeOp, ir::SliceOp,
             ir::PadOp, ir::ConcatOp, ir::ReverseOp>(op);
}

// The most elements of `value` that are read.
static int64_t readElements(Value value) {
  const int64_t all = elements(value);
  int64_t read = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (auto fusion = dyn_cast<ir::FusionOpInterface>(op))
      read += readElements(
          fusion.getBody().front().getArgument(use.getOperandNumber()));
    else if (isReadOnce(use))
      read += std::min(readElements(op->getResult(0)), all);
    else
      return all;
    if (read >= all)
      return all;
  }
  return read;
}

static int64_t bytesOf(Value value, int64_t count) {
  return count * ir::elementSizeBytes(ir::tensorType(value).getElementType());
}

// Of a scatter: the elements that it updates, with repetitions.
static std::optional<int64_t> updatedElements(Operation *op) {
  if (!isa<ir::ScatterOp, ir::ScatterElementsOp, ir::ScatterNdOp>(op))
    return std::nullopt;
  return elements(op->getOperands().back());
}

static bool readsElement(Operation *scatter) {
  auto kind = scatter->getAttrOfType<ir::ScatterKindAttr>("kind");
  return !kind || kind.getValue() != ir::ScatterKind::set;
}

std::vector<AccessLimit> passes::accessLimits(Block &body) {
  std::vector<AccessLimit> limits;
  for (BlockArgument argument : body.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      if (int64_t read = readElements(argument); read < elements(argument))
        limits.push_back({argument.getArgNumber(), bytesOf(argument, read)});
  for (OpOperand &root : body.getTerminator()->getOpOperands()) {
    Operation *op = root.get().getDefiningOp();
    auto updated = op ? updatedElements(op) : std::nullopt;
    auto argument =
        updated ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
    if (!argument || argument.getOwner() != &body || !argument.hasOneUse() ||
        *updated >= elements(argument))
      continue;
    const int64_t bytes = bytesOf(argument, *updated);
    limits.push_back({argument.getArgNumber(), readsElement(op) ? bytes : 0,
                      root.getOperandNumber(), bytes});
  }
  return limits;
}
