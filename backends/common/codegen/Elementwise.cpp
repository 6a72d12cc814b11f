//===- Elementwise.cpp - elementwise ops as arith and math ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/ElementEmitter.h"
#include "runtime/base/Gelu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace sinter::codegen {

Value ElementEmitter::emitUnaryFloat(Operation *op, Value x) {
  Type type = x.getType();
  auto number = [&](double value) { return constant(type, value); };
  auto mul = [&](Value a, Value b) {
    return builder.create<arith::MulFOp>(loc, a, b).getResult();
  };
  auto add = [&](Value a, Value b) {
    return builder.create<arith::AddFOp>(loc, a, b).getResult();
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ir::AbsOp) { return builder.create<math::AbsFOp>(loc, x); })
      .Case([&](ir::NegOp) { return builder.create<arith::NegFOp>(loc, x); })
      .Case([&](ir::ExpOp) { return builder.create<math::ExpOp>(loc, x); })
      .Case([&](ir::Expm1Op) { return builder.create<math::ExpM1Op>(loc, x); })
      .Case([&](ir::LogOp) { return builder.create<math::LogOp>(loc, x); })
      .Case([&](ir::Log1pOp) { return builder.create<math::Log1pOp>(loc, x); })
      .Case([&](ir::SqrtOp) { return builder.create<math::SqrtOp>(loc, x); })
      .Case([&](ir::RsqrtOp) {
        return builder.create<arith::DivFOp>(
            loc, number(1), builder.create<math::SqrtOp>(loc, x));
      })
      .Case([&](ir::TanhOp) { return builder.create<math::TanhOp>(loc, x); })
      .Case([&](ir::ErfOp) { return builder.create<math::ErfOp>(loc, x); })
      .Case([&](ir::SinOp) { return builder.create<math::SinOp>(loc, x); })
      .Case([&](ir::CosOp) { return builder.create<math::CosOp>(loc, x); })
      .Case([&](ir::TanOp) { return builder.create<math::TanOp>(loc, x); })
      .Case([&](ir::AsinOp) { return builder.create<math::AsinOp>(loc, x); })
      .Case([&](ir::AcosOp) { return builder.create<math::AcosOp>(loc, x); })
      .Case([&](ir::AtanOp) { return builder.create<math::AtanOp>(loc, x); })
      .Case([&](ir::SinhOp) { return builder.create<math::SinhOp>(loc, x); })
      .Case([&](ir::CoshOp) { return builder.create<math::CoshOp>(loc, x); })
      .Case([&](ir::AsinhOp) { return builder.create<math::AsinhOp>(loc, x); })
      .Case([&](ir::AcoshOp) { return builder.create<math::AcoshOp>(loc, x); })
      .Case([&](ir::AtanhOp) { return builder.create<math::AtanhOp>(loc, x); })
      .Case([&](ir::FloorOp) { return builder.create<math::FloorOp>(loc, x); })
      .Case([&](ir::CeilOp) { return builder.create<math::CeilOp>(loc, x); })
      .Case([&](ir::RoundOp) {
        return builder.create<math::RoundEvenOp>(loc, x);
      })
      .Case([&](ir::ReluOp) {
        return builder.create<arith::MaximumFOp>(loc, x, number(0));
      })
      .Case([&](ir::SigmoidOp) {
        Value exp = builder.create<math::ExpOp>(
            loc, builder.create<arith::NegFOp>(loc, x));
        return builder.create<arith::DivFOp>(loc, number(1),
                                             add(number(1), exp));
      })
      .Case([&](ir::SignOp) {
        Value positive = builder.create<arith::CmpFOp>(
            loc, arith::CmpFPredicate::OGT, x, number(0));
        Value negative = builder.create<arith::CmpFOp>(
            loc, arith::CmpFPredicate::OLT, x, number(0));
        Value isNan =
            builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
        Value other = select(isNan, x, number(0)); // drops the sign of a zero
        return select(positive, number(1), select(negative, number(-1), other));
      })
      .Case([&](ir::GeluOp gelu) {
        Value inner;
        if (gelu.getForm() == ir::GeluForm::erf) {
          inner = builder.create<math::ErfOp>(
              loc, mul(x, number(rt::gelu::kErfScale)));
        } else {
          Value cube = mul(mul(mul(x, x), x), number(rt::gelu::kCubic));
          Value scale = number(rt::gelu::kTanhScale);
          inner = builder.create<math::TanhOp>(loc, mul(scale, add(x, cube)));
        }
        return mul(mul(x, number(0.5)), add(number(1), inner));
      })
      .Default([](Operation *) { return Value(); });
}

static Value isEqualInt(OpBuilder &builder, Location loc, Value a, Value b) {
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, b);
}

Value ElementEmitter::emitIntegerDivision(Operation *op, Value a, Value b,
                                          bool isUnsigned) {
  Type type = a.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Value zero = constantInt(type, 0), one = constantInt(type, 1);
  Value byZero = isEqualInt(builder, loc, b, zero);
  Value unsafe = byZero;
  if (!isUnsigned) {
    // The only quotient that overflows: the smallest integer divided by -1 is
    // defined as itself.
    Value least =
        constantInt(type, APInt::getSignedMinValue(width).getSExtValue());
    Value overflows = builder.create<arith::AndIOp>(
        loc, isEqualInt(builder, loc, a, least),
        isEqualInt(builder, loc, b, constantInt(type, -1)));
    unsafe = builder.create<arith::OrIOp>(loc, byZero, overflows);
  }
  Value divisor = select(unsafe, one, b);
  if (isa<ir::DivOp>(op)) {
    Value quotient =
        isUnsigned
            ? builder.create<arith::DivUIOp>(loc, a, divisor).getResult()
            : builder.create<arith::DivSIOp>(loc, a, divisor).getResult();
    return select(byZero, zero, quotient);
  }
  Value rest =
      isUnsigned ? builder.create<arith::RemUIOp>(loc, a, divisor).getResult()
                 : builder.create<arith::RemSIOp>(loc, a, divisor).getResult();
  rest = select(byZero, zero, rest);
  if (isa<ir::RemOp>(op) || isUnsigned)
    return rest;
  Value signsDiffer = builder.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::slt,
      builder.create<arith::XOrIOp>(loc, rest, b), zero);
  Value nonzero =
      builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, rest, zero);
  Value adjust = builder.create<arith::AndIOp>(loc, signsDiffer, nonzero);
  return select(adjust, builder.create<arith::AddIOp>(loc, rest, b), rest);
}

Value ElementEmitter::emitIntegerPower(Value base, Value exponent,
                                       bool isUnsigned) {
  // Square and multiply over every bit of the exponent; overflow wraps, as in
  // multiplication.
  Type type = base.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Value zero = constantInt(type, 0), one = constantInt(type, 1);
  Value result = one, square = base, bits = exponent;
  for (unsigned bit = 0; bit < width; ++bit) {
    Value set = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ne,
        builder.create<arith::AndIOp>(loc, bits, one), zero);
    result =
        select(set, builder.create<arith::MulIOp>(loc, result, square), result);
    square = builder.create<arith::MulIOp>(loc, square, square);
    bits = builder.create<arith::ShRUIOp>(loc, bits, one);
  }
  if (isUnsigned)
    return result;
  // 1 / base^-exponent rounds to zero unless |base| is 1; for base 0 it is
  // defined as zero.
  Value minusOne = constantInt(type, -1);
  Value odd = builder.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ne,
      builder.create<arith::AndIOp>(loc, exponent, one), zero);
  Value inverse = select(isEqualInt(builder, loc, base, one), one,
                         select(isEqualInt(builder, loc, base, minusOne),
                                select(odd, minusOne, one), zero));
  Value negative = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                                 exponent, zero);
  return select(negative, inverse, result);
}

Value ElementEmitter::emitBinary(Operation *op, Value a, Value b,
                                 Type element) {
  std::tie(a, b) = match(a, b);
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  if (isa<FloatType>(element))
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case(
            [&](ir::AddOp) { return builder.create<arith::AddFOp>(loc, a, b); })
        .Case(
            [&](ir::SubOp) { return builder.create<arith::SubFOp>(loc, a, b); })
        .Case(
            [&](ir::MulOp) { return builder.create<arith::MulFOp>(loc, a, b); })
        .Case(
            [&](ir::DivOp) { return builder.create<arith::DivFOp>(loc, a, b); })
        .Case([&](ir::MaxOp) {
          return builder.create<arith::MaximumFOp>(loc, a, b);
        })
        .Case([&](ir::MinOp) {
          return builder.create<arith::MinimumFOp>(loc, a, b);
        })
        .Case(
            [&](ir::PowOp) { return builder.create<math::PowFOp>(loc, a, b); })
        .Case(
            [&](ir::RemOp) { return builder.create<arith::RemFOp>(loc, a, b); })
        .Case([&](ir::ModOp) -> Value {
          Value rest = builder.create<arith::RemFOp>(loc, a, b);
          Value zero = constant(rest.getType(), 0);
          auto below = [&](Value v) {
            return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT,
                                                 v, zero);
          };
          Value nonzero = builder.create<arith::CmpFOp>(
              loc, arith::CmpFPredicate::ONE, rest, zero);
          Value differ =
              builder.create<arith::XOrIOp>(loc, below(rest), below(b));
          Value adjust = builder.create<arith::AndIOp>(loc, nonzero, differ);
          Value result =
              select(adjust, builder.create<arith::AddFOp>(loc, rest, b), rest);
          // A zero gets the sign of the divisor, like any other remainder.
          Value isZero = builder.create<arith::CmpFOp>(
              loc, arith::CmpFPredicate::OEQ, rest, zero);
          return select(isZero, builder.create<math::CopySignOp>(loc, zero, b),
                        result);
        })
        .Default([](Operation *) { return Value(); });

  Type type = a.getType();
  auto shiftTooFar = [&]() -> Value {
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, b,
                                         constantInt(type, width));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ir::AddOp) { return builder.create<arith::AddIOp>(loc, a, b); })
      .Case([&](ir::SubOp) { return builder.create<arith::SubIOp>(loc, a, b); })
      .Case([&](ir::MulOp) { return builder.create<arith::MulIOp>(loc, a, b); })
      .Case<ir::DivOp, ir::ModOp, ir::RemOp>(
          [&](auto) { return emitIntegerDivision(op, a, b, isUnsigned); })
      .Case([&](ir::MaxOp) -> Value {
        if (isUnsigned)
          return builder.create<arith::MaxUIOp>(loc, a, b);
        return builder.create<arith::MaxSIOp>(loc, a, b);
      })
      .Case([&](ir::MinOp) -> Value {
        if (isUnsigned)
          return builder.create<arith::MinUIOp>(loc, a, b);
        return builder.create<arith::MinSIOp>(loc, a, b);
      })
      .Case([&](ir::PowOp) { return emitIntegerPower(a, b, isUnsigned); })
      .Case([&](ir::AndOp) { return builder.create<arith::AndIOp>(loc, a, b); })
      .Case([&](ir::OrOp) { return builder.create<arith::OrIOp>(loc, a, b); })
      .Case([&](ir::XorOp) { return builder.create<arith::XOrIOp>(loc, a, b); })
      .Case([&](ir::ShiftLeftOp) {
        Value far = shiftTooFar();
        Value amount = select(far, constantInt(type, 0), b);
        return select(far, constantInt(type, 0),
                      builder.create<arith::ShLIOp>(loc, a, amount));
      })
      .Case([&](ir::ShiftRightOp) -> Value {
        unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
        Value far = shiftTooFar();
        if (!isUnsigned)
          return builder.create<arith::ShRSIOp>(
              loc, a, select(far, constantInt(type, width - 1), b));
        Value amount = select(far, constantInt(type, 0), b);
        return select(far, constantInt(type, 0),
                      builder.create<arith::ShRUIOp>(loc, a, amount));
      })
      .Default([](Operation *) { return Value(); });
}

Value ElementEmitter::emitCompare(ir::CompareKind kind, Value a, Value b,
                                  Type element) {
  std::tie(a, b) = match(a, b);
  if (isa<FloatType>(element)) {
    constexpr arith::CmpFPredicate predicates[] = {
        arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
        arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
        arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return builder.create<arith::CmpFOp>(
        loc, predicates[static_cast<int>(kind)], a, b);
  }
  constexpr arith::CmpIPredicate signedPredicates[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  constexpr arith::CmpIPredicate unsignedPredicates[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
      arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return builder.create<arith::CmpIOp>(
      loc,
      (isUnsigned ? unsignedPredicates
                  : signedPredicates)[static_cast<int>(kind)],
      a, b);
}

/// The lanes' positions along a dimension (i64) against a number that they
/// share, in 32 bits: there are more such lanes in a register, and a GPU has no
/// other integers. Null for other operands.
Value ElementEmitter::emitComparePosition(ir::CompareOp compare,
                                          ArrayRef<Value> operands) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  auto isPosition = [&](unsigned number) {
    auto iota = compare->getOperand(number).getDefiningOp<ir::IotaOp>();
    return iota && iota.getType().getElementType().isInteger(64) &&
           iota.getType().getDimSize(iota.getAxis()) <= most;
  };
  unsigned position = isPosition(0) ? 0 : 1;
  if (!isPosition(position) || !isa<VectorType>(operands[position].getType()) ||
      isa<VectorType>(operands[1 - position].getType()) ||
      ir::tensorType(compare->getOperand(0))
          .getElementType()
          .isUnsignedInteger())
    return {};
  auto narrowed = [&](Value x) -> Value {
    Type type = builder.getI32Type();
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      type = vector.clone(type);
    return builder.create<arith::TruncIOp>(loc, type, x);
  };
  // Positions are below `most`, so a bound of it is beyond all of them.
  Value bound = operands[1 - position];
  bound = builder.create<arith::MaxSIOp>(loc, bound,
                                         constantInt(bound.getType(), -1));
  bound = builder.create<arith::MinSIOp>(loc, bound,
                                         constantInt(bound.getType(), most));
  Value sides[2];
  sides[position] = narrowed(operands[position]);
  sides[1 - position] = narrowed(bound);
  return emitCompare(compare.getKind(), sides[0], sides[1],
                     builder.getI32Type());
}

Value ElementEmitter::roundedToOdd(Value x) {
  Type type = x.getType();
  auto bits = [&](uint64_t value) {
    return constantInt(type, static_cast<int64_t>(value));
  };
  constexpr uint64_t kLost = (1 << 11) - 1; // 64 - 53 bits
  Value lost = builder.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ne,
      builder.create<arith::AndIOp>(loc, x, bits(kLost)), bits(0));
  Value kept = builder.create<arith::AndIOp>(loc, x, bits(~kLost));
  Value odd = builder.create<arith::OrIOp>(loc, kept, bits(kLost + 1));
  // Numbers of up to 53 bits keep all their bits.
  Value shifted = builder.create<arith::AddIOp>(loc, x, bits(1ull << 52));
  Value isShort = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                                shifted, bits(1ull << 53));
  return select(isShort, x, select(lost, odd, kept));
}

/// A vector of float32 as integers of 8 or 16 bits, saturated, NaN as 0; null
/// for other types. LLVM would convert such vectors element by element. There
/// is an instruction to int32, which holds all values in range.
static Value toNarrowInteger(OpBuilder &builder, Location loc, Value x,
                             Type to) {
  auto type = dyn_cast<VectorType>(x.getType());
  const unsigned width = to.getIntOrFloatBitWidth();
  if (!type || !type.getElementType().isF32() || width > 16)
    return {};
  auto number = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(type, static_cast<float>(value)));
  };
  // x, or `other` if x does not compare so with it or is not a number.
  auto selectIf = [&](arith::CmpFPredicate predicate, Value other) {
    Value does = builder.create<arith::CmpFOp>(loc, predicate, x, other);
    x = builder.create<arith::SelectOp>(loc, does, x, other);
  };
  const int64_t count = int64_t(1) << width;
  const bool isUnsigned = to.isUnsignedInteger();
  if (!isUnsigned) // else the next comparison does that
    selectIf(arith::CmpFPredicate::ORD, number(0));
  selectIf(arith::CmpFPredicate::OGT, number(isUnsigned ? 0 : -count / 2));
  selectIf(arith::CmpFPredicate::OLT,
           number(isUnsigned ? count - 1 : count / 2 - 1));
  Value wide =
      builder.create<arith::FPToSIOp>(loc, type.clone(builder.getI32Type()), x);
  return builder.create<arith::TruncIOp>(
      loc, type.clone(builder.getIntegerType(width)), wide);
}

Value ElementEmitter::emitCast(Value x, Type from, Type to) {
  if (from == to)
    return x;
  auto shaped = [&](Type element) -> Type {
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      return vector.clone(element);
    return element;
  };
  Type type = shaped(computeType(to));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (to.isInteger(1)) {
    if (fromFloat)
      return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, x,
                                           constant(x.getType(), 0));
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x,
                                         constantInt(x.getType(), 0));
  }
  if (fromFloat && toFloat) {
    if (isNarrowFloat(to))
      return fromMemory(toMemory(x, to), to);
    if (x.getType() == type) // a 16-bit float is computed as float32
      return x;
    if (to.isF64())
      return builder.create<arith::ExtFOp>(loc, type, x);
    return builder.create<arith::TruncFOp>(loc, type, x);
  }
  if (fromFloat) {
    if (Value narrow = toNarrowInteger(builder, loc, x, to))
      return narrow;
    // On every machine this saturates and turns NaN into 0.
    StringRef name =
        to.isUnsignedInteger() ? "llvm.fptoui.sat" : "llvm.fptosi.sat";
    return builder
        .create<LLVM::CallIntrinsicOp>(loc, type, builder.getStringAttr(name),
                                       ValueRange{x})
        .getResult(0);
  }
  if (toFloat) {
    bool isNarrow = isNarrowFloat(to);
    if (isNarrow && from.getIntOrFloatBitWidth() == 64)
      x = roundedToOdd(x);
    if (isNarrow) // through a type that holds the integer exactly
      type = shaped(builder.getF64Type());
    Value number =
        fromUnsigned
            ? builder.create<arith::UIToFPOp>(loc, type, x).getResult()
            : builder.create<arith::SIToFPOp>(loc, type, x).getResult();
    return isNarrow ? fromMemory(toMemory(number, to), to) : number;
  }
  unsigned fromWidth = from.getIntOrFloatBitWidth(),
           toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return x; // the same bits, with another signedness
  if (fromWidth > toWidth)
    return builder.create<arith::TruncIOp>(loc, type, x);
  if (fromUnsigned)
    return builder.create<arith::ExtUIOp>(loc, type, x);
  return builder.create<arith::ExtSIOp>(loc, type, x);
}

Value ElementEmitter::emitElementwise(Operation *op, ArrayRef<Value> operands) {
  Type element = ir::tensorType(op->getOperand(0)).getElementType();
  auto allOnes = [&](Value x) { return constantInt(x.getType(), -1); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ir::CompareOp compare) {
        if (Value narrow = emitComparePosition(compare, operands))
          return narrow;
        return emitCompare(compare.getKind(), operands[0], operands[1],
                           element);
      })
      .Case([&](ir::WhereOp) {
        return select(operands[0], operands[1], operands[2]);
      })
      .Case([&](ir::CastOp cast) {
        return emitCast(operands[0], element, cast.getType().getElementType());
      })
      .Case([&](ir::IsNanOp) {
        return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO,
                                             operands[0], operands[0]);
      })
      .Case([&](ir::StopGradientOp) { return operands[0]; })
      .Case<ir::NotOp, ir::BitNotOp>([&](auto) {
        return builder.create<arith::XOrIOp>(loc, operands[0],
                                             allOnes(operands[0]));
      })
      .Default([&](Operation *) -> Value {
        if (operands.size() == 2)
          return emitBinary(op, operands[0], operands[1], element);
        Value x = operands[0];
        if (isa<FloatType>(element))
          return emitUnaryFloat(op, x);
        Type type = x.getType();
        Value zero = constantInt(type, 0);
        bool isUnsigned = element.isUnsignedInteger();
        return llvm::TypeSwitch<Operation *, Value>(op)
            .Case([&](ir::NegOp) {
              return builder.create<arith::SubIOp>(loc, zero, x);
            })
            .Case([&](ir::AbsOp) -> Value {
              if (isUnsigned)
                return x;
              return builder.create<arith::MaxSIOp>(
                  loc, x, builder.create<arith::SubIOp>(loc, zero, x));
            })
            .Case([&](ir::ReluOp) -> Value {
              if (isUnsigned)
                return x;
              return builder.create<arith::MaxSIOp>(loc, x, zero);
            })
            .Case([&](ir::SignOp) -> Value {
              Value one = constantInt(type, 1);
              if (isUnsigned)
                return builder.create<arith::MinUIOp>(loc, x, one);
              Value atMostOne = builder.create<arith::MinSIOp>(loc, x, one);
              return builder.create<arith::MaxSIOp>(loc, atMostOne,
                                                    constantInt(type, -1));
            })
            .Default([](Operation *) { return Value(); });
      });
}

} // namespace sinter::codegen
