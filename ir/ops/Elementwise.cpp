//===- Elementwise.cpp - elementwise ops: verify and infer ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Elementwise.cpp.inc"

void SinterDialect::registerElementwise() {
  addOperations<
#define GET_OP_LIST
#include "ir/Elementwise.cpp.inc"
      >();
}

/// The type of a predicate on `operand`.
static RankedTensorType truthType(Type operand) {
  auto type = cast<RankedTensorType>(operand);
  return RankedTensorType::get(type.getShape(),
                               IntegerType::get(type.getContext(), 1));
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(truthType(adaptor.getLhs().getType()));
  return success();
}

LogicalResult IsNanOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(truthType(adaptor.getX().getType()));
  return success();
}
