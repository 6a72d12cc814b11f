//===- Shape.cpp - ops that move elements ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "ir/IndexMap.h"
#include "passes/OpClasses.h"
#include "passes/fuse/Fusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace sinter::codegen {

/// The operand of `cast`, without bounds that its integers have anyway: a float
/// is saturated, and NaN becomes 0.
static Value withoutBounds(ir::CastOp cast) {
  Value x = cast.getX();
  auto to = dyn_cast<IntegerType>(cast.getType().getElementType());
  if (!isa<FloatType>(ir::tensorType(x).getElementType()) || !to ||
      to.getWidth() == 1)
    return x;
  const bool isSigned = !to.isUnsignedInteger();
  const auto width = static_cast<double>(to.getWidth());
  const double least = isSigned ? -std::exp2(width - 1) : 0,
               greatest = std::exp2(isSigned ? width - 1 : width) - 1;
  for (;;) {
    Operation *op = x.getDefiningOp();
    if (isa_and_nonnull<ir::ReluOp>(op) && !isSigned) {
      x = op->getOperand(0);
      continue;
    }
    if (!isa_and_nonnull<ir::MaxOp, ir::MinOp>(op))
      return x;
    Value other = op->getOperand(1);
    if (auto broadcast = other.getDefiningOp<ir::BroadcastOp>())
      other = broadcast.getX();
    std::optional<double> bound = passes::splatNumber(other);
    if (!bound || !(isa<ir::MaxOp>(op) ? *bound <= least : *bound >= greatest))
      return x; // a real bound, or NaN
    x = op->getOperand(0);
  }
}

Value ElementEmitter::emit(Operation *op, unsigned result,
                           ArrayRef<Index> index) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ir::BroadcastOp, ir::TransposeOp, ir::SliceOp, ir::ReverseOp,
            ir::ReshapeOp>([&](auto) {
        return element(op->getOperand(0),
                       *ir::mapIndex(op->getOpOperand(0), index));
      })
      .Case([&](ir::ConstantOp constantOp) { return emitConstant(constantOp); })
      .Case([&](ir::IotaOp iota) {
        Type to = iota.getType().getElementType();
        return emitCast(indexValue(index[iota.getAxis()]), builder.getI64Type(),
                        to);
      })
      .Case([&](ir::PadOp pad) { return emitPad(pad, index); })
      .Case<ir::GatherOp, ir::GatherElementsOp, ir::GatherNdOp>(
          [&](auto) { return emitGather(op, index); })
      .Case([&](ir::CastOp cast) {
        return emitElementwise(
            cast, element(withoutBounds(cast),
                          *ir::mapIndex(cast->getOpOperand(0), index)));
      })
      .Case([&](ir::ReduceOp reduce) { return emitReduce(reduce, index); })
      .Case(
          [&](ir::ArgReduceOp reduce) { return emitArgReduce(reduce, index); })
      .Case([&](ir::ReduceWindowOp reduce) {
        return emitReduceWindow(reduce, index);
      })
      .Default([&](Operation *) {
        SmallVector<Value> operands;
        for (OpOperand &operand : op->getOpOperands())
          operands.push_back(
              element(operand.get(), *ir::mapIndex(operand, index)));
        return emitElementwise(op, operands);
      });
}

Value ElementEmitter::emitConstant(ir::ConstantOp op) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  Type type = computeType(elements.getElementType());
  if (auto floatType = dyn_cast<FloatType>(type)) {
    APFloat value = elements.getSplatValue<APFloat>();
    bool losesInfo; // never: a 16-bit float is computed as float32
    value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    return builder.create<arith::ConstantOp>(loc, FloatAttr::get(type, value));
  }
  return builder.create<arith::ConstantOp>(
      loc, IntegerAttr::get(type, elements.getSplatValue<APInt>()));
}

Value ElementEmitter::emitPad(ir::PadOp op, ArrayRef<Index> index) {
  ArrayRef<int64_t> shape = ir::tensorType(op.getX()).getShape();
  IndexVector inner;
  Value inside;
  auto require = [&](Value condition) {
    if (!inside) {
      inside = condition;
      return;
    }
    auto [a, b] = match(inside, condition);
    inside = builder.create<arith::AndIOp>(loc, a, b);
  };
  for (unsigned d = 0; d < shape.size(); ++d) {
    int64_t low = op.getLow()[d], high = op.getHigh()[d],
            interior = op.getInterior()[d];
    if (low == 0 && high == 0 && interior == 0) {
      inner.push_back(index[d]);
      continue;
    }
    if (shape[d] == 0)
      return splat(element(op.getValue(), {}));
    Value position = indexValue(index[d].plus(-low));
    Type type = position.getType();
    Value zero = constantInt(type, 0);
    if (interior > 0) {
      // Negative positions are outside in any case: clamp them before dividing.
      Value step = constantInt(type, interior + 1);
      Value clamped = builder.create<arith::MaxSIOp>(loc, position, zero);
      require(builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge,
                                            position, zero));
      require(builder.create<arith::CmpIOp>(
          loc, arith::CmpIPredicate::eq,
          builder.create<arith::RemUIOp>(loc, clamped, step), zero));
      position = builder.create<arith::DivUIOp>(loc, clamped, step);
    }
    // One unsigned comparison covers both ends.
    require(builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, position, constantInt(type, shape[d])));
    inner.push_back(
        dynamicIndex(clampIndex(position, shape[d], /*wrapNegative=*/false)));
  }
  Value x = element(op.getX(), inner);
  return inside ? select(inside, x, element(op.getValue(), {})) : x;
}

Value ElementEmitter::clampIndex(Value value, int64_t size, bool wrapNegative) {
  Type type = value.getType();
  Value zero = constantInt(type, 0);
  if (wrapNegative) {
    Value negative = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::slt, value, zero);
    value = select(
        negative,
        builder.create<arith::AddIOp>(loc, value, constantInt(type, size)),
        value);
  }
  value = builder.create<arith::MaxSIOp>(loc, value, zero);
  return builder.create<arith::MinSIOp>(
      loc, value, constantInt(type, std::max<int64_t>(size - 1, 0)));
}

Value ElementEmitter::emitGather(Operation *op, ArrayRef<Index> index) {
  Value x = op->getOperand(0), indices = op->getOperand(1);
  ArrayRef<int64_t> shape = ir::tensorType(x).getShape();
  Type indexType = ir::tensorType(indices).getElementType();
  auto chosen = [&](ArrayRef<Index> at, int64_t size) {
    Value value =
        emitCast(element(indices, at), indexType, builder.getI64Type());
    return dynamicIndex(clampIndex(value, size, /*wrapNegative=*/true));
  };
  int64_t indicesRank = ir::tensorType(indices).getRank();
  IndexVector source;
  if (auto gather = dyn_cast<ir::GatherOp>(op)) {
    int64_t axis = gather.getAxis();
    source.append(index.begin(), index.begin() + axis);
    source.push_back(chosen(index.slice(axis, indicesRank), shape[axis]));
    source.append(index.begin() + axis + indicesRank, index.end());
  } else if (auto gather = dyn_cast<ir::GatherElementsOp>(op)) {
    source.assign(index.begin(), index.end());
    source[gather.getAxis()] = chosen(index, shape[gather.getAxis()]);
  } else {
    int64_t batchDims = cast<ir::GatherNdOp>(op).getBatchDims();
    int64_t tuple = ir::tensorType(indices).getShape().back();
    source.append(index.begin(), index.begin() + batchDims);
    for (int64_t k = 0; k < tuple; ++k) {
      IndexVector at(index.take_front(indicesRank - 1));
      at.push_back(Index::fixed(k));
      source.push_back(chosen(at, shape[batchDims + k]));
    }
    source.append(index.begin() + indicesRank - 1, index.end());
  }
  return element(x, source);
}

} // namespace sinter::codegen
