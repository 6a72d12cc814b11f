//===- Scans.cpp - building loops that stay loops -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Scans.h"
#include "compiler/import/onnx/GraphImport.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace sinter::compiler {

ScanBuilder::ScanBuilder(NodeImport &n)
    : n(n), main_(*n.b.getInsertionBlock()),
      before_(main_.empty() ? nullptr : &main_.back()),
      block_(std::make_unique<Block>()) {}

ScanBuilder::~ScanBuilder() {
  if (!block_)
    return;
  SmallVector<Operation *> ops = bodyOps();
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

Value ScanBuilder::argument(RankedTensorType type) {
  return block_->addArgument(type, n.loc);
}

RankedTensorType ScanBuilder::sliceType(Value stack) {
  RankedTensorType type = ir::tensorType(stack);
  return RankedTensorType::get(type.getShape().drop_front(),
                               type.getElementType());
}

SmallVector<Operation *> ScanBuilder::bodyOps() const {
  SmallVector<Operation *> ops;
  llvm::DenseSet<Operation *> isInBody;
  auto depends = [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument ? argument.getOwner() == block_.get()
                    : isInBody.contains(operand.getDefiningOp());
  };
  for (Operation *op = before_ ? before_->getNextNode()
                               : (main_.empty() ? nullptr : &main_.front());
       op; op = op->getNextNode())
    if (llvm::any_of(op->getOperands(), depends)) {
      ops.push_back(op);
      isInBody.insert(op);
    }
  return ops;
}

ir::ScanOp ScanBuilder::finish(int64_t trips, bool isReverse,
                               const Operands &operands, ValueRange next,
                               ValueRange slices) {
  SmallVector<Operation *> ops = bodyOps();
  if (llvm::any_of(ops, llvm::IsaPred<ir::IndexFaultOp>))
    return {};
  Block *body = block_.get();
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  OpBuilder inner(n.context());
  inner.setInsertionPointToEnd(body);
  SmallVector<Value> yielded(next);
  llvm::append_range(yielded, slices);
  auto yield = inner.create<ir::YieldOp>(n.loc, yielded);

  // The body sees values from outside as arguments, or has copies of them.
  SmallVector<Value> whole;
  llvm::DenseMap<Value, Value> inside;
  inner.setInsertionPointToStart(body);
  auto bring = [&](OpOperand &operand) {
    Value value = operand.get();
    if (value.getParentBlock() == body)
      return;
    Value &copy = inside[value];
    if (!copy) {
      auto constant = value.getDefiningOp<ir::ConstantOp>();
      if (constant && ir::ScanOp::copiesIntoBody(constant.getValue())) {
        copy = inner.clone(*constant)->getResult(0);
      } else {
        copy = body->addArgument(value.getType(), value.getLoc());
        whole.push_back(value);
      }
    }
    operand.set(copy);
  };
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      bring(operand);
  for (OpOperand &operand : yield->getOpOperands())
    bring(operand);

  SmallVector<Type> types(TypeRange(ValueRange(operands.initial)));
  for (Value slice : slices) {
    SmallVector<int64_t> shape{trips};
    llvm::append_range(shape, ir::tensorType(slice).getShape());
    types.push_back(RankedTensorType::get(shape, n.elementOf(slice)));
  }
  auto scan = n.b.create<ir::ScanOp>(n.loc, types, trips, isReverse,
                                     operands.stacks, operands.initial, whole);
  scan.getBody().push_back(block_.release());
  return scan;
}

} // namespace sinter::compiler
