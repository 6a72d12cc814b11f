//===- ScatterKernels.cpp - updates at indices ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/UnitKernel.h"

using namespace mlir;

namespace sinter::codegen {

namespace {

/// scatter along an axis: a unit is one slice before the axis and a block of
/// the elements after it; all updates of a unit are applied in index order.
class AxisScatter : public UnitKernel {
  static int64_t inner(ir::ScatterOp op) {
    return product(op.getType().getShape().drop_front(op.getAxis() + 1));
  }
  static int64_t outer(ir::ScatterOp op) {
    return product(op.getType().getShape().take_front(op.getAxis()));
  }

public:
  AxisScatter(ir::ScatterOp op, int64_t run)
      : UnitKernel(outer(op) * llvm::divideCeil(inner(op), run),
                   (op.getType().getDimSize(op.getAxis()) +
                    ir::tensorType(op.getIndices()).getNumElements()) *
                       std::min(inner(op), run)),
        op(op), run(run) {}

  void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    Type element = op.getType().getElementType();
    Type indexType = ir::tensorType(op.getIndices()).getElementType();
    int64_t size = op.getType().getDimSize(op.getAxis()), innerSize = inner(op);
    int64_t blocks = llvm::divideCeil(innerSize, run);
    int64_t count = ir::tensorType(op.getIndices()).getNumElements();
    Value slice = s.div(unit, blocks);
    Value from = s.mul(s.rem(unit, blocks), run);
    Value to = s.minimum(s.add(from, s.number(run)), s.number(innerSize));
    Value base = s.mul(slice, size * innerSize);
    s.loop(size, [&](Value row) {
      Value rowBase = s.add(base, s.mul(row, innerSize));
      s.loop(from, to, [&](Value i) {
        Value at = s.add(rowBase, i);
        s.store(element, s.load(element, operands[0], at), results[0], at);
      });
    });
    Value updatesBase = s.mul(slice, count * innerSize);
    s.loop(count, [&](Value k) {
      Value row = s.loadIndex(indexType, operands[1], k, size);
      s.when(s.within(row, size), [&] {
        Value rowBase = s.add(base, s.mul(row, innerSize));
        Value updateBase = s.add(updatesBase, s.mul(k, innerSize));
        s.loop(from, to, [&](Value i) {
          Value value = s.load(element, operands[2], s.add(updateBase, i));
          s.update(op.getKind(), element, results[0], s.add(rowBase, i), value);
        });
      });
    });
  }

private:
  ir::ScatterOp op;
  int64_t run;
};

/// scatter_elements and scatter_nd: one unit, updates in row-major order of the
/// indices.
class TupleScatter : public UnitKernel {
public:
  explicit TupleScatter(Operation *op) : UnitKernel(1, 1), op(op) {}

  void emitUnit(Scalar &s, Value, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    RankedTensorType type = ir::tensorType(op->getResult(0));
    RankedTensorType indicesType = ir::tensorType(op->getOperand(1));
    Type element = type.getElementType(),
         indexType = indicesType.getElementType();
    SmallVector<int64_t> strides = ir::rowMajorStrides(type.getShape());
    s.loop(type.getNumElements(), [&](Value i) {
      s.store(element, s.load(element, operands[0], i), results[0], i);
    });
    if (auto scatter = dyn_cast<ir::ScatterElementsOp>(op)) {
      int64_t axis = scatter.getAxis(), size = type.getDimSize(axis);
      s.loop(indicesType.getNumElements(), [&](Value k) {
        Value chosen = s.loadIndex(indexType, operands[1], k, size);
        s.when(s.within(chosen, size), [&] {
          Value rest = k, position = s.mul(chosen, strides[axis]);
          for (int64_t d = type.getRank() - 1; d >= 0; --d) {
            Value at = s.rem(rest, indicesType.getDimSize(d));
            rest = s.div(rest, indicesType.getDimSize(d));
            if (d != axis)
              position = s.add(position, s.mul(at, strides[d]));
          }
          s.update(scatter.getKind(), element, results[0], position,
                   s.load(element, operands[2], k));
        });
      });
      return;
    }
    auto scatter = cast<ir::ScatterNdOp>(op);
    int64_t tuple = indicesType.getShape().back();
    int64_t tuples = product(indicesType.getShape().drop_back());
    int64_t sliceSize = product(type.getShape().drop_front(tuple));
    s.loop(tuples, [&](Value k) {
      Value position = s.number(0);
      Value valid = s.b.create<arith::ConstantIntOp>(s.loc, 1, 1);
      for (int64_t t = 0; t < tuple; ++t) {
        Value chosen = s.loadIndex(indexType, operands[1],
                                   s.add(s.mul(k, tuple), s.number(t)),
                                   type.getDimSize(t));
        valid = s.both(valid, s.within(chosen, type.getDimSize(t)));
        position = s.add(position, s.mul(chosen, strides[t]));
      }
      s.when(valid, [&] {
        s.loop(sliceSize, [&](Value i) {
          Value value =
              s.load(element, operands[2], s.add(s.mul(k, sliceSize), i));
          s.update(scatter.getKind(), element, results[0], s.add(position, i),
                   value);
        });
      });
    });
  }

private:
  Operation *op;
};

} // namespace

std::unique_ptr<UnitKernel> createScatter(Operation *op, int64_t run) {
  if (auto scatter = dyn_cast<ir::ScatterOp>(op))
    return std::make_unique<AxisScatter>(scatter, run);
  return std::make_unique<TupleScatter>(op);
}

} // namespace sinter::codegen
