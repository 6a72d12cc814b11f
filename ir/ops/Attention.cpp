//===- Attention.cpp - scaled dot-product attention: verify ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Attention.cpp.inc"

void SinterDialect::registerAttention() {
  addOperations<
#define GET_OP_LIST
#include "ir/Attention.cpp.inc"
      >();
}

/// Statistics are float64 for float64, and float32 for all narrower types.
static Type statsElement(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, Value mask, double scale,
                        bool causal) {
  RankedTensorType type = tensorType(query);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = tensorType(value).getShape().back();
  build(builder, state, type.clone(shape),
        RankedTensorType::get(type.getShape().drop_back(),
                              statsElement(type.getElementType())),
        query, key, value, mask, builder.getF64FloatAttr(scale),
        causal ? builder.getUnitAttr() : UnitAttr());
}

/// The checks that attention and its gradient have in common.
template <class OpTy> static LogicalResult verifyAttention(OpTy op) {
  Report report(op);
  RankedTensorType query = op.getQuery().getType(), key = op.getKey().getType();
  RankedTensorType value = op.getValue().getType(),
                   output = tensorType(op.getOutput());
  int64_t rank = query.getRank();
  if (rank < 3 || key.getRank() != rank || value.getRank() != rank)
    return report("query, key and value have ranks ", rank, ", ", key.getRank(),
                  " and ", value.getRank(),
                  ", expected equal ones of at least 3");
  Type element = output.getElementType();
  // A value may be the mask and another operand as well.
  const unsigned mask = op.getMask()
                            ? op.getMaskMutable().begin()->getOperandNumber()
                            : op->getNumOperands();
  for (OpOperand &operand : op->getOpOperands()) {
    Type other = tensorType(operand.get()).getElementType();
    bool isWideMask = operand.getOperandNumber() == mask && other.isF32();
    if (operand.get() != op.getStats() && other != element && !isWideMask)
      return report("operands and result have different element types");
  }
  if (tensorType(op.getStats()).getElementType() != statsElement(element))
    return report("'stats' has element type ",
                  tensorType(op.getStats()).getElementType(), ", expected ",
                  statsElement(element));

  ArrayRef<int64_t> leading = query.getShape().drop_back(2);
  if (key.getShape().drop_back(2) != leading ||
      value.getShape().drop_back(2) != leading)
    return report("query, key and value differ in their leading dimensions");
  int64_t queries = query.getDimSize(rank - 2), keys = key.getDimSize(rank - 2);
  if (query.getDimSize(rank - 1) != key.getDimSize(rank - 1))
    return report("query and key have last dimensions ",
                  query.getDimSize(rank - 1), " and ", key.getDimSize(rank - 1),
                  ", expected equal ones");
  if (value.getDimSize(rank - 2) != keys)
    return report("key and value have ", keys, " and ",
                  value.getDimSize(rank - 2), " positions");

  SmallVector<int64_t> shape(leading);
  shape.append({queries, value.getDimSize(rank - 1)});
  if (failed(checkShape(report, "output", op.getOutput(), shape)))
    return failure();
  shape.back() = keys;
  if (op.getMask() && failed(checkShape(report, "mask", op.getMask(), shape)))
    return failure();
  shape.pop_back();
  return checkShape(report, "stats", op.getStats(), shape);
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  Report report(*this);
  if (bool(getMask()) != bool(getMaskGrad()))
    return report("'mask' and 'mask_grad' must both be present or absent");
  struct {
    const char *name;
    Value grad, of;
  } pairs[] = {{"output_grad", getOutputGrad(), getOutput()},
               {"query_grad", getQueryGrad(), getQuery()},
               {"key_grad", getKeyGrad(), getKey()},
               {"value_grad", getValueGrad(), getValue()},
               {"mask_grad", getMaskGrad(), getMask()}};
  for (auto [name, grad, of] : pairs)
    if (grad && grad.getType() != of.getType())
      return report("'", name, "' has type ", grad.getType(), ", expected ",
                    of.getType());
  return success();
}
