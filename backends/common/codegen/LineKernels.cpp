//===- LineKernels.cpp - running sums and sorting -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A unit is one line along the axis, or a part of a line.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ReductionTree.h"
#include "backends/common/codegen/ScanForm.h"

using namespace mlir;

namespace sinter::codegen {

namespace {

class LineKernel : public UnitKernel {
public:
  LineKernel(RankedTensorType type, int64_t axis, int64_t lineCost)
      : UnitKernel(product(type.getShape().take_front(axis)) *
                       product(type.getShape().drop_front(axis + 1)),
                   lineCost),
        size(type.getDimSize(axis)),
        inner(product(type.getShape().drop_front(axis + 1))) {}

protected:
  /// The flat position where line `unit` of a tensor with `length` elements
  /// along the axis begins.
  Value lineStart(Scalar &s, Value unit, int64_t length) {
    return s.add(s.mul(s.div(unit, inner), length * inner), s.rem(unit, inner));
  }
  int64_t size, inner;
};

/// Running sums, in the order of ReductionTree.h. A unit is a part of a line.
class RunningSum : public UnitKernel {
public:
  explicit RunningSum(const ScanForm &form)
      : UnitKernel(form.units(), form.part), form(form) {}

  void emitUnit(Scalar &s, Value number, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    ScanForm::Unit unit = form.emitUnit(s, number, operands);
    Value none = s.emitter.identity(form.kind, form.element);
    auto combine = [&](Value x, Value y) {
      return s.emitter.combine(form.kind, form.element, x, y);
    };
    // Combines `count` pieces in order; `body` gets the number of a piece and
    // the combination of the pieces before it, and returns that of this piece.
    auto sumUp = [&](Value count, Value start,
                     llvm::function_ref<Value(Value, Value)> body) {
      return s.carry(s.number(0), count, {start},
                     [&](Value i, ValueRange before) -> SmallVector<Value> {
                       return {combine(before[0], body(i, before[0]))};
                     })[0];
    };
    auto run = [&](Value first, Value base) {
      return sumUp(s.minimum(s.number(kRunSteps), s.sub(unit.end, first)), none,
                   [&](Value i, Value before) {
                     Value at = form.position(s, unit, s.add(first, i));
                     Value x = s.load(form.element, operands[0], at);
                     Value sum = form.isExclusive ? before : combine(before, x);
                     s.store(form.element, base ? combine(base, sum) : sum,
                             results[0], at);
                     return x;
                   });
    };
    if (!form.hasStarts && form.size <= kRunSteps) {
      run(s.number(0), Value());
      return;
    }
    auto piecesOf = [&](Value length, int64_t size) {
      return s.div(s.add(length, s.number(size - 1)), size);
    };
    Value runs = piecesOf(s.sub(unit.end, unit.first), kRunSteps);
    sumUp(piecesOf(runs, kGroupRuns), unit.start,
          [&](Value group, Value before) {
            Value firstRun = s.mul(group, kGroupRuns);
            return sumUp(s.minimum(s.number(kGroupRuns), s.sub(runs, firstRun)),
                         none, [&](Value i, Value beforeRun) {
                           Value first = s.mul(s.add(firstRun, i), kRunSteps);
                           return run(s.add(unit.first, first),
                                      combine(before, beforeRun));
                         });
          });
  }

private:
  ScanForm form;
};

/// Inserts each element into the k best so far, which are kept in the result.
class TopK : public LineKernel {
public:
  explicit TopK(ir::TopKOp op)
      : LineKernel(ir::tensorType(op.getX()), op.getAxis(),
                   ir::tensorType(op.getX()).getDimSize(op.getAxis()) *
                       op.getK()),
        op(op) {}

  void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    Type element = ir::tensorType(op.getX()).getElementType();
    Type i64 = s.b.getI64Type();
    int64_t k = op.getK();
    if (k == 0)
      return;
    Value from = lineStart(s, unit, size), to = lineStart(s, unit, k);
    auto slot = [&](Value number) { return s.add(to, s.mul(number, inner)); };
    s.loop(size, [&](Value i) {
      Value x = s.load(element, operands[0], s.add(from, s.mul(i, inner)));
      Value kept = s.minimum(i, s.number(k));
      // From the last kept element on, elements that x beats move back by one.
      // `place` is the position of the last one that moved.
      SmallVector<Value> place = s.carry(
          s.number(0), kept, {kept},
          [&](Value step, ValueRange carried) -> SmallVector<Value> {
            Value j = s.sub(s.sub(kept, s.number(1)), step);
            Value moving = s.compare(arith::CmpIPredicate::eq, carried[0],
                                     s.add(j, s.number(1)));
            Value other = s.load(element, results[0], slot(j));
            Value moves = s.both(moving, comesBefore(s, op, x, other));
            s.when(s.both(moves, s.within(s.add(j, s.number(1)), k)), [&] {
              Value back = slot(s.add(j, s.number(1)));
              s.store(element, other, results[0], back);
              s.store(i64, s.load(i64, results[1], slot(j)), results[1], back);
            });
            return {s.b.create<arith::SelectOp>(s.loc, moves, j, carried[0])};
          });
      s.when(s.within(place[0], k), [&] {
        s.store(element, x, results[0], slot(place[0]));
        s.store(i64, i, results[1], slot(place[0]));
      });
    });
  }

private:
  ir::TopKOp op;
};

} // namespace

Value comesBefore(Scalar &s, ir::TopKOp op, Value x, Value y) {
  Type element = ir::tensorType(op.getX()).getElementType();
  if (!op.getLargest())
    std::swap(x, y);
  if (!isa<FloatType>(element))
    return s.compare(element.isUnsignedInteger() ? arith::CmpIPredicate::ugt
                                                 : arith::CmpIPredicate::sgt,
                     x, y);
  auto compare = [&](arith::CmpFPredicate predicate, Value a,
                     Value b) -> Value {
    return s.b.create<arith::CmpFOp>(s.loc, predicate, a, b);
  };
  Value nanFirst = s.both(compare(arith::CmpFPredicate::UNO, x, x),
                          compare(arith::CmpFPredicate::ORD, y, y));
  return s.b.create<arith::OrIOp>(
      s.loc, compare(arith::CmpFPredicate::OGT, x, y), nanFirst);
}

std::unique_ptr<UnitKernel> createLineKernel(Operation *op) {
  if (std::optional<ScanForm> form = ScanForm::of(op))
    return std::make_unique<RunningSum>(*form);
  return std::make_unique<TopK>(cast<ir::TopKOp>(op));
}

} // namespace sinter::codegen
