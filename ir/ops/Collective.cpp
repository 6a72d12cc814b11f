//===- Collective.cpp - what replicas do together: verify, fold -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Collective.cpp.inc"

void SinterDialect::registerCollective() {
  addOperations<
#define GET_OP_LIST
#include "ir/Collective.cpp.inc"
      >();
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            ValueRange operands, DictionaryAttr,
                                            OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult AllReduceOp::verify() {
  Report report(*this);
  if (getInputs().empty())
    return report("has no operand");
  if (static_cast<int64_t>(getReplicas()) < 1)
    return report("'replicas' is ", static_cast<int64_t>(getReplicas()),
                  ", expected 1 or more");
  return success();
}

/// Pattern: all_reduce over one replica -> its operands
LogicalResult AllReduceOp::fold(FoldAdaptor,
                                SmallVectorImpl<OpFoldResult> &results) {
  if (getReplicas() != 1)
    return failure();
  llvm::append_range(results, getInputs());
  return success();
}
