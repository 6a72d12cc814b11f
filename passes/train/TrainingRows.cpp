//===- TrainingRows.cpp - rows that pad the last batch --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A batch may have fewer rows than the program is made for: the rows from
// `valid_rows` on are padding and are masked out of losses.
//
//===----------------------------------------------------------------------===//
#include "passes/RowDependence.h"
#include "passes/train/Training.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

Value validMask(ValueBuilder &b, ArrayRef<int64_t> shape, const RowDim &rows,
                int64_t batch, Value validRows) {
  Type i64 = b.b.getI64Type();
  const int64_t size = shape[rows.dim];
  auto spread = [&](Value scalar) { return b.broadcast(scalar, {size}, {}); };
  Value row = b.iota(RankedTensorType::get({size}, i64), 0);
  Value limit = validRows;
  if (rows.outer == 1) {
    limit = b.mul(validRows, scalarI64(b.b, b.loc, rows.inner));
  } else {
    row = b.make<DivOp>(row, spread(scalarI64(b.b, b.loc, rows.inner)));
    row = b.make<RemOp>(row, spread(scalarI64(b.b, b.loc, batch)));
  }
  Value isValid = b.compare(CompareKind::lt, row, spread(limit));
  return b.broadcast(isValid, shape, {rows.dim});
}

LogicalResult checkRowsIndependent(const RowDependence &rows, Value output) {
  Operation *op = rows.mixedBy(output);
  if (!op)
    return success();
  return op->emitError(
      "mixes the rows of a batch, as far as the compiler can tell, so "
      "evaluation cannot mask out the rows that pad the last batch; compile "
      "with --batch=1 or change the model");
}

namespace {

/// Rebuilds the loss that the graph computes with some rows masked out, if it
/// is a sum over rows that is then only scaled and shifted.
class MaskedSum {
public:
  MaskedSum(ValueBuilder &b, const RowDependence &rows, int64_t batch,
            Value validRows)
      : b(b), rows(rows), batch(batch), validRows(validRows) {}

  /// `value` with the rows from `validRows` on counted as 0, or with all rows
  /// if `isZero`; null if it is not such a sum.
  Value rebuild(Value value, bool isZero) {
    if (rows.isSame(value))
      return value;
    Value masked = rows.mixedBy(value)
                       ? rebuildMixed(value.getDefiningOp(), isZero)
                       : Value();
    if (!masked && !blockedBy)
      blockedBy = rows.mixedBy(value);
    return masked;
  }
  /// Whether the loss has a summand that does not depend on rows.
  bool isShifted = false;
  /// The op that mixes rows, if `value` is not such a sum.
  Operation *blockedBy = nullptr;

private:
  Value rebuildMixed(Operation *op, bool isZero) {
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (reduce.getKind() != ReduceKind::sum)
        return {};
      if (std::optional<RowDim> place = rows.dimOf(reduce.getX()))
        return masked(reduce, *place, isZero);
      return withOperands(op, {0}, isZero);
    }
    if (isa<AddOp, SubOp>(op)) {
      isShifted |=
          rows.isSame(op->getOperand(0)) || rows.isSame(op->getOperand(1));
      return withOperands(op, {0, 1}, isZero);
    }
    if (isa<MulOp>(op) && rows.isSame(op->getOperand(0)))
      return withOperands(op, {1}, isZero);
    if (isa<MulOp, DivOp>(op) && rows.isSame(op->getOperand(1)))
      return withOperands(op, {0}, isZero);
    auto cast = dyn_cast<CastOp>(op);
    bool isLinear =
        cast ? isa<FloatType>(tensorType(cast.getX()).getElementType()) &&
                   isa<FloatType>(cast.getType().getElementType())
             : isView(op) || isa<NegOp>(op);
    return isLinear ? withOperands(op, {0}, isZero) : Value();
  }
  Value masked(ReduceOp reduce, const RowDim &place, bool isZero) {
    Value x = reduce.getX();
    if (!isa<FloatType>(tensorType(x).getElementType()))
      return {};
    Value zero = b.like(x, 0);
    if (!isZero)
      zero = b.where(
          validMask(b, tensorType(x).getShape(), place, batch, validRows), x,
          zero);
    return b.sum(zero, reduce.getDims());
  }
  Value withOperands(Operation *op, ArrayRef<unsigned> which, bool isZero) {
    IRMapping mapping;
    for (unsigned i : which) {
      Value operand = rebuild(op->getOperand(i), isZero);
      if (!operand)
        return {};
      mapping.map(op->getOperand(i), operand);
    }
    return b.b.clone(*op, mapping)->getResult(0);
  }

  ValueBuilder &b;
  const RowDependence &rows;
  int64_t batch;
  Value validRows;
};

} // namespace

MaskedLoss maskGraphLoss(ValueBuilder &b, const RowDependence &rows,
                         Value output, int64_t batch, Value validRows) {
  MaskedSum sum(b, rows, batch, validRows);
  Value loss = sum.rebuild(output, /*isZero=*/false);
  if (!loss)
    return {{}, {}, sum.blockedBy};
  if (sum.isShifted || rows.isSame(output))
    return {loss, sum.rebuild(output, /*isZero=*/true), nullptr};
  return {loss, {}, nullptr};
}

} // namespace sinter::passes
