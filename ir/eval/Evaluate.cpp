//===- Evaluate.cpp - reference evaluation of ops and programs ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Evaluate.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace sinter::ir {

FailureOr<Tensor> evaluateConstantOp(ConstantOp op) {
  FailureOr<Tensor> value = Tensor::fromAttr(op.getValue());
  if (failed(value))
    op.emitOpError("has a value whose bytes are not available");
  return value;
}

FailureOr<SmallVector<ElementsAttr>>
evaluateConstant(Operation *op, ArrayRef<ElementsAttr> operands) {
  auto evaluable = dyn_cast<EvaluateOpInterface>(op);
  if (!evaluable)
    return failure();
  SmallVector<Tensor> values, results;
  for (ElementsAttr operand : operands) {
    FailureOr<Tensor> value = Tensor::fromAttr(operand);
    if (failed(value))
      return failure();
    values.push_back(std::move(*value));
  }
  if (failed(evaluable.evaluate(values, results)))
    return failure();
  SmallVector<ElementsAttr> attrs;
  for (const Tensor &result : results)
    attrs.push_back(result.toAttr());
  return attrs;
}

LogicalResult evaluateOp(Operation *op, ArrayRef<Tensor> operands,
                         SmallVectorImpl<Tensor> &results, Rounding rounding) {
  if (auto fusion = dyn_cast<FusionOpInterface>(op)) {
    auto values = evaluateBlock(fusion.getBody().front(), operands, rounding);
    if (failed(values))
      return failure();
    results.append(std::make_move_iterator(values->begin()),
                   std::make_move_iterator(values->end()));
    return success();
  }
  if (isa<ScanOp, ScanCallOp>(op))
    return evaluateScan(op, operands, results, rounding);
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    FailureOr<Tensor> value = evaluateConstantOp(constant);
    if (failed(value))
      return failure();
    results.push_back(std::move(*value));
    return success();
  }
  auto evaluable = dyn_cast<EvaluateOpInterface>(op);
  if (!evaluable)
    return op->emitOpError("has no reference evaluation");
  if (failed(evaluable.evaluate(operands, results)))
    return failure();
  if (rounding == Rounding::each_op)
    for (Tensor &result : results)
      result.roundToStorage();
  return success();
}

FailureOr<SmallVector<Tensor>>
evaluateBlock(Block &block, ArrayRef<Tensor> arguments, Rounding rounding) {
  Operation *parent = block.getParentOp();
  if (arguments.size() != block.getNumArguments())
    return parent->emitError("takes ")
           << block.getNumArguments() << " arguments, got " << arguments.size();
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    if (argument.getType() != value.type())
      return parent->emitError("argument ")
             << argument.getArgNumber() << " has type " << argument.getType()
             << ", got " << value.type();
  if (block.empty())
    return parent->emitError("has an empty body");

  // A value is freed after its last use, since intermediate tensors may be
  // large.
  llvm::DenseMap<Value, Tensor> values;
  llvm::DenseMap<Value, Operation *> lastUse;
  for (Operation &op : block)
    for (Value operand : op.getOperands())
      lastUse[operand] = &op;
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    if (lastUse.contains(argument))
      values.try_emplace(argument, value);

  for (Operation &op : block) {
    SmallVector<Tensor> operands, results;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      bool isLast =
          lastUse.lookup(operand) == &op &&
          !llvm::is_contained(op.getOperands().drop_front(i + 1), operand);
      Tensor &value = values[operand];
      if (isLast) {
        operands.push_back(std::move(value));
        values.erase(operand);
      } else {
        operands.push_back(value);
      }
    }
    if (op.hasTrait<OpTrait::IsTerminator>())
      return operands;
    if (failed(evaluateOp(&op, operands, results, rounding)))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
      if (lastUse.contains(result))
        values.try_emplace(result, std::move(value));
  }
  return parent->emitError("has a body without a terminator");
}

FailureOr<SmallVector<Tensor>> evaluateFunction(func::FuncOp function,
                                                ArrayRef<Tensor> arguments,
                                                Rounding rounding) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("must have a body of one block to be evaluated");
  return evaluateBlock(function.getBody().front(), arguments, rounding);
}

} // namespace sinter::ir
