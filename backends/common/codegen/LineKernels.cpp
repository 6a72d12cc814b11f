//===- LineKernels.cpp - running sums and sorting -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A unit is one line along the axis.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ReductionTree.h"
#include "backends/common/codegen/UnitKernel.h"

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

/// Running sums, in the order of ReductionTree.h.
class Cumulative : public LineKernel {
public:
  explicit Cumulative(ir::CumulativeOp op)
      : LineKernel(op.getType(), op.getAxis(),
                   op.getType().getDimSize(op.getAxis())),
        op(op), element(op.getType().getElementType()) {}

  void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    Value start = lineStart(s, unit, size);
    Value none = s.emitter.identity(op.getKind(), element);
    auto combine = [&](Value x, Value y) {
      return s.emitter.combine(op.getKind(), element, x, y);
    };
    // `body` makes of a piece's number, and of what the pieces before it come
    // to, what this piece comes to.
    auto sumUp = [&](Value count,
                     llvm::function_ref<Value(Value, Value)> body) {
      return s.carry(s.number(0), count, {none},
                     [&](Value i, ValueRange before) -> SmallVector<Value> {
                       return {combine(before[0], body(i, before[0]))};
                     })[0];
    };
    auto run = [&](Value first, Value base) {
      return sumUp(
          s.minimum(s.number(kRunSteps), s.sub(s.number(size), first)),
          [&](Value i, Value before) {
            Value step = s.add(first, i);
            if (op.getReverse())
              step = s.sub(s.number(size - 1), step);
            Value at = s.add(start, s.mul(step, inner));
            Value x = s.load(element, operands[0], at);
            Value sum = op.getExclusive() ? before : combine(before, x);
            s.store(element, base ? combine(base, sum) : sum, results[0], at);
            return x;
          });
    };
    if (size <= kRunSteps) {
      run(s.number(0), Value());
      return;
    }
    int64_t runs = llvm::divideCeil(size, kRunSteps);
    sumUp(s.number(llvm::divideCeil(runs, kGroupRuns)),
          [&](Value group, Value before) {
            Value firstRun = s.mul(group, kGroupRuns);
            return sumUp(s.minimum(s.number(kGroupRuns),
                                   s.sub(s.number(runs), firstRun)),
                         [&](Value i, Value beforeRun) {
                           return run(s.mul(s.add(firstRun, i), kRunSteps),
                                      combine(before, beforeRun));
                         });
          });
  }

private:
  ir::CumulativeOp op;
  Type element;
};

/// Insertion into the k best so far, which lie in the result.
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
      // From the last kept one: those that x beats move one place back. `place`
      // stays where the first that x does not beat was found.
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
  if (auto cumulative = dyn_cast<ir::CumulativeOp>(op))
    return std::make_unique<Cumulative>(cumulative);
  return std::make_unique<TopK>(cast<ir::TopKOp>(op));
}

} // namespace sinter::codegen
