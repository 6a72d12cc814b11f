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

LogicalResult AttentionOp::verify() {
  Report report(*this);
  RankedTensorType query = getQuery().getType(), key = getKey().getType();
  RankedTensorType value = getValue().getType(), result = getType();
  int64_t rank = query.getRank();
  if (rank < 3 || key.getRank() != rank || value.getRank() != rank)
    return report("query, key and value have ranks ", rank, ", ", key.getRank(),
                  " and ", value.getRank(),
                  ", expected equal ones of at least 3");
  for (Value operand : getOperands())
    if (tensorType(operand).getElementType() != result.getElementType())
      return report("operands and result have different element types");

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
  if (failed(checkShape(report, "result", getResult(), shape)))
    return failure();
  shape.back() = keys;
  return getMask() ? checkShape(report, "mask", getMask(), shape) : success();
}
