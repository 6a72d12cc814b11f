//===- SoloKernels.cpp - ops that are a kernel of their own ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The loops are scalar and plain; LLVM vectorises those that it may. Tiles are
// ranges of independent parts of the result, so that the order of updates
// within a part is that of the program whatever the number of threads.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/SoloKernels.h"
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/cpu/codegen/ChannelWindowGrad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::cpu {

using codegen::ElementEmitter;
using passes::Index;
using passes::IndexVector;

namespace {

/// Element operations worth a tile of their own.
constexpr int64_t kTileOperations = 1 << 16;

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Scalar code over flat positions: what the solo kernels are written with.
class Scalar {
public:
  Scalar(OpBuilder &builder, Location loc)
      : b(builder), loc(loc), emitter(builder, loc, domain) {}

  Value number(int64_t value) {
    return b.create<arith::ConstantIntOp>(loc, value, 64);
  }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }
  Value mul(Value x, int64_t y) {
    return b.create<arith::MulIOp>(loc, x, number(y));
  }
  Value div(Value x, int64_t y) {
    return b.create<arith::DivUIOp>(loc, x, number(y));
  }
  Value rem(Value x, int64_t y) {
    return b.create<arith::RemUIOp>(loc, x, number(y));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return b.create<arith::CmpIOp>(loc, predicate, x, y);
  }
  Value both(Value x, Value y) { return b.create<arith::AndIOp>(loc, x, y); }
  Value minimum(Value x, Value y) {
    return b.create<arith::MinSIOp>(loc, x, y);
  }
  /// 0 <= x < size, as one unsigned comparison.
  Value within(Value x, int64_t size) {
    return compare(arith::CmpIPredicate::ult, x, number(size));
  }

  void loop(Value lower, Value upper, llvm::function_ref<void(Value)> body) {
    auto op = b.create<scf::ForOp>(loc, lower, upper, number(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }
  void loop(int64_t count, llvm::function_ref<void(Value)> body) {
    loop(number(0), number(count), body);
  }
  /// A loop that carries `start`; `body` returns the next values.
  SmallVector<Value>
  carry(Value lower, Value upper, ValueRange start,
        llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto op = b.create<scf::ForOp>(loc, lower, upper, number(1), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    b.create<scf::YieldOp>(loc,
                           body(op.getInductionVar(), op.getRegionIterArgs()));
    return SmallVector<Value>(op.getResults());
  }
  void when(Value condition, llvm::function_ref<void()> body) {
    auto op = b.create<scf::IfOp>(loc, condition);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.thenBlock());
    body();
  }

  /// Element `position` of the dense tensor of `element`s at `pointer`.
  Value load(Type element, Value pointer, Value position) {
    Type memory = emitter.storageType(element);
    Value value =
        b.create<LLVM::LoadOp>(loc, memory, address(memory, pointer, position));
    return emitter.fromMemory(value, element);
  }
  void store(Type element, Value value, Value pointer, Value position) {
    b.create<LLVM::StoreOp>(
        loc, emitter.toMemory(value, element),
        address(emitter.storageType(element), pointer, position));
  }
  /// An index operand's value as i64; negative ones count from the end.
  Value loadIndex(Type element, Value pointer, Value position, int64_t size) {
    Value value = load(element, pointer, position);
    if (!element.isInteger(64))
      value = b.create<arith::ExtSIOp>(loc, b.getI64Type(), value);
    Value negative = compare(arith::CmpIPredicate::slt, value, number(0));
    return b.create<arith::SelectOp>(loc, negative, add(value, number(size)),
                                     value);
  }

  OpBuilder &b;
  Location loc;

private:
  Value address(Type memory, Value pointer, Value position) {
    return b.create<LLVM::GEPOp>(
        loc, LLVM::LLVMPointerType::get(b.getContext()), memory, pointer,
        ArrayRef<LLVM::GEPArg>{position});
  }
  passes::FusionDomain domain;

public:
  ElementEmitter emitter; // for combining and comparing elements
};

/// Independent units, some to a tile.
class UnitKernel : public SoloKernel {
public:
  UnitKernel(int64_t units, int64_t unitCost)
      : units(units),
        perTile(std::max<int64_t>(1, kTileOperations /
                                         std::max<int64_t>(unitCost, 1))) {}

  int64_t tiles() const override { return llvm::divideCeil(units, perTile); }

  void emit(OpBuilder &builder, Location loc, Value begin, Value end,
            ArrayRef<Value> operands, ArrayRef<Value> results) override {
    Scalar s(builder, loc);
    Value last = s.minimum(s.mul(end, perTile), s.number(units));
    s.loop(s.mul(begin, perTile), last,
           [&](Value unit) { emitUnit(s, unit, operands, results); });
  }

  virtual void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                        ArrayRef<Value> results) = 0;

private:
  int64_t units, perTile;
};

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

void update(Scalar &s, ir::ScatterKind kind, Type element, Value pointer,
            Value position, Value value) {
  if (kind != ir::ScatterKind::set) {
    constexpr ir::ReduceKind kinds[] = {
        ir::ReduceKind::sum, ir::ReduceKind::sum, ir::ReduceKind::prod,
        ir::ReduceKind::max, ir::ReduceKind::min};
    Value old = s.load(element, pointer, position);
    value =
        s.emitter.combine(kinds[static_cast<int>(kind)], element, old, value);
  }
  s.store(element, value, pointer, position);
}

/// scatter along an axis: a unit is one slice before the axis and a block of
/// the elements after it; all updates of a unit are applied in index order.
class AxisScatter : public UnitKernel {
  static constexpr int64_t kBlock = 64;
  static int64_t inner(ir::ScatterOp op) {
    return product(op.getType().getShape().drop_front(op.getAxis() + 1));
  }
  static int64_t outer(ir::ScatterOp op) {
    return product(op.getType().getShape().take_front(op.getAxis()));
  }

public:
  explicit AxisScatter(ir::ScatterOp op)
      : UnitKernel(outer(op) * llvm::divideCeil(inner(op), kBlock),
                   (op.getType().getDimSize(op.getAxis()) +
                    ir::tensorType(op.getIndices()).getNumElements()) *
                       std::min(inner(op), kBlock)),
        op(op) {}

  void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    Type element = op.getType().getElementType();
    Type indexType = ir::tensorType(op.getIndices()).getElementType();
    int64_t size = op.getType().getDimSize(op.getAxis()), innerSize = inner(op);
    int64_t blocks = llvm::divideCeil(innerSize, kBlock);
    int64_t count = ir::tensorType(op.getIndices()).getNumElements();
    Value slice = s.div(unit, blocks);
    Value from = s.mul(s.rem(unit, blocks), kBlock);
    Value to = s.minimum(s.add(from, s.number(kBlock)), s.number(innerSize));
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
          update(s, op.getKind(), element, results[0], s.add(rowBase, i),
                 value);
        });
      });
    });
  }

private:
  ir::ScatterOp op;
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
          update(s, scatter.getKind(), element, results[0], position,
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
          update(s, scatter.getKind(), element, results[0], s.add(position, i),
                 value);
        });
      });
    });
  }

private:
  Operation *op;
};

//===----------------------------------------------------------------------===//
// Gradient of windows
//===----------------------------------------------------------------------===//

/// A unit is one index of the leading dimensions that windows do not slide
/// over.
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

    // The plane's position of element `k` of the window at `starts`, and
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
      update(s, ir::ScatterKind::sum, element, results[0],
             s.add(base, position), grad);
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
      // The first of the greatest; a NaN is greater than every number. -1: none
      // yet.
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

//===----------------------------------------------------------------------===//
// Running sums and sorting: a unit is one line along the axis
//===----------------------------------------------------------------------===//

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

class Cumulative : public LineKernel {
public:
  explicit Cumulative(ir::CumulativeOp op)
      : LineKernel(op.getType(), op.getAxis(),
                   op.getType().getDimSize(op.getAxis())),
        op(op) {}

  void emitUnit(Scalar &s, Value unit, ArrayRef<Value> operands,
                ArrayRef<Value> results) override {
    Type element = op.getType().getElementType();
    Value start = lineStart(s, unit, size);
    Value sum = s.emitter.identity(op.getKind(), element);
    s.carry(s.number(0), s.number(size), {sum},
            [&](Value i, ValueRange carried) -> SmallVector<Value> {
              Value step = op.getReverse() ? s.sub(s.number(size - 1), i) : i;
              Value at = s.add(start, s.mul(step, inner));
              Value next = s.emitter.combine(op.getKind(), element, carried[0],
                                             s.load(element, operands[0], at));
              s.store(element, op.getExclusive() ? carried[0] : next,
                      results[0], at);
              return {next};
            });
  }

private:
  ir::CumulativeOp op;
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
            Value moves = s.both(moving, beats(s, element, x, other));
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
  /// x comes before y: greater, or smaller without `largest`; NaN is greater
  /// than numbers.
  Value beats(Scalar &s, Type element, Value x, Value y) {
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
  ir::TopKOp op;
};

} // namespace

std::unique_ptr<SoloKernel> SoloKernel::create(Operation *op, int64_t lanes) {
  return llvm::TypeSwitch<Operation *, std::unique_ptr<SoloKernel>>(op)
      .Case([](ir::ScatterOp scatter) {
        return std::make_unique<AxisScatter>(scatter);
      })
      .Case<ir::ScatterElementsOp, ir::ScatterNdOp>(
          [](auto scatter) { return std::make_unique<TupleScatter>(scatter); })
      .Case([&](ir::ReduceWindowGradOp grad) -> std::unique_ptr<SoloKernel> {
        if (hasChannelLanes(grad))
          return createChannelWindowGrad(grad, lanes);
        return std::make_unique<WindowGrad>(grad);
      })
      .Case([](ir::CumulativeOp cumulative) {
        return std::make_unique<Cumulative>(cumulative);
      })
      .Case([](ir::TopKOp topK) { return std::make_unique<TopK>(topK); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace sinter::cpu
