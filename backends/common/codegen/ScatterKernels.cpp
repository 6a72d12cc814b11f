//===- ScatterKernels.cpp - updates at indices ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A result is [outer, rows, inner]; indices choose rows. A unit has one outer
// position, some of the rows and a run of the inner elements: it copies the old
// elements, unless the result is in their place, and applies, in index order,
// the updates of its rows. So duplicates are combined in the same order however
// the units are divided.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/UnitKernel.h"

using namespace mlir;

namespace sinter::codegen {

namespace {

struct Sizes {
  int64_t outer, rows, inner;
  int64_t count; // indices that a unit examines
};

/// The number of rows of a unit. If units are threads (a run of 1), there
/// should be many, each of which copies about as many elements as it examines
/// indices, but not so many that most only find that they have no update.
int64_t rowsPerUnit(const Sizes &sizes, int64_t run) {
  constexpr int64_t enoughUnits = 1 << 16, leastRows = 64, leastCopied = 8;
  if (run > 1 || sizes.rows == 0)
    return std::max<int64_t>(sizes.rows, 1);
  int64_t lines = std::max<int64_t>(sizes.outer * sizes.inner, 1);
  int64_t parts = std::min(llvm::divideCeil(enoughUnits, lines),
                           llvm::divideCeil(sizes.rows, leastRows));
  int64_t alike =
      llvm::divideCeil(sizes.rows, std::max(sizes.count, leastCopied));
  return llvm::divideCeil(sizes.rows, std::max(parts, alike));
}

class TiledScatter : public UnitKernel {
public:
  TiledScatter(Operation *op, const Sizes &sizes, int64_t run)
      : TiledScatter(op, sizes, run, rowsPerUnit(sizes, run)) {}

  void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    int64_t blocks = llvm::divideCeil(sizes.inner, run);
    int64_t parts = llvm::divideCeil(sizes.rows, rowsEach);
    Part part;
    part.from = s.mul(s.rem(unit, blocks), run);
    part.to = s.minimum(s.add(part.from, s.number(run)), s.number(sizes.inner));
    Value rest = s.div(unit, blocks);
    part.firstRow = s.mul(s.rem(rest, parts), rowsEach);
    part.endRow = s.minimum(s.add(part.firstRow, s.number(rowsEach)),
                            s.number(sizes.rows));
    part.outer = s.div(rest, parts);
    part.base = s.mul(part.outer, sizes.rows * sizes.inner);
    s.when(s.areDifferent(operands[0], results[0]), [&] {
      s.loop(part.firstRow, part.endRow, [&](Value row) {
        Value rowBase = s.add(part.base, s.mul(row, sizes.inner));
        s.loop(part.from, part.to, [&](Value i) {
          Value at = s.add(rowBase, i);
          s.store(element, s.load(element, operands[0], at), results[0], at);
        });
      });
    });
    emitUpdates(s, part, operands, results[0]);
  }

protected:
  /// The part of the result that a unit computes.
  struct Part {
    Value outer, base; // position, and its first element
    Value firstRow, endRow;
    Value from, to; // inner elements
  };
  virtual void emitUpdates(Scalar &s, const Part &part,
                           ArrayRef<Value> operands, Value result) = 0;

  /// The index at `position`, which chooses one of `size`.
  Value indexAt(Scalar &s, Value indices, Value position, int64_t size) {
    return s.loadIndex(ir::tensorType(op->getOperand(1)).getElementType(),
                       indices, position, size);
  }
  /// Whether `row` is one of the unit's rows.
  static Value isIn(Scalar &s, const Part &part, Value row) {
    return s.compare(arith::CmpIPredicate::ult, s.sub(row, part.firstRow),
                     s.sub(part.endRow, part.firstRow));
  }

  Operation *op;
  const Sizes sizes;
  const int64_t run, rowsEach;
  const Type element;

private:
  TiledScatter(Operation *op, const Sizes &sizes, int64_t run, int64_t rowsEach)
      : UnitKernel(sizes.outer * llvm::divideCeil(sizes.rows, rowsEach) *
                       llvm::divideCeil(sizes.inner, run),
                   (rowsEach + sizes.count) * std::min(sizes.inner, run)),
        op(op), sizes(sizes), run(run), rowsEach(rowsEach),
        element(ir::tensorType(op->getResult(0)).getElementType()) {}
};

/// scatter along an axis, and scatter_nd: an index, or a tuple of them, chooses
/// a row for all inner elements.
class RowScatter : public TiledScatter {
public:
  RowScatter(ir::ScatterOp op, int64_t run)
      : TiledScatter(
            op,
            {product(op.getType().getShape().take_front(op.getAxis())),
             op.getType().getDimSize(op.getAxis()),
             product(op.getType().getShape().drop_front(op.getAxis() + 1)),
             ir::tensorType(op.getIndices()).getNumElements()},
            run),
        kind(op.getKind()), chosenDims{sizes.rows} {}
  RowScatter(ir::ScatterNdOp op, int64_t run)
      : TiledScatter(op, sizesOf(op), run), kind(op.getKind()),
        chosenDims(op.getType().getShape().take_front(tupleOf(op))) {}

private:
  static int64_t tupleOf(ir::ScatterNdOp op) {
    return ir::tensorType(op.getIndices()).getShape().back();
  }
  static Sizes sizesOf(ir::ScatterNdOp op) {
    ArrayRef<int64_t> shape = op.getType().getShape();
    return {1, product(shape.take_front(tupleOf(op))),
            product(shape.drop_front(tupleOf(op))),
            product(ir::tensorType(op.getIndices()).getShape().drop_back())};
  }

  void emitUpdates(Scalar &s, const Part &part, ArrayRef<Value> operands,
                   Value result) override {
    // Indices are loaded together, and one branch passes those of other units:
    // that is most of them.
    int64_t groups = sizes.count / kIndicesTogether;
    s.loop(groups, [&](Value group) {
      emitGroup(s, part, operands, result, s.mul(group, kIndicesTogether),
                kIndicesTogether);
    });
    emitGroup(s, part, operands, result, s.number(groups * kIndicesTogether),
              sizes.count % kIndicesTogether);
  }

  /// Applies the updates [first, first + count), in order.
  void emitGroup(Scalar &s, const Part &part, ArrayRef<Value> operands,
                 Value result, Value first, int64_t count) {
    if (count == 0)
      return;
    Value updatesBase = s.mul(part.outer, sizes.count * sizes.inner);
    SmallVector<Value> numbers, rows, isOwn;
    for (int64_t i = 0; i < count; ++i) {
      numbers.push_back(s.add(first, s.number(i)));
      auto [row, isValid] = rowOf(s, operands[1], numbers.back());
      rows.push_back(row);
      isOwn.push_back(s.both(isValid, isIn(s, part, row)));
    }
    Value isAnyOwn = isOwn.front();
    for (Value own : llvm::drop_begin(isOwn))
      isAnyOwn = s.b.create<arith::OrIOp>(s.loc, isAnyOwn, own);
    s.when(isAnyOwn, [&] {
      for (auto [k, row, own] : llvm::zip_equal(numbers, rows, isOwn))
        s.when(own, [&, k = k, row = row] {
          Value rowBase = s.add(part.base, s.mul(row, sizes.inner));
          Value updateBase = s.add(updatesBase, s.mul(k, sizes.inner));
          s.loop(part.from, part.to, [&](Value i) {
            Value value = s.load(element, operands[2], s.add(updateBase, i));
            s.update(kind, element, result, s.add(rowBase, i), value);
          });
        });
    });
  }

  /// The row of update `k`, and whether it is one.
  std::pair<Value, Value> rowOf(Scalar &s, Value indices, Value k) {
    auto tuple = static_cast<int64_t>(chosenDims.size());
    Value row = s.number(0);
    Value isValid = s.b.create<arith::ConstantIntOp>(s.loc, 1, 1);
    for (auto [t, size] : llvm::enumerate(chosenDims)) {
      Value position =
          s.add(s.mul(k, tuple), s.number(static_cast<int64_t>(t)));
      Value chosen = indexAt(s, indices, position, size);
      if (tuple > 1)
        isValid = s.both(isValid, s.within(chosen, size));
      row = s.add(s.mul(row, size), chosen);
    }
    return {row, isValid};
  }

  static constexpr int64_t kIndicesTogether = 8;
  const ir::ScatterKind kind;
  const SmallVector<int64_t> chosenDims;
};

/// scatter_elements: an index chooses a row for its own element only, so an
/// element gets updates only from its line.
class ElementScatter : public TiledScatter {
public:
  ElementScatter(ir::ScatterElementsOp op, int64_t run)
      : TiledScatter(
            op,
            {product(op.getType().getShape().take_front(op.getAxis())),
             op.getType().getDimSize(op.getAxis()),
             product(op.getType().getShape().drop_front(op.getAxis() + 1)),
             ir::tensorType(op.getIndices()).getDimSize(op.getAxis())},
            run),
        scatter(op) {}

private:
  void emitUpdates(Scalar &s, const Part &part, ArrayRef<Value> operands,
                   Value result) override {
    ArrayRef<int64_t> shape = scatter.getType().getShape(),
                      indexShape =
                          ir::tensorType(scatter.getIndices()).getShape();
    const auto axis = static_cast<int64_t>(scatter.getAxis());
    SmallVector<int64_t> strides = ir::rowMajorStrides(indexShape);
    s.loop(part.from, part.to, [&](Value i) {
      // The line's position in the indices, whose shape may be smaller.
      Value valid = s.b.create<arith::ConstantIntOp>(s.loc, 1, 1);
      Value first = s.number(0);
      auto take = [&](Value rest, int64_t from, int64_t end) {
        for (int64_t d = end - 1; d >= from; --d) {
          Value at = s.rem(rest, shape[d]);
          rest = s.div(rest, shape[d]);
          if (indexShape[d] < shape[d])
            valid = s.both(valid, s.within(at, indexShape[d]));
          first = s.add(first, s.mul(at, strides[d]));
        }
      };
      take(part.outer, 0, axis);
      take(i, axis + 1, scatter.getType().getRank());
      s.when(valid, [&] {
        s.loop(sizes.count, [&](Value k) {
          Value position = s.add(first, s.mul(k, strides[axis]));
          Value row = indexAt(s, operands[1], position, sizes.rows);
          s.when(isIn(s, part, row), [&] {
            Value at = s.add(s.add(part.base, s.mul(row, sizes.inner)), i);
            s.update(scatter.getKind(), element, result, at,
                     s.load(element, operands[2], position));
          });
        });
      });
    });
  }

  ir::ScatterElementsOp scatter;
};

} // namespace

std::unique_ptr<UnitKernel> createScatter(Operation *op, int64_t run) {
  if (auto scatter = dyn_cast<ir::ScatterOp>(op))
    return std::make_unique<RowScatter>(scatter, run);
  if (auto scatter = dyn_cast<ir::ScatterNdOp>(op))
    return std::make_unique<RowScatter>(scatter, run);
  return std::make_unique<ElementScatter>(cast<ir::ScatterElementsOp>(op), run);
}

} // namespace sinter::codegen
