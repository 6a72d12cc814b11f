//===- Control.cpp - repetition: verify -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Control.cpp.inc"

void SinterDialect::registerControl() {
  addOperations<
#define GET_OP_LIST
#include "ir/Control.cpp.inc"
      >();
}

/// The type of one slice of a stack; null if it has no `trips` slices.
static RankedTensorType sliceType(Type stack, int64_t trips) {
  auto type = cast<RankedTensorType>(stack);
  if (type.getRank() == 0 || type.getDimSize(0) != trips)
    return {};
  return RankedTensorType::get(type.getShape().drop_front(),
                               type.getElementType());
}

/// Checks what holds with and without a region; `arguments` and `yielded` are
/// the types of the body.
template <class Op>
static LogicalResult verifyScan(Op op, TypeRange arguments, TypeRange yielded) {
  Report report(op);
  const auto trips = static_cast<int64_t>(op.getTrips());
  if (trips < 1)
    return report("'trips' is ", trips, ", expected 1 or more");
  SmallVector<Type> expected;
  for (Type stack : op.getStacks().getTypes()) {
    expected.push_back(sliceType(stack, trips));
    if (!expected.back())
      return report("an operand in 'stacks' has type ", stack,
                    ", expected a first dimension of ", trips);
  }
  llvm::append_range(expected, op.getInitial().getTypes());
  llvm::append_range(expected, op.getWhole().getTypes());
  if (arguments != TypeRange(expected))
    return report("the body's arguments do not have the types of the slices "
                  "and of the other operands");
  if (op.getOutputs().size() < op.getInitial().size())
    return report("has ", op.getOutputs().size(), " results, but carries ",
                  op.getInitial().size(), " values");
  expected.assign(op.getInitial().getTypes().begin(),
                  op.getInitial().getTypes().end());
  if (TypeRange(op.getLast().getTypes()) != TypeRange(expected))
    return report("the first results do not have the types of the operands in "
                  "'initial'");
  for (Type stack : op.getStacked().getTypes()) {
    expected.push_back(sliceType(stack, trips));
    if (!expected.back())
      return report("a stacked result has type ", stack,
                    ", expected a first dimension of ", trips);
  }
  if (yielded != TypeRange(expected))
    return report("the body does not yield the types of the carried values and "
                  "of the slices of the stacked results");
  return success();
}

LogicalResult ScanOp::verify() {
  Block &body = getBody().front();
  auto yield = body.empty() ? nullptr : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return Report(*this)("the body does not end with sinter.yield");
  return verifyScan(*this, body.getArgumentTypes(),
                    yield.getValues().getTypes());
}

LogicalResult ScanCallOp::verify() {
  return static_cast<int64_t>(getTrips()) < 1
             ? Report(*this)("'trips' is ", static_cast<int64_t>(getTrips()),
                             ", expected 1 or more")
             : success();
}

LogicalResult ScanCallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto body =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getBodyAttr());
  if (!body)
    return Report(*this)("'", getBody(), "' is not a function");
  return verifyScan(*this, body.getArgumentTypes(), body.getResultTypes());
}
