//===- QuantizableOps.cpp - contractions of constant weights --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/QuantizableOps.h"
#include "ir/Locations.h"

#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

/// Whether `value` is a constant of floats, perhaps transposed.
static bool isConstantWeight(Value value) {
  while (auto transpose = value.getDefiningOp<TransposeOp>())
    value = transpose.getX();
  return value.getDefiningOp<ConstantOp>() != nullptr;
}

/// Why `op` stays float32; "" with its `input` if it need not.
static std::string whyWide(Operation *op, unsigned &input) {
  if (!isa<DotGeneralOp, ConvOp>(op))
    return "transposed convolutions are not quantised";
  if (!isa<func::FuncOp>(op->getParentOp()))
    return "it is in the body of a loop or branch";
  if (!tensorType(op->getOperand(0)).getElementType().isF32())
    return "it is not float32";
  bool isLeft = isConstantWeight(op->getOperand(0)),
       isRight = isConstantWeight(op->getOperand(1));
  if (isLeft == isRight)
    return isLeft ? "both of its operands are constant"
                  : "its weights are not constant";
  if (isLeft && !isa<DotGeneralOp>(op))
    return "its weights are not constant";
  input = isLeft ? 1 : 0;
  return "";
}

std::vector<QuantizableOp> quantizableOps(func::FuncOp function,
                                          StringRef keepFp32) {
  std::vector<QuantizableOp> list;
  llvm::Regex regex(keepFp32);
  function.walk([&](Operation *op) {
    if (!isContraction(op) ||
        !isa<FloatType>(tensorType(op->getResult(0)).getElementType()))
      return;
    QuantizableOp &found = list.emplace_back();
    found.op = op;
    found.reason = whyWide(op, found.input);
    llvm::SmallSetVector<StringRef, 4> names;
    collectNodeNames(op->getLoc(), names);
    if (found.reason.empty() && !keepFp32.empty() &&
        llvm::any_of(names, [&](StringRef name) { return regex.match(name); }))
      found.reason = "--keep-fp32";
  });
  return list;
}

Value sameElements(Value value) {
  while (isa_and_nonnull<TransposeOp, ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

std::string quantizedNode(ModuleOp module) {
  std::string node;
  module.walk([&](CastOp cast) {
    auto from = dyn_cast<IntegerType>(cast.getX().getType().getElementType());
    if (!from || from.getWidth() > 8 || from.isInteger(1))
      return WalkResult::advance();
    Operation *def = cast.getX().getDefiningOp();
    while (isa_and_nonnull<TransposeOp, ReshapeOp, SliceOp, BroadcastOp>(def))
      def = def->getOperand(0).getDefiningOp();
    auto rounded = dyn_cast_or_null<CastOp>(def);
    if (!isa_and_nonnull<ConstantOp>(def) &&
        !(rounded && isa<FloatType>(rounded.getX().getType().getElementType())))
      return WalkResult::advance();
    node = joinedNodeNames(cast.getLoc());
    return WalkResult::interrupt();
  });
  return node;
}

} // namespace sinter::passes
