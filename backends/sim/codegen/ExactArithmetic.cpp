//===- ExactArithmetic.cpp - PTX's arithmetic on x86 ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// LLVM leaves undefined what the two machines do differently: conversions that
// overflow, minima of zeros. This step gives them PTX's meaning. 16-bit floats
// and roundings become calls of the table, because a baseline x86 has no
// instructions for them.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace sinter::sim {

Value *emitMinMax(IRBuilderBase &builder, bool isMax, bool propagatesNaN,
                  Value *a, Value *b) {
  Type *type = a->getType();
  Type *integer = type->getWithNewType(
      IntegerType::get(type->getContext(), type->getScalarSizeInBits()));
  Value *first =
      isMax ? builder.CreateFCmpOGT(a, b) : builder.CreateFCmpOLT(a, b);
  Value *result = builder.CreateSelect(first, a, b);
  // Equal operands differ at most in the sign of zero: -0 is below +0.
  Value *aBits = builder.CreateBitCast(a, integer);
  Value *bBits = builder.CreateBitCast(b, integer);
  Value *bits =
      isMax ? builder.CreateAnd(aBits, bBits) : builder.CreateOr(aBits, bBits);
  result = builder.CreateSelect(builder.CreateFCmpOEQ(a, b),
                                builder.CreateBitCast(bits, type), result);
  Value *aIsNaN = builder.CreateFCmpUNO(a, a);
  Value *bIsNaN = builder.CreateFCmpUNO(b, b);
  if (!propagatesNaN)
    return builder.CreateSelect(aIsNaN, b,
                                builder.CreateSelect(bIsNaN, a, result));
  Value *nan = ConstantFP::getQNaN(type);
  return builder.CreateSelect(builder.CreateOr(aIsNaN, bIsNaN), nan, result);
}

static Value *formatOf(IRBuilderBase &builder, Type *type) {
  return builder.getInt32(type->isHalfTy() ? SINTER_SIM_F16 : SINTER_SIM_BF16);
}

static Value *bitsOf(IRBuilderBase &builder, Value *half) {
  return builder.CreateZExt(builder.CreateBitCast(half, builder.getInt16Ty()),
                            builder.getInt32Ty());
}

static Value *fromBits(IRBuilderBase &builder, Value *bits, Type *type) {
  return builder.CreateBitCast(builder.CreateTrunc(bits, builder.getInt16Ty()),
                               type);
}

Value *emitWiden(ThreadCode &code, IRBuilderBase &builder, Value *value) {
  return code.callPure(
      builder, offsetof(sinter_sim_functions, widen), builder.getFloatTy(),
      {formatOf(builder, value->getType()), bitsOf(builder, value)});
}

Value *emitNarrow(ThreadCode &code, IRBuilderBase &builder, Value *value,
                  Type *to, sinter_sim_rounding rounding) {
  if (value->getType()->isFloatTy())
    value = builder.CreateFPExt(value, builder.getDoubleTy());
  Value *bits = code.callPure(
      builder, offsetof(sinter_sim_functions, narrow), builder.getInt32Ty(),
      {formatOf(builder, to), builder.getInt32(rounding), value});
  return fromBits(builder, bits, to);
}

namespace {

bool isHalf(const Value *value) {
  Type *type = value->getType()->getScalarType();
  return type->isHalfTy() || type->isBFloatTy();
}

class Exact {
public:
  explicit Exact(ThreadCode &code) : code(code) {}

  /// The replacement of `instruction`; null if it may stay.
  Value *replace(Instruction &instruction);
  Error error = Error::success();

private:
  Value *replaceCall(IntrinsicInst &call);
  Value *convertToInteger(CastInst &cast);
  Value *remainder(IRBuilder<> &builder, Value *a, Value *b);
  Value *half(Instruction &instruction);
  Value *halfScalar(IRBuilder<> &builder, Instruction &instruction,
                    ArrayRef<Value *> operands);
  Value *rounded(IntrinsicInst &call);

  ThreadCode &code;
};

// PTX saturates and turns NaN into zero. It has no conversion to 8 bits: that
// is a conversion to 16 bits, truncated.
Value *Exact::convertToInteger(CastInst &cast) {
  IRBuilder<> builder(&cast);
  auto id =
      isa<FPToSIInst>(cast) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
  Value *value = cast.getOperand(0);
  unsigned width = std::max(16u, cast.getType()->getScalarSizeInBits());
  Type *type = cast.getType()->getWithNewType(
      IntegerType::get(cast.getContext(), width));
  return builder.CreateTrunc(
      builder.CreateIntrinsic(id, {type, value->getType()}, {value}),
      cast.getType());
}

// The expansion of the NVPTX backend; the result is x if y is infinite.
Value *Exact::remainder(IRBuilder<> &builder, Value *a, Value *b) {
  Value *quotient = emitMath(code, builder, SINTER_SIM_TRUNC,
                             SINTER_SIM_NEAREST, {builder.CreateFDiv(a, b)});
  Value *rest = builder.CreateFSub(a, builder.CreateFMul(quotient, b));
  Value *size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, b);
  Value *isInfinite =
      builder.CreateFCmpOEQ(size, ConstantFP::getInfinity(a->getType()));
  return builder.CreateSelect(isInfinite, a, rest);
}

Value *Exact::rounded(IntrinsicInst &call) {
  sinter_sim_math op;
  switch (call.getIntrinsicID()) {
  case Intrinsic::floor:
    op = SINTER_SIM_FLOOR;
    break;
  case Intrinsic::ceil:
    op = SINTER_SIM_CEIL;
    break;
  case Intrinsic::trunc:
    op = SINTER_SIM_TRUNC;
    break;
  case Intrinsic::round:
    op = SINTER_SIM_ROUND_AWAY;
    break;
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::roundeven:
    op = SINTER_SIM_ROUND_EVEN;
    break;
  default:
    return nullptr;
  }
  IRBuilder<> builder(&call);
  return perLane(builder, call.getType(), {call.getArgOperand(0)},
                 [&](ArrayRef<Value *> values) {
                   return emitMath(code, builder, op, SINTER_SIM_NEAREST,
                                   values);
                 });
}

Value *Exact::replaceCall(IntrinsicInst &call) {
  IRBuilder<> builder(&call);
  auto minMax = [&](bool isMax, bool propagatesNaN) {
    return emitMinMax(builder, isMax, propagatesNaN, call.getArgOperand(0),
                      call.getArgOperand(1));
  };
  switch (call.getIntrinsicID()) {
  case Intrinsic::minnum:
    return minMax(/*isMax=*/false, /*propagatesNaN=*/false);
  case Intrinsic::maxnum:
    return minMax(/*isMax=*/true, /*propagatesNaN=*/false);
  case Intrinsic::minimum:
    return minMax(/*isMax=*/false, /*propagatesNaN=*/true);
  case Intrinsic::maximum:
    return minMax(/*isMax=*/true, /*propagatesNaN=*/true);
  default:
    return rounded(call);
  }
}

// Computes in float. Each operation is rounded correctly, because float has
// more than twice the digits.
Value *Exact::halfScalar(IRBuilder<> &builder, Instruction &instruction,
                         ArrayRef<Value *> operands) {
  Type *type = instruction.getType()->getScalarType();
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (call && call->getIntrinsicID() == Intrinsic::fma) {
    SmallVector<Value *> bits{formatOf(builder, type)};
    for (Value *operand : operands)
      bits.push_back(bitsOf(builder, operand));
    return fromBits(builder,
                    code.callPure(builder,
                                  offsetof(sinter_sim_functions, fmaHalf),
                                  builder.getInt32Ty(), bits),
                    type);
  }
  if (isa<FPTruncInst>(instruction))
    return emitNarrow(code, builder, operands[0], type);
  if (isa<SIToFPInst>(instruction))
    return emitNarrow(code, builder,
                      builder.CreateSIToFP(operands[0], builder.getDoubleTy()),
                      type);
  if (isa<UIToFPInst>(instruction))
    return emitNarrow(code, builder,
                      builder.CreateUIToFP(operands[0], builder.getDoubleTy()),
                      type);
  SmallVector<Value *> wide;
  for (Value *operand : operands)
    wide.push_back(isHalf(operand) ? emitWiden(code, builder, operand)
                                   : operand);
  if (isa<FPExtInst>(instruction))
    return builder.CreateFPExt(wide[0], type);
  if (isa<FPToSIInst, FPToUIInst>(instruction)) {
    auto id = isa<FPToSIInst>(instruction) ? Intrinsic::fptosi_sat
                                           : Intrinsic::fptoui_sat;
    unsigned width = std::max(16u, type->getScalarSizeInBits());
    Type *integer = builder.getIntNTy(width);
    return builder.CreateTrunc(
        builder.CreateIntrinsic(id, {integer, builder.getFloatTy()}, wide),
        type);
  }
  if (auto *compare = dyn_cast<FCmpInst>(&instruction))
    return builder.CreateFCmp(compare->getPredicate(), wide[0], wide[1]);
  Value *result = nullptr;
  if (auto *binary = dyn_cast<BinaryOperator>(&instruction)) {
    result = binary->getOpcode() == Instruction::FRem
                 ? remainder(builder, wide[0], wide[1])
                 : builder.CreateBinOp(binary->getOpcode(), wide[0], wide[1]);
  } else if (call) {
    switch (call->getIntrinsicID()) {
    case Intrinsic::minnum:
    case Intrinsic::maxnum:
    case Intrinsic::minimum:
    case Intrinsic::maximum: {
      auto id = call->getIntrinsicID();
      result = emitMinMax(builder,
                          id == Intrinsic::maxnum || id == Intrinsic::maximum,
                          id == Intrinsic::minimum || id == Intrinsic::maximum,
                          wide[0], wide[1]);
      break;
    }
    case Intrinsic::sqrt:
      result = builder.CreateUnaryIntrinsic(Intrinsic::sqrt, wide[0]);
      break;
    case Intrinsic::floor:
    case Intrinsic::ceil:
    case Intrinsic::trunc:
    case Intrinsic::rint:
    case Intrinsic::nearbyint:
    case Intrinsic::roundeven: {
      auto id = call->getIntrinsicID();
      auto op = id == Intrinsic::floor   ? SINTER_SIM_FLOOR
                : id == Intrinsic::ceil  ? SINTER_SIM_CEIL
                : id == Intrinsic::trunc ? SINTER_SIM_TRUNC
                                         : SINTER_SIM_ROUND_EVEN;
      result = emitMath(code, builder, op, SINTER_SIM_NEAREST, wide[0]);
      break;
    }
    default:
      break;
    }
  }
  return result ? emitNarrow(code, builder, result, type) : nullptr;
}

// Null if the instruction only moves its operands.
Value *Exact::half(Instruction &instruction) {
  IRBuilder<> builder(&instruction);
  Type *type = instruction.getType();
  auto bitwise = [&](bool flips, Value *value) {
    Type *integer =
        type->getWithNewType(IntegerType::get(type->getContext(), 16));
    Value *bits = builder.CreateBitCast(value, integer);
    bits = flips ? builder.CreateXor(bits, 0x8000)
                 : builder.CreateAnd(bits, 0x7fff);
    return builder.CreateBitCast(bits, type);
  };
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (instruction.getOpcode() == Instruction::FNeg)
    return bitwise(/*flips=*/true, instruction.getOperand(0));
  if (call && call->getIntrinsicID() == Intrinsic::fabs)
    return bitwise(/*flips=*/false, call->getArgOperand(0));
  bool computes = isa<CastInst, FCmpInst, BinaryOperator>(instruction) &&
                  !isa<BitCastInst>(instruction);
  if (!computes && !call)
    return nullptr;
  SmallVector<Value *> operands;
  for (unsigned i = 0,
                e = call ? call->arg_size() : instruction.getNumOperands();
       i < e; ++i)
    operands.push_back(instruction.getOperand(i));
  bool isKnown = true;
  Value *result = perLane(
      builder, type, operands, [&](ArrayRef<Value *> values) -> Value * {
        if (Value *value = halfScalar(builder, instruction, values))
          return value;
        isKnown = false;
        return PoisonValue::get(type->getScalarType());
      });
  if (!isKnown && !error)
    error = cannot("the simulated device does not have ",
                   call ? call->getCalledFunction()->getName()
                        : StringRef(instruction.getOpcodeName()),
                   " of 16-bit floats");
  return result;
}

Value *Exact::replace(Instruction &instruction) {
  bool hasHalf = isHalf(&instruction) ||
                 any_of(instruction.operands(),
                        [](Use &operand) { return isHalf(operand); });
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  bool movesOnly =
      call && (call->getIntrinsicID() == Intrinsic::masked_load ||
               call->getIntrinsicID() == Intrinsic::masked_store ||
               call->getIntrinsicID() == Intrinsic::masked_gather ||
               call->getIntrinsicID() == Intrinsic::masked_scatter);
  if (hasHalf && !movesOnly)
    return half(instruction);
  if (isa<FPToSIInst, FPToUIInst>(instruction))
    return convertToInteger(cast<CastInst>(instruction));
  if (instruction.getOpcode() == Instruction::FRem) {
    IRBuilder<> builder(&instruction);
    return perLane(builder, instruction.getType(),
                   {instruction.getOperand(0), instruction.getOperand(1)},
                   [&](ArrayRef<Value *> values) {
                     return remainder(builder, values[0], values[1]);
                   });
  }
  return call ? replaceCall(*call) : nullptr;
}

} // namespace

// A division by zero would end the process; in PTX its result is unspecified.
static void guardDivision(ThreadCode &code, Instruction &division) {
  Value *divisor = division.getOperand(1);
  auto *constant = dyn_cast<Constant>(divisor);
  if (constant && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  if (auto *number = dyn_cast_or_null<ConstantInt>(constant))
    if (!number->isZero() && !number->isMinusOne())
      return;
  IRBuilder<> builder(&division);
  Value *isBad = builder.CreateIsNull(divisor);
  bool isSigned = division.getOpcode() == Instruction::SDiv ||
                  division.getOpcode() == Instruction::SRem;
  if (isSigned) {
    unsigned width = divisor->getType()->getScalarSizeInBits();
    Value *isMost = builder.CreateICmpEQ(
        division.getOperand(0),
        ConstantInt::get(divisor->getType(), APInt::getSignedMinValue(width)));
    Value *isMinusOne = builder.CreateICmpEQ(
        divisor, Constant::getAllOnesValue(divisor->getType()));
    isBad = builder.CreateOr(isBad, builder.CreateAnd(isMost, isMinusOne));
  }
  if (isBad->getType()->isVectorTy())
    isBad = builder.CreateOrReduce(isBad);
  code.faultIf(isBad, &division, SINTER_SIM_FAULT_DIVISION,
               code.addSite(SINTER_SIM_TRAP, &division));
}

Error makeArithmeticExact(ThreadCode &code) {
  SmallVector<Instruction *> all;
  for (Instruction &instruction : instructions(*code.function))
    all.push_back(&instruction);
  Exact exact(code);
  for (Instruction *instruction : all) {
    if (instruction->isIntDivRem()) {
      guardDivision(code, *instruction);
      continue;
    }
    Value *value = exact.replace(*instruction);
    if (exact.error)
      return std::move(exact.error);
    if (!value)
      continue;
    instruction->replaceAllUsesWith(value);
    instruction->eraseFromParent();
  }
  return moveHalvesAsIntegers(code);
}

} // namespace sinter::sim
