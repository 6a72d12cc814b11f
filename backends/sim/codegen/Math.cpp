//===- Math.cpp - arithmetic of llvm.nvvm.* -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/Intrinsics.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

#include <cfloat>
#include <optional>

using namespace llvm;

namespace sinter::sim {

Value *emitMath(ThreadCode &code, IRBuilderBase &builder, sinter_sim_math op,
                sinter_sim_rounding rounding, ArrayRef<Value *> operands) {
  Type *type = operands[0]->getType();
  size_t offset = type->isFloatTy() ? offsetof(sinter_sim_functions, mathF32)
                                    : offsetof(sinter_sim_functions, mathF64);
  SmallVector<Value *> arguments{builder.getInt32(op),
                                 builder.getInt32(rounding)};
  arguments.append(operands.begin(), operands.end());
  while (arguments.size() < 5)
    arguments.push_back(ConstantFP::get(type, 0.0));
  return code.callPure(builder, offset, type, arguments);
}

namespace {

std::optional<sinter_sim_rounding> roundingOf(StringRef word) {
  return StringSwitch<std::optional<sinter_sim_rounding>>(word)
      .Case("rn", SINTER_SIM_NEAREST)
      .Case("rz", SINTER_SIM_TO_ZERO)
      .Case("rm", SINTER_SIM_DOWN)
      .Case("rp", SINTER_SIM_UP)
      .Default(std::nullopt);
}

// Flushes denormals to zeros of their sign.
Value *flushed(IRBuilderBase &builder, Value *value) {
  if (!value->getType()->isFloatTy())
    return value;
  Value *zero = ConstantFP::get(value->getType(), 0.0);
  Value *size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  Value *isTiny =
      builder.CreateFCmpOLT(size, ConstantFP::get(value->getType(), FLT_MIN));
  Value *signedZero =
      builder.CreateBinaryIntrinsic(Intrinsic::copysign, zero, value);
  return builder.CreateSelect(isTiny, signedZero, value);
}

// NAME[.rounding][.ftz].{f,d}: the words between.
struct Words {
  StringRef name, type;
  std::optional<sinter_sim_rounding> rounding;
  bool isApprox = false, flushes = false, propagatesNaN = false;
  bool isKnown = true;

  explicit Words(StringRef full) {
    SmallVector<StringRef> words;
    full.split(words, '.');
    name = words.front();
    type = words.size() > 1 ? words.back() : "";
    for (StringRef word :
         ArrayRef(words).drop_front().drop_back(words.size() > 1 ? 1 : 0)) {
      if (auto found = roundingOf(word))
        rounding = found;
      else if (word == "approx")
        isApprox = true;
      else if (word == "ftz")
        flushes = true;
      else if (word == "nan")
        propagatesNaN = true;
      else
        isKnown = false;
    }
  }
};

Value *emitNamed(const IntrinsicCall &call, const Words &words,
                 ArrayRef<Value *> operands) {
  IRBuilder<> &builder = call.builder;
  auto rounding = words.rounding.value_or(SINTER_SIM_NEAREST);
  auto math = [&](sinter_sim_math op, ArrayRef<Value *> values) {
    return emitMath(call.code, builder, op, rounding, values);
  };
  auto constant = [&](double value) {
    return ConstantFP::get(operands[0]->getType(), value);
  };
  if (words.isApprox) {
    auto op = StringSwitch<int>(words.name)
                  .Case("ex2", SINTER_SIM_EXP2)
                  .Case("lg2", SINTER_SIM_LOG2)
                  .Case("sin", SINTER_SIM_SIN)
                  .Case("cos", SINTER_SIM_COS)
                  .Case("tanh", SINTER_SIM_TANH)
                  .Case("rsqrt", SINTER_SIM_RSQRT)
                  .Case("sqrt", SINTER_SIM_SQRT)
                  .Case("rcp", SINTER_SIM_RECIPROCAL)
                  .Case("div", SINTER_SIM_FDIV)
                  .Default(0);
    return op ? math(sinter_sim_math(op), operands) : nullptr;
  }
  if (words.name == "fmin" || words.name == "fmax")
    return emitMinMax(builder, words.name == "fmax", words.propagatesNaN,
                      operands[0], operands[1]);
  if (words.name == "fabs")
    return builder.CreateUnaryIntrinsic(Intrinsic::fabs, operands[0]);
  if (words.name == "saturate") {
    Value *low = emitMinMax(builder, /*isMax=*/true, /*propagatesNaN=*/false,
                            operands[0], constant(0));
    return emitMinMax(builder, /*isMax=*/false, /*propagatesNaN=*/false, low,
                      constant(1));
  }
  if (words.name == "rcp")
    return math(SINTER_SIM_FDIV, {constant(1), operands[0]});
  auto op = StringSwitch<int>(words.name)
                .Case("add", SINTER_SIM_FADD)
                .Case("mul", SINTER_SIM_FMUL)
                .Case("div", SINTER_SIM_FDIV)
                .Case("fma", SINTER_SIM_FMA)
                .Case("sqrt", SINTER_SIM_SQRT)
                .Case("floor", SINTER_SIM_FLOOR)
                .Case("ceil", SINTER_SIM_CEIL)
                .Case("trunc", SINTER_SIM_TRUNC)
                .Case("round", SINTER_SIM_ROUND_EVEN)
                .Default(0);
  return op ? math(sinter_sim_math(op), operands) : nullptr;
}

Value *lowerFloat(const IntrinsicCall &call) {
  Words words(call.name);
  if (!words.isKnown || call.operands.empty() ||
      (words.type != "f" && words.type != "d") ||
      !(call.type->isFloatTy() || call.type->isDoubleTy()))
    return nullptr;
  for (Value *operand : call.operands)
    if (operand->getType() != call.type)
      return nullptr;
  SmallVector<Value *> operands(call.operands);
  if (words.flushes)
    for (Value *&operand : operands)
      operand = flushed(call.builder, operand);
  Value *result = emitNamed(call, words, operands);
  return result && words.flushes ? flushed(call.builder, result) : result;
}

// {f,d}2{i,ui,ll,ull}.ROUNDING: rounds, then clamps to the range of the type.
Value *lowerToInteger(const IntrinsicCall &call, StringRef to,
                      sinter_sim_rounding rounding) {
  IRBuilder<> &builder = call.builder;
  auto op = rounding == SINTER_SIM_NEAREST ? SINTER_SIM_ROUND_EVEN
            : rounding == SINTER_SIM_DOWN  ? SINTER_SIM_FLOOR
            : rounding == SINTER_SIM_UP    ? SINTER_SIM_CEIL
                                           : SINTER_SIM_TRUNC;
  Value *value =
      emitMath(call.code, builder, op, SINTER_SIM_NEAREST, {call.operands[0]});
  return builder.CreateIntrinsic(to.starts_with("u") ? Intrinsic::fptoui_sat
                                                     : Intrinsic::fptosi_sat,
                                 {call.type, value->getType()}, {value});
}

Value *lowerConversion(const IntrinsicCall &call) {
  IRBuilder<> &builder = call.builder;
  Words words(call.name);
  auto [from, to] = words.name.split('2');
  // The rounding is the last word: f2i.rz, f2i.rz.ftz.
  StringRef rest = call.name.split('.').second;
  bool flushes = rest.consume_back(".ftz");
  auto rounding = roundingOf(rest);
  if (to.empty() || !rounding)
    return nullptr;
  if ((from == "f" || from == "d") &&
      StringSwitch<bool>(to).Cases("i", "ui", "ll", "ull", true).Default(false))
    return lowerToInteger(call, to, *rounding);
  bool isNearest = *rounding == SINTER_SIM_NEAREST;
  if (to == "f" || to == "d") {
    if (!isNearest || flushes)
      return nullptr;
    if (from == "d")
      return builder.CreateFPTrunc(call.operands[0], call.type);
    if (from == "i" || from == "ll")
      return builder.CreateSIToFP(call.operands[0], call.type);
    if (from == "ui" || from == "ull")
      return builder.CreateUIToFP(call.operands[0], call.type);
    return nullptr;
  }
  if (flushes)
    return nullptr;
  auto narrow = [&](Value *value, Type *type) {
    return emitNarrow(call.code, builder, value, type, *rounding);
  };
  Type *half = builder.getHalfTy(), *bfloat = builder.getBFloatTy();
  if (words.name == "f2bf16" || words.name == "f2h")
    return builder.CreateBitCast(
        narrow(call.operands[0], to == "h" ? half : bfloat), call.type);
  // The first operand is the upper half.
  if (words.name == "ff2bf16x2" || words.name == "ff2f16x2") {
    Type *type = to == "f16x2" ? half : bfloat;
    Value *pair = PoisonValue::get(FixedVectorType::get(type, 2));
    pair = builder.CreateInsertElement(pair, narrow(call.operands[1], type),
                                       uint64_t(0));
    pair = builder.CreateInsertElement(pair, narrow(call.operands[0], type), 1);
    return builder.CreateBitCast(pair, call.type);
  }
  return nullptr;
}

// Rounds to 10 bits of mantissa, halves away from zero; NaN and infinity stay.
Value *lowerTf32(const IntrinsicCall &call) {
  if (call.name != "f2tf32.rna")
    return nullptr;
  IRBuilder<> &builder = call.builder;
  Value *bits = builder.CreateBitCast(call.operands[0], builder.getInt32Ty());
  Value *rounded =
      builder.CreateAnd(builder.CreateAdd(bits, call.i32(0x1000)), 0xffffe000);
  Value *exponent = builder.CreateAnd(bits, 0x7f800000);
  Value *isFinite = builder.CreateICmpNE(exponent, call.i32(0x7f800000));
  return builder.CreateSelect(isFinite, rounded, bits);
}

Value *lowerBits(const IntrinsicCall &call) {
  IRBuilder<> &builder = call.builder;
  StringRef name = call.name;
  if (name.starts_with("bitcast."))
    return builder.CreateBitCast(call.operands[0], call.type);
  if (name.starts_with("move."))
    return call.operands[0];
  if (name == "reflect")
    return call.i32(0);
  if (name.consume_front("mulhi.")) {
    bool isSigned = !name.starts_with("u");
    unsigned width = call.type->getIntegerBitWidth();
    Type *wide = builder.getIntNTy(2 * width);
    Value *a = builder.CreateIntCast(call.operands[0], wide, isSigned);
    Value *b = builder.CreateIntCast(call.operands[1], wide, isSigned);
    return builder.CreateTrunc(
        builder.CreateLShr(builder.CreateMul(a, b), width), call.type);
  }
  if (name != "prmt")
    return nullptr;
  // Each digit of the selector picks a byte of {b, a}; the digit's top bit
  // replicates the byte's sign.
  Type *i64 = builder.getInt64Ty();
  Value *both = builder.CreateOr(
      builder.CreateShl(builder.CreateZExt(call.operands[1], i64), 32),
      builder.CreateZExt(call.operands[0], i64));
  Value *result = call.i32(0);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Value *digit = builder.CreateLShr(call.operands[2], 4 * byte);
    Value *shift = builder.CreateShl(builder.CreateAnd(digit, 7), 3);
    Value *picked = builder.CreateTrunc(
        builder.CreateLShr(both, builder.CreateZExt(shift, i64)),
        builder.getInt8Ty());
    Value *sign = builder.CreateAShr(picked, 7);
    Value *spreads =
        builder.CreateICmpNE(builder.CreateAnd(digit, 8), call.i32(0));
    Value *value = builder.CreateZExt(
        builder.CreateSelect(spreads, sign, picked), builder.getInt32Ty());
    result = builder.CreateOr(result, builder.CreateShl(value, 8 * byte));
  }
  return result;
}

} // namespace

Value *lowerMath(const IntrinsicCall &call) {
  // sqrt.f is correctly rounded unless flags say otherwise.
  if (call.name == "sqrt.f")
    return call.builder.CreateUnaryIntrinsic(Intrinsic::sqrt, call.operands[0]);
  for (auto *lower : {lowerBits, lowerTf32, lowerConversion, lowerFloat})
    if (Value *value = lower(call))
      return value;
  return nullptr;
}

} // namespace sinter::sim
