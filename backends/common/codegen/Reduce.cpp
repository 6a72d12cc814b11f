//===- Reduce.cpp - reductions as loops around an element -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The tree of a reduction depends only on its shape and is the same on every
// target. Along a loop without lanes, chunks of 16 steps are combined first,
// then the chunks in order. Along a loop with L lanes (passes of L elements,
// ReductionTree.h), lane l takes elements l, l + L, ..; chunks of 8 passes are
// combined first, then the chunks in order, lane by lane, and then the lanes
// pairwise: i with i + L/2, and so on.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/ReductionTree.h"
#include "ir/IndexMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;

namespace sinter::codegen {

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

/// The position along dimension `dim` at which an element of `x` may differ
/// from zero, if each line has only one such position; otherwise null. Matches
/// where(iota == p, y, 0), where p is constant along the line, and the same
/// inside further where(c, .., 0).
static Value onlyPosition(Value x, int64_t dim) {
  auto isAlong = [&](Value v) {
    auto iota = v.getDefiningOp<ir::IotaOp>();
    return iota && static_cast<int64_t>(iota.getAxis()) == dim;
  };
  auto isOfLine = [&](Value v) {
    auto broadcast = v.getDefiningOp<ir::BroadcastOp>();
    if (!broadcast)
      return false;
    ArrayRef<int64_t> shape = ir::tensorType(broadcast.getX()).getShape();
    for (auto [size, to] : llvm::zip_equal(shape, broadcast.getDims()))
      if (to == dim && size != 1)
        return false;
    return true;
  };
  for (auto where = x.getDefiningOp<ir::WhereOp>(); where;
       where = where.getLhs().getDefiningOp<ir::WhereOp>()) {
    if (!matchPattern(where.getRhs(), m_PosZeroFloat()) &&
        !matchPattern(where.getRhs(), m_Zero()))
      return nullptr;
    auto equal = where.getCondition().getDefiningOp<ir::CompareOp>();
    if (!equal || equal.getKind() != ir::CompareKind::eq)
      continue;
    Type type = ir::tensorType(equal.getLhs()).getElementType();
    if (!type.isInteger(32) && !type.isInteger(64))
      continue;
    if (isAlong(equal.getLhs()) && isOfLine(equal.getRhs()))
      return equal.getRhs();
    if (isAlong(equal.getRhs()) && isOfLine(equal.getLhs()))
      return equal.getLhs();
  }
  return nullptr;
}

/// The sum along dimension `dim` of elements that are zero except at
/// `position`: no loop is needed, and the bits are those of the loop.
Value ElementEmitter::emitOnlyElement(ir::ReduceOp op, IndexVector input,
                                      int64_t dim, Value position) {
  Type i64 = builder.getI64Type();
  int64_t size = ir::tensorType(op.getX()).getDimSize(dim);
  Value at = emitCast(element(position, input),
                      ir::tensorType(position).getElementType(), i64);
  Value isInside = builder.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ult, at, constantInt(at.getType(), size));
  input[dim] = dynamicIndex(clampIndex(at, size, /*wrapNegative=*/false));
  // Adding zero turns -0 into 0, as the loop does.
  Type elementType = op.getType().getElementType();
  Value none = identity(op.getKind(), elementType);
  Value sum =
      combine(op.getKind(), elementType, element(op.getX(), input), none);
  return select(isInside, sum, none);
}

/// The same for the operand of `op`, if `op` sums over one dimension; otherwise
/// null.
static Value onlyPosition(ir::ReduceOp op) {
  return op.getKind() == ir::ReduceKind::sum && op.getDims().size() == 1
             ? onlyPosition(op.getX(), op.getDims().front())
             : Value();
}

bool ElementEmitter::needsLoop(ir::ReduceOp op) { return !onlyPosition(op); }

Value ElementEmitter::emitReduce(ir::ReduceOp op, ArrayRef<Index> index) {
  IndexVector input = *ir::mapIndex(op->getOpOperand(0), index, domain.reduced);
  if (Value position = onlyPosition(op);
      position && (!laneReducer || laneReducer->readOfOther()))
    return emitOnlyElement(op, input, op.getDims().front(), position);
  return reduceNest({{op, input}}, 0).front();
}

void ElementEmitter::reduceTogether(
    ArrayRef<std::pair<ir::ReduceOp, IndexVector>> ops) {
  SmallVector<Reduction> all;
  for (auto [op, index] : ops)
    all.push_back(
        {op, *ir::mapIndex(op->getOpOperand(0), index, domain.reduced)});
  SmallVector<Value> values = reduceNest(all, 0);
  for (auto [each, value] : llvm::zip_equal(ops, values)) {
    auto [op, index] = each;
    setElementAt(op.getResult(), index, value);
  }
}

SmallVector<Value> ElementEmitter::reduceNest(ArrayRef<Reduction> all,
                                              unsigned level) {
  if (level == domain.reduced.size()) {
    SmallVector<Value> elements;
    for (auto [op, input] : all)
      elements.push_back(splat(element(op.getX(), input)));
    if (visitStep)
      visitStep(all);
    return elements;
  }
  unsigned loop = domain.reduced[level];
  if (loop != reducedLaneLoop || (!laneReducer && reducedLaneCount == 1))
    return reduceLoop(all, level);
  assert(all.size() == 1 && "reductions with lanes are emitted one by one");
  const Reduction &only = all.front();
  return {laneReducer ? laneReducer->reduce(*this, only.op, only.input, level)
                      : reduceLanes(only.op, only.input, level)};
}

Value ElementEmitter::reduceLanes(ir::ReduceOp op, ArrayRef<Index> input,
                                  unsigned level) {
  unsigned loop = domain.reduced[level];
  int64_t size = domain.sizes[loop], lanes = reducedLaneCount;
  int64_t chunk = kChunkPasses * lanes;
  Type elementType = op.getType().getElementType();
  Type i64 = builder.getI64Type();
  auto start = [&] { return splat(identity(op.getKind(), elementType)); };
  auto number = [&](int64_t value) { return constantInt(i64, value); };
  setLanes(loop, lanes);
  Value sum;
  auto range = [&](Value from, Value to, Value before) {
    return reduceRange({{op, IndexVector(input)}}, level, from, to, lanes,
                       before)
        .front();
  };
  // Whole chunks; the first one is separate.
  int64_t chunked = size - size % chunk;
  if (chunked > 0)
    sum = range(number(0), number(chunk), start());
  if (chunked > chunk) {
    auto chunks = builder.create<scf::ForOp>(
        loc, number(chunk), number(chunked), number(chunk), ValueRange{sum});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(chunks.getBody());
    Value from = chunks.getInductionVar();
    Value to = builder.create<arith::AddIOp>(loc, from, number(chunk));
    Value partial = range(from, to, start());
    builder.create<scf::YieldOp>(loc,
                                 combine(op.getKind(), elementType,
                                         chunks.getRegionIterArg(0), partial));
    sum = chunks.getResult(0);
  }
  // The last chunk: whole passes, and then the remaining elements, one per
  // lane.
  if (chunked < size || !sum) {
    int64_t whole = size - size % lanes;
    Value partial = start();
    if (chunked < whole)
      partial = range(number(chunked), number(whole), partial);
    if (whole < size)
      partial = reduceLastPass(op, input, level, whole, partial);
    sum = sum ? combine(op.getKind(), elementType, sum, partial) : partial;
  }
  clearLanes();
  return combineLanes(op.getKind(), elementType, sum);
}

Value ElementEmitter::reduceLastPass(ir::ReduceOp op, ArrayRef<Index> input,
                                     unsigned level, int64_t from, Value sum) {
  unsigned loop = domain.reduced[level];
  int64_t lanes = laneCount, rest = domain.sizes[loop] - from;
  auto width =
      static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(rest)));
  Type elementType = op.getType().getElementType();
  Value before = loopValues.lookup(loop);
  pushFrame();
  setLoop(loop, constantInt(builder.getI64Type(), from));
  setLanes(loop, width);
  activeLanes = rest;
  Value x = reduceNest({{op, IndexVector(input)}}, level + 1).front();
  if (width > 1) {
    Value none = splat(identity(op.getKind(), elementType));
    x = builder.create<arith::SelectOp>(loc, laneMask(), splat(x), none);
  }
  setLanes(loop, lanes);
  popFrame();
  setLoop(loop, before);
  if (width == lanes)
    return combine(op.getKind(), elementType, sum, x);
  if (width == 1) {
    Value first =
        builder.create<vector::ExtractOp>(loc, sum, ArrayRef<int64_t>{0});
    return builder.create<vector::InsertOp>(
        loc, combine(op.getKind(), elementType, first, x), sum,
        ArrayRef<int64_t>{0});
  }
  Value head = builder.create<vector::ExtractStridedSliceOp>(
      loc, sum, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width},
      ArrayRef<int64_t>{1});
  laneCount = width;
  head = combine(op.getKind(), elementType, head, x);
  laneCount = lanes;
  return builder.create<vector::InsertStridedSliceOp>(
      loc, head, sum, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
}

SmallVector<Value> ElementEmitter::combineAll(ArrayRef<Reduction> all,
                                              ValueRange a, ValueRange b) {
  SmallVector<Value> sums;
  for (auto [each, x, y] : llvm::zip_equal(all, a, b)) {
    ir::ReduceOp op = each.op;
    sums.push_back(combine(op.getKind(), op.getType().getElementType(), x, y));
  }
  return sums;
}

SmallVector<Value> ElementEmitter::reduceLoop(ArrayRef<Reduction> all,
                                              unsigned level) {
  Type i64 = builder.getI64Type();
  int64_t size = domain.sizes[domain.reduced[level]];
  SmallVector<Value> start;
  for (auto [op, input] : all)
    start.push_back(
        splat(identity(op.getKind(), op.getType().getElementType())));
  Value first = constantInt(i64, 0), last = constantInt(i64, size);
  if (size <= 2 * kChunkSteps)
    return reduceRange(all, level, first, last, 1, start);

  auto chunks = builder.create<scf::ForOp>(
      loc, first, last, constantInt(i64, kChunkSteps), start);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(chunks.getBody());
  Value from = chunks.getInductionVar();
  Value to = builder.create<arith::MinSIOp>(
      loc,
      builder.create<arith::AddIOp>(loc, from, constantInt(i64, kChunkSteps)),
      last);
  SmallVector<Value> partial = reduceRange(all, level, from, to, 1, start);
  builder.create<scf::YieldOp>(
      loc, combineAll(all, chunks.getRegionIterArgs(), partial));
  return chunks.getResults();
}

SmallVector<Value> ElementEmitter::reduceRange(ArrayRef<Reduction> all,
                                               unsigned level, Value lower,
                                               Value upper, int64_t step,
                                               ValueRange start) {
  auto loop = builder.create<scf::ForOp>(
      loc, lower, upper, constantInt(builder.getI64Type(), step), start);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  unsigned number = domain.reduced[level];
  Value before = loopValues.lookup(number);
  pushFrame();
  setLoop(number, loop.getInductionVar());
  SmallVector<Value> elements = reduceNest(all, level + 1);
  popFrame();
  setLoop(number, before);
  builder.create<scf::YieldOp>(
      loc, combineAll(all, loop.getRegionIterArgs(), elements));
  return loop.getResults();
}

Value ElementEmitter::isBeyond(ir::ArgReduceOp op, Value x, Value y) {
  Type elementType = ir::tensorType(op.getX()).getElementType();
  ir::CompareKind better = op.getKind() == ir::ReduceKind::max
                               ? ir::CompareKind::gt
                               : ir::CompareKind::lt;
  Value is = emitCompare(better, x, y, elementType);
  if (!isa<FloatType>(elementType))
    return is;
  Value isNan =
      builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
  Value isNumber =
      builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, y, y);
  return builder.create<arith::OrIOp>(
      loc, is, builder.create<arith::AndIOp>(loc, isNan, isNumber));
}

Value ElementEmitter::emitArgReduce(ir::ArgReduceOp op, ArrayRef<Index> index) {
  IndexVector input = *ir::mapIndex(op->getOpOperand(0), index, domain.reduced);
  unsigned loop = domain.reduced[0];
  Type i64 = builder.getI64Type();
  Type elementType = ir::tensorType(op.getX()).getElementType();
  Value start = argFirst ? argFirst : constantInt(i64, 0);

  Value before = loopValues.lookup(loop);
  setLoop(loop, start);
  pushFrame();
  Value first = splat(element(op.getX(), input));
  popFrame();
  Value step = constantInt(i64, argStep);
  Value second =
      argFirst ? builder.create<arith::AddIOp>(loc, start, step).getResult()
               : constantInt(i64, 1);
  auto scan = builder.create<scf::ForOp>(loc, second,
                                         constantInt(i64, domain.sizes[loop]),
                                         step, ValueRange{first, splat(start)});
  std::optional<OpBuilder::InsertionGuard> guard(builder);
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
    // NaN beats every number; among several NaNs the position decides, as among
    // equal numbers.
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
  guard.reset();
  setLoop(loop, before); // a loop of one step keeps its value
  if (argSharer)
    return argSharer->combine(*this, op, {scan.getResult(0), scan.getResult(1)})
        .position;
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

  // The element at `offsets` in the window; for padding, the identity of the
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
