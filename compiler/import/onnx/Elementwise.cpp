//===- Elementwise.cpp - arithmetic, comparison, logic, casts -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Activation.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Signature.h"
#include "compiler/import/onnx/TensorReader.h"

#include <limits>

using namespace mlir;

namespace sinter::compiler {

template <class Op> static void importUnary(NodeImport &n) {
  n.out(n.unary<Op>(n.in(0)));
}

template <class Op> static void importBinary(NodeImport &n) {
  n.out(n.binary<Op>(n.in(0), n.in(1)));
}

/// And, Or and Xor are for bools, their Bitwise forms for integers.
template <class Op, bool onBits> static void importLogic(NodeImport &n) {
  if (n.isBool(n.in(0)) == onBits || n.isFloat(n.in(0)))
    n.fail(onBits ? "inputs must be integers" : "inputs must be bool");
  n.out(n.binary<Op>(n.in(0), n.in(1)));
}

template <ir::CompareKind kind> static void importCompare(NodeImport &n) {
  n.out(n.compare(kind, n.in(0), n.in(1)));
}

/// Max, Min, Sum: any number of operands.
template <class Op> static void importVariadic(NodeImport &n) {
  Value result = n.in(0);
  for (size_t i = 1; i < n.numInputs(); ++i) {
    if (!n.has(i))
      n.fail("input " + std::to_string(i) + " is missing");
    result = n.binary<Op>(result, n.in(i));
  }
  n.out(result);
}

/// Equal operands each get half of the derivative. But PyTorch's newer exporter
/// also writes Max and Min for bounds.
template <class Op> static void importExtremum(NodeImport &n) {
  constexpr bool isMax = std::is_same_v<Op, ir::MaxOp>;
  std::optional<FxCall> call = readFxCall(n.node);
  bool isBound = n.numInputs() == 2 && isNumber(n.in(1)) && call &&
                 llvm::StringRef(call->target).starts_with("aten.clamp");
  if (isBound)
    n.out(emitClip(n, n.in(0), isMax ? n.in(1) : Value(),
                   isMax ? Value() : n.in(1)));
  else
    importVariadic<Op>(n);
}

static void importMean(NodeImport &n) {
  importVariadic<ir::AddOp>(n);
  n.out(n.div(n.results().front(), double(n.numInputs())));
}

static void importReciprocal(NodeImport &n) {
  if (n.requireFloat())
    n.out(n.div(n.splatLike(n.in(0), 1), n.in(0)));
}

/// The exponent may have any type; the result has the base's type.
static void importPow(NodeImport &n) {
  Value base = n.in(0), exponent = n.in(1);
  Type element = n.elementOf(base);
  if (!n.isFloat(base) && n.isFloat(exponent)) {
    Type wide = n.elementOf(exponent);
    n.out(n.cast(n.binary<ir::PowOp>(n.cast(base, wide), exponent), element));
    return;
  }
  n.out(n.binary<ir::PowOp>(base, n.cast(exponent, element)));
}

static void importMod(NodeImport &n) {
  if (n.attrInt("fmod", 0)) {
    n.out(n.binary<ir::RemOp>(n.in(0), n.in(1)));
    return;
  }
  if (n.isFloat(n.in(0)))
    n.fail("float inputs need the attribute fmod = 1");
  n.out(n.binary<ir::ModOp>(n.in(0), n.in(1)));
}

static void importBitShift(NodeImport &n) {
  std::string direction = n.attrString("direction", "");
  if (direction == "LEFT")
    n.out(n.binary<ir::ShiftLeftOp>(n.in(0), n.in(1)));
  else if (direction == "RIGHT")
    n.out(n.binary<ir::ShiftRightOp>(n.in(0), n.in(1)));
  else
    n.fail("attribute 'direction' is " + quoted(direction) +
           "; it must be 'LEFT' or 'RIGHT'");
}

static void importWhere(NodeImport &n) {
  n.out(n.where(n.in(0), n.in(1), n.in(2)));
}

/// min(max(x, low), high); bounds are attributes before operator set 11.
static void importClip(NodeImport &n) {
  Value x = n.in(0), low, high;
  if (n.version < 11) {
    constexpr double kLimit = std::numeric_limits<float>::max();
    double least = n.attrFloat("min", -kLimit),
           greatest = n.attrFloat("max", kLimit);
    if (n.hasAttr("min"))
      low = n.scalar(n.elementOf(x), least);
    if (n.hasAttr("max"))
      high = n.scalar(n.elementOf(x), greatest);
  } else {
    for (size_t i : {1, 2})
      if (n.has(i) && ir::tensorType(n.in(i)).getNumElements() != 1)
        n.fail("bounds must be scalars");
    low = n.has(1) ? n.reshape(n.in(1), {}) : Value();
    high = n.has(2) ? n.reshape(n.in(2), {}) : Value();
  }
  if (!n.failed())
    n.out(emitClip(n, x, low, high));
}

static void importIsNan(NodeImport &n) {
  if (!n.requireFloat())
    return;
  Value x = n.in(0);
  auto type = RankedTensorType::get(n.shapeOf(x), n.i1());
  n.out(n.b.create<ir::IsNanOp>(n.loc, type, x).getResult());
}

static void importIsInf(NodeImport &n) {
  if (!n.requireFloat())
    return;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Value x = n.in(0);
  bool positive = n.attrInt("detect_positive", 1),
       negative = n.attrInt("detect_negative", 1);
  auto equals = [&](double bound) {
    return n.compare(ir::CompareKind::eq, x, n.splatLike(x, bound));
  };
  if (positive && negative)
    n.out(n.binary<ir::OrOp>(equals(kInf), equals(-kInf)));
  else if (positive || negative)
    n.out(equals(positive ? kInf : -kInf));
  else
    n.out(n.splat(n.shapeOf(x), n.i1(), 0));
}

static void importCast(NodeImport &n) {
  // Only for 8-bit floats, which the target type cannot be here.
  n.ignoreAttr("saturate");
  n.ignoreAttr("round_mode");
  std::optional<int64_t> to = n.attrInt("to");
  if (!to) {
    n.fail("attribute 'to' is missing");
    return;
  }
  bool isType = *to > 0 && *to < 64;
  Type element = isType ? elementTypeOf(int32_t(*to), n.context()) : Type();
  if (!element) {
    isType ? n.unsupported("casts to " + dataTypeName(int32_t(*to)))
           : n.fail("attribute 'to' is " + std::to_string(*to) +
                    ", which is not a type");
    return;
  }
  n.out(n.cast(n.in(0), element));
}

static void importCastLike(NodeImport &n) {
  n.ignoreAttr("saturate");
  n.ignoreAttr("round_mode");
  n.out(n.cast(n.in(0), n.elementOf(n.in(1))));
}

/// Only for integers: a cast between equal widths keeps the bits.
static void importBitCast(NodeImport &n) {
  std::optional<int64_t> to = n.attrInt("to");
  bool isType = to && *to > 0 && *to < 64;
  Type from = n.elementOf(n.in(0)),
       element = isType ? elementTypeOf(int32_t(*to), n.context()) : Type();
  if (n.failed())
    return;
  if (!isType) {
    n.fail("attribute 'to' is missing or not a type");
  } else if (element == from) {
    n.out(n.in(0));
  } else if (!element || n.isFloat(n.in(0)) || isa<FloatType>(element) ||
             element.isInteger(1) || from.isInteger(1)) {
    n.unsupported("between these types, which are not both integers");
  } else if (ir::elementSizeBytes(element) != ir::elementSizeBytes(from)) {
    n.fail("the types have different sizes");
  } else {
    n.out(n.cast(n.in(0), element));
  }
}

static void importAbs(NodeImport &n) {
  bool isUnsigned = n.elementOf(n.in(0)).isUnsignedInteger();
  n.out(isUnsigned ? n.in(0) : n.unary<ir::AbsOp>(n.in(0)));
}

llvm::ArrayRef<OpRow> elementwiseOps() {
  static constexpr OpRow rows[] = {
      {"Abs", importAbs, 1, 1},
      {"Acos", importUnary<ir::AcosOp>, 1, 1},
      {"Acosh", importUnary<ir::AcoshOp>, 1, 1},
      {"Add", importBinary<ir::AddOp>, 2, 2},
      {"And", importLogic<ir::AndOp, false>, 2, 2},
      {"Asin", importUnary<ir::AsinOp>, 1, 1},
      {"Asinh", importUnary<ir::AsinhOp>, 1, 1},
      {"Atan", importUnary<ir::AtanOp>, 1, 1},
      {"Atanh", importUnary<ir::AtanhOp>, 1, 1},
      {"BitCast", importBitCast, 1, 1, 1, 26},
      {"BitShift", importBitShift, 2, 2},
      {"BitwiseAnd", importLogic<ir::AndOp, true>, 2, 2, 1, 18},
      {"BitwiseNot", importUnary<ir::BitNotOp>, 1, 1, 1, 18},
      {"BitwiseOr", importLogic<ir::OrOp, true>, 2, 2, 1, 18},
      {"BitwiseXor", importLogic<ir::XorOp, true>, 2, 2, 1, 18},
      {"Cast", importCast, 1, 1},
      {"CastLike", importCastLike, 2, 2, 1, 15},
      {"Ceil", importUnary<ir::CeilOp>, 1, 1},
      {"Clip", importClip, 1, 3},
      {"Cos", importUnary<ir::CosOp>, 1, 1},
      {"Cosh", importUnary<ir::CoshOp>, 1, 1},
      {"Div", importBinary<ir::DivOp>, 2, 2},
      {"Equal", importCompare<ir::CompareKind::eq>, 2, 2},
      {"Erf", importUnary<ir::ErfOp>, 1, 1},
      {"Exp", importUnary<ir::ExpOp>, 1, 1},
      {"Floor", importUnary<ir::FloorOp>, 1, 1},
      {"Greater", importCompare<ir::CompareKind::gt>, 2, 2},
      {"GreaterOrEqual", importCompare<ir::CompareKind::ge>, 2, 2, 1, 12},
      {"IsInf", importIsInf, 1, 1, 1, 10},
      {"IsNaN", importIsNan, 1, 1, 1, 9},
      {"Less", importCompare<ir::CompareKind::lt>, 2, 2},
      {"LessOrEqual", importCompare<ir::CompareKind::le>, 2, 2, 1, 12},
      {"Log", importUnary<ir::LogOp>, 1, 1},
      {"Max", importExtremum<ir::MaxOp>, 1, kAny},
      {"Mean", importMean, 1, kAny},
      {"Min", importExtremum<ir::MinOp>, 1, kAny},
      {"Mod", importMod, 2, 2, 1, 10},
      {"Mul", importBinary<ir::MulOp>, 2, 2},
      {"Neg", importUnary<ir::NegOp>, 1, 1},
      {"Not", importUnary<ir::NotOp>, 1, 1},
      {"Or", importLogic<ir::OrOp, false>, 2, 2},
      {"Pow", importPow, 2, 2},
      {"Reciprocal", importReciprocal, 1, 1},
      {"Round", importUnary<ir::RoundOp>, 1, 1, 1, 11},
      {"Sign", importUnary<ir::SignOp>, 1, 1, 1, 9},
      {"Sin", importUnary<ir::SinOp>, 1, 1},
      {"Sinh", importUnary<ir::SinhOp>, 1, 1},
      {"Sqrt", importUnary<ir::SqrtOp>, 1, 1},
      {"Sub", importBinary<ir::SubOp>, 2, 2},
      {"Sum", importVariadic<ir::AddOp>, 1, kAny},
      {"Tan", importUnary<ir::TanOp>, 1, 1},
      {"Where", importWhere, 3, 3, 1, 9},
      {"Xor", importLogic<ir::XorOp, false>, 2, 2},
  };
  return rows;
}

} // namespace sinter::compiler
