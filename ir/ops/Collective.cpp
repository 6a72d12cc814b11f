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

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            ValueRange operands, DictionaryAttr,
                                            OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

/// The types of arrays of one dimension, whose size `resize` changes.
static LogicalResult inferFlat(const Report &report, ValueRange operands,
                               llvm::function_ref<int64_t(int64_t)> resize,
                               SmallVectorImpl<Type> &types) {
  for (Value operand : operands) {
    RankedTensorType type = tensorType(operand);
    if (type.getRank() != 1)
      return report("has an operand of type ", type,
                    ", expected one dimension");
    types.push_back(type.clone({resize(type.getDimSize(0))}));
  }
  return success();
}

LogicalResult ReduceScatterOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  const auto replicas = static_cast<int64_t>(adaptor.getReplicas());
  return inferFlat(
      Report(loc, getOperationName()), operands,
      [&](int64_t size) { return replicas > 0 ? size / replicas : size; },
      types);
}

LogicalResult
AllGatherOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  const auto replicas = static_cast<int64_t>(adaptor.getReplicas());
  Report report(loc, getOperationName());
  // The verifier refuses a number of replicas below 1.
  for (Value operand : operands)
    if (RankedTensorType type = tensorType(operand); type.getRank() == 1)
      if (int64_t size = 0;
          replicas > 0 && llvm::MulOverflow(type.getDimSize(0), replicas, size))
        return report("gathers ", replicas, " parts of ", type.getDimSize(0),
                      " elements, more than 2^63");
  return inferFlat(
      report, operands,
      [&](int64_t size) { return replicas > 0 ? size * replicas : size; },
      types);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult verifyCollective(CollectiveOpInterface op) {
  Report report(op);
  if (op.getInputs().empty())
    return report("has no operand");
  if (static_cast<int64_t>(op.getReplicas()) < 1)
    return report("'replicas' is ", static_cast<int64_t>(op.getReplicas()),
                  ", expected 1 or more");
  return success();
}

LogicalResult AllReduceOp::verify() { return verifyCollective(*this); }

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyCollective(*this)))
    return failure();
  const auto replicas = static_cast<int64_t>(getReplicas());
  for (Value input : getInputs())
    if (int64_t size = tensorType(input).getDimSize(0); size % replicas != 0)
      return Report(*this)("cuts ", size, " elements into ", replicas,
                           " parts");
  return success();
}

LogicalResult AllGatherOp::verify() { return verifyCollective(*this); }

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

/// Pattern: a collective of one replica -> its operands
static LogicalResult foldAlone(CollectiveOpInterface op,
                               SmallVectorImpl<OpFoldResult> &results) {
  if (op.getReplicas() != 1)
    return failure();
  llvm::append_range(results, op.getInputs());
  return success();
}

LogicalResult AllReduceOp::fold(FoldAdaptor,
                                SmallVectorImpl<OpFoldResult> &results) {
  return foldAlone(*this, results);
}

LogicalResult ReduceScatterOp::fold(FoldAdaptor,
                                    SmallVectorImpl<OpFoldResult> &results) {
  return foldAlone(*this, results);
}

LogicalResult AllGatherOp::fold(FoldAdaptor,
                                SmallVectorImpl<OpFoldResult> &results) {
  return foldAlone(*this, results);
}
