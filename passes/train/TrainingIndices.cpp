//===- TrainingIndices.cpp - steps with an index out of range -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/RowDependence.h"
#include "passes/train/TrainingSlots.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// Column `column` of a table of faults: position + 1 (0), or the index (1).
Value columnOf(ValueBuilder &b, Value table, int64_t column) {
  const int64_t rows = tensorType(table).getDimSize(0);
  return b.make<SliceOp>(withShape(tensorType(table), {rows, 1}), table,
                         b.b.getDenseI64ArrayAttr({0, column}),
                         b.b.getDenseI64ArrayAttr({rows, column + 1}),
                         b.b.getDenseI64ArrayAttr({1, 1}));
}

/// The indices that row `row` of a table of faults is about; null if unknown.
Value indicesOf(Value table, int64_t row) {
  while (Operation *op = table.getDefiningOp()) {
    if (auto fault = dyn_cast<IndexFaultOp>(op))
      return fault.getIndices();
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      table = reshape.getX();
      continue;
    }
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || concat.getAxis() != 0)
      return {};
    for (Value part : concat.getInputs()) {
      table = part;
      if (row < tensorType(part).getDimSize(0))
        break;
      row -= tensorType(part).getDimSize(0);
    }
  }
  return {};
}

} // namespace

std::optional<unsigned> IndexChecks::resultOf(func::FuncOp main) {
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (main.getResultAttr(i, SinterDialect::kIndexChecksAttr))
      return i;
  return std::nullopt;
}

IndexChecks::IndexChecks(func::FuncOp main, int64_t batch,
                         const BuildTrainingOptions &options)
    : replicas(options.replicas) {
  std::optional<unsigned> result = resultOf(main);
  if (!result)
    return;
  RowDependence dependence(main, batch);
  Value found = main.getBody().front().getTerminator()->getOperand(*result);
  auto listed = cast<ArrayAttr>(
      main.getResultAttr(*result, SinterDialect::kIndexChecksAttr));
  for (auto [i, attribute] :
       llvm::enumerate(listed.getAsRange<DictionaryAttr>())) {
    Check check{attribute, attribute.getAs<IntegerAttr>("elements").getInt(), 0,
                1};
    if (Value indices = indicesOf(found, static_cast<int64_t>(i)))
      if (std::optional<RowDim> rows = dependence.dimOf(indices)) {
        check.rows = batch;
        check.stride = rows->inner;
        for (int64_t size :
             tensorType(indices).getShape().drop_front(rows->dim + 1))
          check.stride *= size;
      }
    if (batch == 1) {
      check.rows = 1;
      check.stride = std::max<int64_t>(check.elements, 1);
    }
    checks.push_back(check);
  }
}

DictionaryAttr IndexChecks::attribute(int64_t parts) const {
  Builder b(checks.front().attribute.getContext());
  SmallVector<Attribute> list;
  for (const Check &check : checks) {
    NamedAttrList entries(check.attribute);
    // The rows of several parts follow each other only if those of each part
    // are contiguous.
    if (check.rows > 0 &&
        (parts == 1 || check.rows * check.stride == check.elements)) {
      entries.set("rows", b.getI64IntegerAttr(check.rows * parts));
      entries.set("stride", b.getI64IntegerAttr(check.stride));
    }
    list.push_back(entries.getDictionary(b.getContext()));
  }
  return b.getDictionaryAttr(
      b.getNamedAttr(SinterDialect::kIndexChecksAttr, b.getArrayAttr(list)));
}

void IndexChecks::add(OpBuilder &builder, func::FuncOp grad, Value found,
                      Value microBatch, StateUpdates &updates) {
  ValueBuilder b = optimizerBuilder(builder);
  SlotTable slots(grad);
  state = slots.declare("index_checks", tensorType(found), {}, {},
                        StateRole::accum);
  Value before = slots.argument(state);
  ArrayRef<int64_t> shape = tensorType(found).getShape();
  auto isFault = [&](Value table) {
    Value position = columnOf(b, table, 0);
    return b.broadcast(b.compare(CompareKind::gt, position, 0.0), shape,
                       {0, 1});
  };
  // Positions continue from those of the previous micro-batch.
  SmallVector<int64_t> steps;
  for (const Check &check : checks)
    llvm::append_values(steps, check.elements, 0);
  Value step = b.reshape(constantI64(builder, b.loc, steps), shape);
  Value here = b.add(found, b.mul(step, b.broadcast(microBatch, shape, {})));
  updates[state] =
      b.where(isFault(before), before, b.where(isFault(found), here, before));
}

Value IndexChecks::take(OpBuilder &builder, func::FuncOp apply,
                        StateUpdates &updates) const {
  ValueBuilder b = optimizerBuilder(builder);
  Value found = SlotTable(apply).argument(state);
  updates[state] = b.like(found, 0);
  return found;
}

Value IndexChecks::areInRange(OpBuilder &builder, Value found) const {
  ValueBuilder b = optimizerBuilder(builder);
  Value last = reduceOver(builder, b.loc, ReduceKind::max,
                          columnOf(b, found, 0), {0, 1});
  Value here = b.compare(CompareKind::eq, last, 0.0);
  if (replicas == 1)
    return here;
  Value faults = b.cast(b.make<NotOp>(here), builder.getF32Type());
  return b.compare(CompareKind::eq, sumOverReplicas(b, faults, replicas), 0.0);
}

} // namespace sinter::passes
