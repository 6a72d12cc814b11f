//===- Reduce.cpp - reductions as loops around an element -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The tree of a reduction is fixed by its shape and the number of lanes: along
// each loop chunks of 64 steps are combined first, then the chunks in order;
// lanes pairwise at the end.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace sinter::codegen {

/// Steps that are combined one after the other before their sum joins the
/// others: keeps the rounding error of long sums from growing with their
/// length.
static constexpr int64_t kChunkSteps = 64;

Value ElementEmitter::identity(ir::ReduceKind kind, Type elementType) {
  Type type = computeType(elementType);
  if (isa<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    switch (kind) {
    case ir::ReduceKind::prod:
      return constant(type, 1);
    case ir::ReduceKind::max:
      return constant(type, -infinity);
    case ir::ReduceKind::min:
      return constant(type, infinity);
    default:
      return constant(type, 0);
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = elementType.isUnsignedInteger();
  switch (kind) {
  case ir::ReduceKind::prod:
  case ir::ReduceKind::all:
    return constantInt(type, 1);
  case ir::ReduceKind::max:
    return constantInt(
        type, isUnsigned ? 0 : APInt::getSignedMinValue(width).getSExtValue());
  case ir::ReduceKind::min:
    return constantInt(
        type, isUnsigned ? -1 : APInt::getSignedMaxValue(width).getSExtValue());
  default:
    return constantInt(type, 0);
  }
}

Value ElementEmitter::combine(ir::ReduceKind kind, Type elementType, Value a,
                              Value b) {
  std::tie(a, b) = match(a, b);
  bool isFloat = isa<FloatType>(elementType);
  bool isUnsigned = elementType.isUnsignedInteger();
  switch (kind) {
  case ir::ReduceKind::sum:
    if (isFloat)
      return builder.create<arith::AddFOp>(loc, a, b);
    return builder.create<arith::AddIOp>(loc, a, b);
  case ir::ReduceKind::prod:
    if (isFloat)
      return builder.create<arith::MulFOp>(loc, a, b);
    return builder.create<arith::MulIOp>(loc, a, b);
  case ir::ReduceKind::max:
    if (isFloat)
      return builder.create<arith::MaximumFOp>(loc, a, b);
    if (isUnsigned)
      return builder.create<arith::MaxUIOp>(loc, a, b);
    return builder.create<arith::MaxSIOp>(loc, a, b);
  case ir::ReduceKind::min:
    if (isFloat)
      return builder.create<arith::MinimumFOp>(loc, a, b);
    if (isUnsigned)
      return builder.create<arith::MinUIOp>(loc, a, b);
    return builder.create<arith::MinSIOp>(loc, a, b);
  case ir::ReduceKind::all:
    return builder.create<arith::AndIOp>(loc, a, b);
  case ir::ReduceKind::any:
    return builder.create<arith::OrIOp>(loc, a, b);
  }
  return nullptr;
}

Value ElementEmitter::combineLanes(ir::ReduceKind kind, Type elementType,
                                   Value vector) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  while (count > 1) {
    count /= 2;
    auto half = [&](int64_t from) {
      return builder.create<vector::ExtractStridedSliceOp>(
          loc, vector, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{count},
          ArrayRef<int64_t>{1});
    };
    vector = combine(kind, elementType, half(0), half(count));
  }
  return builder.create<vector::ExtractOp>(loc, vector, ArrayRef<int64_t>{0});
}

Value ElementEmitter::emitReduce(ir::ReduceOp op, ArrayRef<Index> index) {
  IndexVector input =
      *passes::mapIndex(op->getOpOperand(0), index, domain.reduced);
  return reduceNest(op, input, 0);
}

Value ElementEmitter::reduceNest(ir::ReduceOp op, ArrayRef<Index> input,
                                 unsigned level) {
  if (level == domain.reduced.size())
    return splat(element(op.getX(), input));
  unsigned loop = domain.reduced[level];
  int64_t size = domain.sizes[loop];
  Type elementType = op.getType().getElementType();
  auto start = [&] { return splat(identity(op.getKind(), elementType)); };
  if (loop != reducedLaneLoop || reducedLaneCount == 1)
    return reduceLoop(op, input, level, 0, size, 1, start());

  // Lanes run along this loop: whole vectors first, then what is left one by
  // one.
  int64_t whole = size - size % reducedLaneCount;
  Value sum;
  if (whole > 0) {
    setLanes(loop, reducedLaneCount);
    Value lanesSum =
        reduceLoop(op, input, level, 0, whole, reducedLaneCount, start());
    clearLanes();
    sum = combineLanes(op.getKind(), elementType, lanesSum);
  }
  if (whole < size || !sum) {
    Value rest = reduceLoop(op, input, level, whole, size, 1, start());
    sum = sum ? combine(op.getKind(), elementType, sum, rest) : rest;
  }
  return sum;
}

Value ElementEmitter::reduceLoop(ir::ReduceOp op, ArrayRef<Index> input,
                                 unsigned level, int64_t lower, int64_t upper,
                                 int64_t step, Value start) {
  Type i64 = builder.getI64Type();
  Value first = constantInt(i64, lower), last = constantInt(i64, upper);
  int64_t chunk = kChunkSteps * step;
  if (upper - lower <= 2 * chunk)
    return reduceRange(op, input, level, first, last, step, start);

  auto chunks = builder.create<scf::ForOp>(loc, first, last,
                                           constantInt(i64, chunk), start);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(chunks.getBody());
  Value from = chunks.getInductionVar();
  Value to = builder.create<arith::MinSIOp>(
      loc, builder.create<arith::AddIOp>(loc, from, constantInt(i64, chunk)),
      last);
  Value partial = reduceRange(op, input, level, from, to, step, start);
  Value sum = combine(op.getKind(), op.getType().getElementType(),
                      chunks.getRegionIterArg(0), partial);
  builder.create<scf::YieldOp>(loc, sum);
  return chunks.getResult(0);
}

Value ElementEmitter::reduceRange(ir::ReduceOp op, ArrayRef<Index> input,
                                  unsigned level, Value lower, Value upper,
                                  int64_t step, Value start) {
  auto loop = builder.create<scf::ForOp>(
      loc, lower, upper, constantInt(builder.getI64Type(), step), start);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  unsigned number = domain.reduced[level];
  Value before = loopValues.lookup(number);
  pushFrame();
  setLoop(number, loop.getInductionVar());
  Value x = reduceNest(op, input, level + 1);
  popFrame();
  setLoop(number, before);
  Value sum = combine(op.getKind(), op.getType().getElementType(),
                      loop.getRegionIterArg(0), x);
  builder.create<scf::YieldOp>(loc, sum);
  return loop.getResult(0);
}

Value ElementEmitter::emitArgReduce(ir::ArgReduceOp op, ArrayRef<Index> index) {
  IndexVector input =
      *passes::mapIndex(op->getOpOperand(0), index, domain.reduced);
  unsigned loop = domain.reduced[0];
  Type i64 = builder.getI64Type();
  Type elementType = ir::tensorType(op.getX()).getElementType();
  Value zero = constantInt(i64, 0);

  setLoop(loop, zero);
  pushFrame();
  Value first = splat(element(op.getX(), input));
  popFrame();
  auto scan = builder.create<scf::ForOp>(
      loc, constantInt(i64, 1), constantInt(i64, domain.sizes[loop]),
      constantInt(i64, 1), ValueRange{first, splat(zero)});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scan.getBody());
  pushFrame();
  setLoop(loop, scan.getInductionVar());
  Value x = splat(element(op.getX(), input));
  popFrame();
  Value best = scan.getRegionIterArg(0);
  bool isMax = op.getKind() == ir::ReduceKind::max;
  ir::CompareKind better =
      isMax ? (op.getSelectLast() ? ir::CompareKind::ge : ir::CompareKind::gt)
            : (op.getSelectLast() ? ir::CompareKind::le : ir::CompareKind::lt);
  Value take = emitCompare(better, x, best, elementType);
  if (isa<FloatType>(elementType)) {
    // NaN beats every number; of several, the order decides as for equal
    // numbers.
    auto isNan = [&](Value v) {
      return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, v, v)
          .getResult();
    };
    Value bestIsNan = isNan(best);
    Value ones = constantInt(bestIsNan.getType(), 1);
    Value takeNan = isNan(x);
    if (!op.getSelectLast())
      takeNan = builder.create<arith::AndIOp>(
          loc, takeNan, builder.create<arith::XOrIOp>(loc, bestIsNan, ones));
    take = builder.create<arith::OrIOp>(loc, take, takeNan);
  }
  Value newBest = builder.create<arith::SelectOp>(loc, take, x, best);
  Value position =
      select(take, splat(scan.getInductionVar()), scan.getRegionIterArg(1));
  builder.create<scf::YieldOp>(loc, ValueRange{newBest, position});
  return scan.getResult(1);
}

Value ElementEmitter::emitReduceWindow(ir::ReduceWindowOp op,
                                       ArrayRef<Index> index) {
  ArrayRef<int64_t> shape = ir::tensorType(op.getX()).getShape();
  Type elementType = op.getType().getElementType();
  Value empty = identity(op.getKind(), elementType);
  int64_t elements = 1;
  for (unsigned d = 0; d < shape.size(); ++d) {
    elements *= op.getWindow()[d];
  }

  // The element at `offsets` into the window; padding gives the empty
  // reduction.
  auto windowElement = [&](ArrayRef<Index> offsets) {
    IndexVector source;
    Value inside;
    for (unsigned d = 0; d < shape.size(); ++d) {
      Index position =
          index[d].scaled(op.getStrides()[d]).plus(-op.getPadsLow()[d]) +
          offsets[d].scaled(op.getDilations()[d]);
      if (op.getPadsLow()[d] == 0 && op.getPadsHigh()[d] == 0) {
        source.push_back(position);
        continue;
      }
      Value value = indexValue(position);
      Value within =
          builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, value,
                                        constantInt(value.getType(), shape[d]));
      if (inside) {
        auto [a, b] = match(inside, within);
        inside = builder.create<arith::AndIOp>(loc, a, b);
      } else {
        inside = within;
      }
      source.push_back(
          dynamicIndex(clampIndex(value, shape[d], /*wrapNegative=*/false)));
    }
    Value x = element(op.getX(), source);
    return inside ? select(inside, x, empty) : x;
  };

  constexpr int64_t kUnrolled = 16;
  SmallVector<Index> offsets(shape.size(), Index::fixed(0));
  if (elements <= kUnrolled) {
    Value sum;
    for (int64_t k = 0; k < elements; ++k) {
      for (auto [d, at] : llvm::enumerate(ir::delinearize(k, op.getWindow())))
        offsets[d] = Index::fixed(at);
      Value x = windowElement(offsets);
      sum = sum ? combine(op.getKind(), elementType, sum, x) : x;
    }
    return sum;
  }
  // One loop over the flattened window keeps the code small.
  Type i64 = builder.getI64Type();
  auto loop = builder.create<scf::ForOp>(loc, constantInt(i64, 0),
                                         constantInt(i64, elements),
                                         constantInt(i64, 1), splat(empty));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  pushFrame();
  Value rest = loop.getInductionVar();
  for (int64_t d = shape.size() - 1; d >= 0; --d) {
    if (op.getWindow()[d] == 1)
      continue;
    Value size = constantInt(i64, op.getWindow()[d]);
    offsets[d] = dynamicIndex(builder.create<arith::RemUIOp>(loc, rest, size));
    rest = builder.create<arith::DivUIOp>(loc, rest, size);
  }
  Value x = splat(windowElement(offsets));
  popFrame();
  builder.create<scf::YieldOp>(
      loc, combine(op.getKind(), elementType, loop.getRegionIterArg(0), x));
  return loop.getResult(0);
}

} // namespace sinter::codegen
