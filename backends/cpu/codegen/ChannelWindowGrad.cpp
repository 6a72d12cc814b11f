//===- ChannelWindowGrad.cpp - gradient of windows, lanes over channels ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For windows that do not slide over the last dimension. Lanes run along it:
// every lane finds its own maximum in a window and adds to its own elements, in
// the order of scalar code.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/ChannelWindowGrad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::cpu {
namespace {

/// One dimension that windows may slide over.
struct Dim {
  int64_t in, out, window, stride, dilation, low, high, step; // step: elements
  bool slides() const {
    return window != 1 || stride != 1 || low != 0 || high != 0;
  }
  /// Whether every input position is in exactly one window.
  bool tiles() const {
    return dilation == 1 && stride == window && low == 0 && high == 0 &&
           in == out * window;
  }
};

/// A unit is one index of the leading dimensions, over which windows do not
/// slide.
class ChannelWindowGrad : public SoloKernel {
public:
  ChannelWindowGrad(ir::ReduceWindowGradOp op, int64_t lanes)
      : op(op), lanes(lanes), loc(op.getLoc()) {
    ArrayRef<int64_t> in = op.getType().getShape();
    ArrayRef<int64_t> out = ir::tensorType(op.getOutputGrad()).getShape();
    SmallVector<int64_t> steps = ir::rowMajorStrides(in);
    channels = in.back();
    for (auto [d, step] : llvm::enumerate(ArrayRef(steps).drop_back())) {
      Dim dim{in[d],
              out[d],
              op.getWindow()[d],
              op.getStrides()[d],
              op.getDilations()[d],
              op.getPadsLow()[d],
              op.getPadsHigh()[d],
              step};
      if (dims.empty() && !dim.slides())
        units *= in[d];
      else
        dims.push_back(dim);
    }
    plane = channels;
    for (const Dim &dim : dims) {
      plane *= dim.in;
      windows *= dim.out;
      elements *= dim.window;
      exact &= dim.tiles();
    }
    int64_t cost = plane + windows * elements * channels;
    perTile =
        std::max<int64_t>(1, kTileOperations / std::max<int64_t>(cost, 1));
  }

  int64_t tiles() const override { return llvm::divideCeil(units, perTile); }

  void emit(OpBuilder &builder, Location location, Value begin, Value end,
            ArrayRef<Value> operands, ArrayRef<Value> results) override {
    b = &builder;
    loc = location;
    x = operands[0];
    grad = operands[1];
    result = results[0];
    element = op.getType().getElementType();
    Value first = mul(begin, perTile);
    Value last =
        builder.create<arith::MinSIOp>(loc, mul(end, perTile), number(units));
    loop(first, last, number(1), [&](Value unit) {
      Value base = mul(unit, plane), gradBase = mul(unit, windows * channels);
      if (!exact)
        overLanes(number(0), plane, [&](Value at, int64_t count) {
          store(zero(count), result, add(base, at));
        });
      loop(number(0), number(windows), number(1), [&](Value window) {
        SmallVector<Value> starts = windowStart(window);
        Value gradRow = add(gradBase, mul(window, channels));
        overLanes(number(0), channels, [&](Value channel, int64_t count) {
          emitWindow(starts, add(base, channel),
                     load(grad, add(gradRow, channel), count), count);
        });
      });
    });
  }

private:
  /// Where the window begins along each dimension; this may be negative.
  SmallVector<Value> windowStart(Value window) {
    SmallVector<Value> starts(dims.size());
    Value rest = window;
    for (size_t d = dims.size(); d-- > 0;) {
      Value at = b->create<arith::RemUIOp>(loc, rest, number(dims[d].out));
      rest = b->create<arith::DivUIOp>(loc, rest, number(dims[d].out));
      starts[d] = add(mul(at, dims[d].stride), number(-dims[d].low));
    }
    return starts;
  }

  /// The position of element `k` of a window, relative to the plane's base, and
  /// whether it is inside (null: always). The position is 0 if it is outside.
  std::pair<Value, Value> locate(ArrayRef<Value> starts, Value k) {
    Value rest = k, position = number(0), inside;
    for (size_t d = dims.size(); d-- > 0;) {
      const Dim &dim = dims[d];
      Value at = starts[d];
      if (dim.window > 1) {
        Value offset = b->create<arith::RemUIOp>(loc, rest, number(dim.window));
        rest = b->create<arith::DivUIOp>(loc, rest, number(dim.window));
        at = add(at, mul(offset, dim.dilation));
      }
      if (dim.low > 0 || dim.high > 0) {
        Value within = b->create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                                at, number(dim.in));
        inside = inside
                     ? b->create<arith::AndIOp>(loc, inside, within).getResult()
                     : within;
      }
      position = add(position, mul(at, dim.step));
    }
    if (inside)
      position = b->create<arith::SelectOp>(loc, inside, position, number(0));
    return {position, inside};
  }

  /// Calls body(k, position, inside) for the elements of a window.
  void overWindow(ArrayRef<Value> starts,
                  llvm::function_ref<void(Value, Value)> body) {
    loop(number(0), number(elements), number(1), [&](Value k) {
      auto [position, inside] = locate(starts, k);
      if (!inside)
        return body(k, position);
      auto branch = b->create<scf::IfOp>(loc, inside);
      OpBuilder::InsertionGuard guard(*b);
      b->setInsertionPointToStart(branch.thenBlock());
      body(k, position);
    });
  }

  void emitWindow(ArrayRef<Value> starts, Value base, Value g, int64_t count) {
    auto addTo = [&](Value position, Value value) {
      Value at = add(base, position);
      if (!exact)
        value = b->create<arith::AddFOp>(loc, load(result, at, count), value);
      store(value, result, at);
    };
    if (op.getKind() == ir::ReduceKind::sum) {
      overWindow(starts, [&](Value, Value position) { addTo(position, g); });
      return;
    }
    Value best = greatest(starts, base, count);
    overWindow(starts, [&](Value k, Value position) {
      Value here = b->create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, best,
                                            spread(toIndex(k), count));
      addTo(position, b->create<arith::SelectOp>(loc, here, g, zero(count)));
    });
  }

  /// For every lane, the first of the largest elements of its window; a NaN is
  /// larger than every number. -1: none is inside.
  Value greatest(ArrayRef<Value> starts, Value base, int64_t count) {
    Value none = spread(b->create<arith::ConstantIntOp>(loc, -1, 32), count);
    auto scan = b->create<scf::ForOp>(loc, number(0), number(elements),
                                      number(1), ValueRange{none, zero(count)});
    OpBuilder::InsertionGuard guard(*b);
    b->setInsertionPointToStart(scan.getBody());
    Value k = scan.getInductionVar();
    Value best = scan.getRegionIterArg(0), most = scan.getRegionIterArg(1);
    auto [position, inside] = locate(starts, k);
    Value value = load(x, add(base, position), count);
    auto compare = [&](arith::CmpFPredicate predicate, Value l,
                       Value r) -> Value {
      return b->create<arith::CmpFOp>(loc, predicate, l, r);
    };
    auto either = [&](Value l, Value r) -> Value {
      return b->create<arith::OrIOp>(loc, l, r);
    };
    Value greater = compare(arith::CmpFPredicate::OGT, value, most);
    Value firstNan = b->create<arith::AndIOp>(
        loc, compare(arith::CmpFPredicate::UNO, value, value),
        compare(arith::CmpFPredicate::ORD, most, most));
    Value isFirst =
        b->create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, best, none);
    Value take = either(isFirst, either(greater, firstNan));
    if (inside)
      take = b->create<arith::AndIOp>(loc, take, spread(inside, count));
    Value newBest =
        b->create<arith::SelectOp>(loc, take, spread(toIndex(k), count), best);
    Value newMost = b->create<arith::SelectOp>(loc, take, value, most);
    b->create<scf::YieldOp>(loc, ValueRange{newBest, newMost});
    return scan.getResult(0);
  }

  /// Covers [0, size) with vectors of `lanes` and, at the end, shorter ones.
  void overLanes(Value lower, int64_t size,
                 llvm::function_ref<void(Value, int64_t)> body) {
    int64_t done = 0;
    if (size >= lanes) {
      done = size - size % lanes;
      loop(lower, number(done), number(lanes),
           [&](Value at) { body(at, lanes); });
    }
    while (done < size) {
      auto count = static_cast<int64_t>(
          llvm::bit_floor(static_cast<uint64_t>(size - done)));
      body(number(done), count);
      done += count;
    }
  }

  void loop(Value lower, Value upper, Value step,
            llvm::function_ref<void(Value)> body) {
    auto op = b->create<scf::ForOp>(loc, lower, upper, step);
    OpBuilder::InsertionGuard guard(*b);
    b->setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }

  Value number(int64_t value) {
    return b->create<arith::ConstantIntOp>(loc, value, 64);
  }
  Value add(Value l, Value r) { return b->create<arith::AddIOp>(loc, l, r); }
  Value mul(Value l, int64_t r) {
    return b->create<arith::MulIOp>(loc, l, number(r));
  }
  Value toIndex(Value k) {
    return b->create<arith::TruncIOp>(loc, b->getI32Type(), k);
  }
  Type lanesOf(Type type, int64_t count) {
    return count == 1 ? type : VectorType::get({count}, type);
  }
  Value spread(Value scalar, int64_t count) {
    if (count == 1)
      return scalar;
    return b->create<vector::BroadcastOp>(loc, lanesOf(scalar.getType(), count),
                                          scalar);
  }
  Value zero(int64_t count) {
    return b->create<arith::ConstantOp>(
        loc, b->getZeroAttr(lanesOf(element, count)));
  }
  Value address(Value pointer, Value position) {
    return b->create<LLVM::GEPOp>(
        loc, LLVM::LLVMPointerType::get(b->getContext()), element, pointer,
        ArrayRef<LLVM::GEPArg>{position});
  }
  unsigned alignment() const { return element.getIntOrFloatBitWidth() / 8; }
  Value load(Value pointer, Value position, int64_t count) {
    return b->create<LLVM::LoadOp>(loc, lanesOf(element, count),
                                   address(pointer, position), alignment());
  }
  void store(Value value, Value pointer, Value position) {
    b->create<LLVM::StoreOp>(loc, value, address(pointer, position),
                             alignment());
  }

  ir::ReduceWindowGradOp op;
  int64_t lanes, channels = 1, units = 1, perTile = 1;
  SmallVector<Dim> dims;
  int64_t plane = 1, windows = 1, elements = 1; // per unit
  bool exact = true;

  OpBuilder *b = nullptr;
  Location loc;
  Value x, grad, result;
  Type element;
};

} // namespace

bool hasChannelLanes(ir::ReduceWindowGradOp op) {
  int64_t last = op.getType().getRank() - 1;
  return op.getType().getDimSize(last) > 1 && op.getWindow()[last] == 1 &&
         op.getStrides()[last] == 1 && op.getPadsLow()[last] == 0 &&
         op.getPadsHigh()[last] == 0 && op.getType().getElementType().isF32();
}

std::unique_ptr<SoloKernel> createChannelWindowGrad(ir::ReduceWindowGradOp op,
                                                    int64_t lanes) {
  return std::make_unique<ChannelWindowGrad>(op, lanes);
}

} // namespace sinter::cpu
