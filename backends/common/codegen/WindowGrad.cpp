//===- WindowGrad.cpp - gradients of windows ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For CPUs, in any layout; GPUs have mappings of their own. This file also
// chooses the kernel of a single op.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/UnitKernel.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sinter::codegen {

namespace {

/// A unit is one index of the leading dimensions, over which windows do not
/// slide.
class WindowGrad : public UnitKernel {
  static unsigned leading(ir::ReduceWindowGradOp op) {
    unsigned d = 0, rank = op.getType().getRank();
    while (d < rank && op.getWindow()[d] == 1 && op.getStrides()[d] == 1 &&
           op.getPadsLow()[d] == 0 && op.getPadsHigh()[d] == 0)
      ++d;
    return d;
  }

public:
  explicit WindowGrad(ir::ReduceWindowGradOp op)
      : UnitKernel(product(op.getType().getShape().take_front(leading(op))),
                   product(op.getType().getShape().drop_front(leading(op))) +
                       product(ir::tensorType(op.getOutputGrad())
                                   .getShape()
                                   .drop_front(leading(op))) *
                           product(op.getWindow())),
        op(op) {}

  void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    unsigned first = leading(op);
    Type element = op.getType().getElementType();
    auto tail = [&](ArrayRef<int64_t> list) { return list.drop_front(first); };
    ArrayRef<int64_t> inputSizes = tail(op.getType().getShape());
    ArrayRef<int64_t> outputSizes =
        tail(ir::tensorType(op.getOutputGrad()).getShape());
    ArrayRef<int64_t> window = tail(op.getWindow());
    SmallVector<int64_t> strides = ir::rowMajorStrides(inputSizes);
    int64_t plane = product(inputSizes), windows = product(outputSizes);
    Value base = s.mul(unit, plane), gradBase = s.mul(unit, windows);
    Value zero = s.emitter.identity(ir::ReduceKind::sum, element);
    s.loop(plane, [&](Value i) {
      s.store(element, zero, results[0], s.add(base, i));
    });

    // The position in the plane of element `k` of the window at `starts`, and
    // whether it is inside.
    auto locate = [&](ArrayRef<Value> starts, Value k) {
      Value rest = k, position = s.number(0), inside;
      for (int64_t d = window.size() - 1; d >= 0; --d) {
        Value at = starts[d];
        if (window[d] > 1) {
          at = s.add(at,
                     s.mul(s.rem(rest, window[d]), tail(op.getDilations())[d]));
          rest = s.div(rest, window[d]);
        }
        if (tail(op.getPadsLow())[d] > 0 || tail(op.getPadsHigh())[d] > 0) {
          Value within = s.within(at, inputSizes[d]);
          inside = inside ? s.both(inside, within) : within;
        }
        position = s.add(position, s.mul(at, strides[d]));
      }
      if (!inside)
        inside = s.b.create<arith::ConstantIntOp>(s.loc, 1, 1);
      return std::pair(position, inside);
    };
    auto addTo = [&](Value position, Value grad) {
      s.update(ir::ScatterKind::sum, element, results[0], s.add(base, position),
               grad);
    };

    s.loop(windows, [&](Value o) {
      SmallVector<Value> starts(outputSizes.size());
      Value rest = o;
      for (int64_t d = outputSizes.size() - 1; d >= 0; --d) {
        Value start =
            s.mul(s.rem(rest, outputSizes[d]), tail(op.getStrides())[d]);
        starts[d] = s.sub(start, s.number(tail(op.getPadsLow())[d]));
        rest = s.div(rest, outputSizes[d]);
      }
      Value grad = s.load(element, operands[1], s.add(gradBase, o));
      if (op.getKind() == ir::ReduceKind::sum) {
        s.loop(product(window), [&](Value k) {
          auto [position, inside] = locate(starts, k);
          s.when(inside, [&] { addTo(position, grad); });
        });
        return;
      }
      // The first of the largest elements; a NaN is larger than every number.
      // -1: none yet.
      SmallVector<Value> best = s.carry(
          s.number(0), s.number(product(window)), {s.number(-1), zero},
          [&](Value k, ValueRange carried) -> SmallVector<Value> {
            auto [position, inside] = locate(starts, k);
            Value safe = s.b.create<arith::SelectOp>(s.loc, inside, position,
                                                     s.number(0));
            Value x = s.load(element, operands[0], s.add(base, safe));
            auto compare = [&](arith::CmpFPredicate predicate, Value a,
                               Value b) -> Value {
              return s.b.create<arith::CmpFOp>(s.loc, predicate, a, b);
            };
            Value greater = compare(arith::CmpFPredicate::OGT, x, carried[1]);
            Value firstNan = s.both(
                compare(arith::CmpFPredicate::UNO, x, x),
                compare(arith::CmpFPredicate::ORD, carried[1], carried[1]));
            Value none =
                s.compare(arith::CmpIPredicate::slt, carried[0], s.number(0));
            Value better = s.b.create<arith::OrIOp>(
                s.loc, none,
                s.b.create<arith::OrIOp>(s.loc, greater, firstNan));
            Value take = s.both(inside, better);
            return {
                s.b.create<arith::SelectOp>(s.loc, take, position, carried[0]),
                s.b.create<arith::SelectOp>(s.loc, take, x, carried[1])};
          });
      s.when(s.compare(arith::CmpIPredicate::sge, best[0], s.number(0)),
             [&] { addTo(best[0], grad); });
    });
  }

private:
  ir::ReduceWindowGradOp op;
};

} // namespace

std::unique_ptr<UnitKernel> UnitKernel::create(Operation *op, int64_t run) {
  return llvm::TypeSwitch<Operation *, std::unique_ptr<UnitKernel>>(op)
      .Case<ir::ScatterOp, ir::ScatterElementsOp, ir::ScatterNdOp>(
          [&](auto scatter) { return createScatter(scatter, run); })
      .Case([](ir::ReduceWindowGradOp grad) {
        return std::make_unique<WindowGrad>(grad);
      })
      .Case<ir::CumulativeOp, ir::CumulativePartsOp, ir::TopKOp>(
          [](auto line) { return createLineKernel(line); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace sinter::codegen
