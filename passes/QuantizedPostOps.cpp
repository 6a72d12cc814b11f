//===- QuantizedPostOps.cpp - what follows 8-bit contractions -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/QuantizedPostOps.h"
#include "ir/Build.h"
#include "passes/OpClasses.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace sinter::passes {
namespace {

using exec::PostOpKind;
using Members = llvm::SmallVector<Operation *, 8>;

/// The number that all elements of a constant of float32 are.
std::optional<float> splatOf(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) ||
      !splat.getElementType().isF32())
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToFloat();
}

/// The number that all elements of a constant of int32 are.
std::optional<int64_t> integerSplatOf(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) ||
      !splat.getElementType().isSignlessInteger(32))
    return std::nullopt;
  return splat.getSplatValue<APInt>().getSExtValue();
}

/// Whether `number` is a power of two whose reciprocal is a normal number.
bool isPowerOfTwo(std::optional<float> number) {
  int exponent;
  return number && std::frexp(*number, &exponent) == 0.5f &&
         std::isnormal(*number) && std::isnormal(1 / *number);
}

/// Names a kind of op in a call.
template <class OpTy> struct Kind {};

class Matcher {
public:
  Matcher(Operation *contraction, bool makesVectors)
      : contraction(contraction), makesVectors(makesVectors) {}

  std::optional<QuantizedPostOp> match(Value value);

private:
  std::optional<QuantizedPostOp> dequantize(ir::CastOp cast);
  std::optional<QuantizedPostOp> fakeQuantize(Value value);
  std::optional<QuantizedPostOp> addCodes(ir::AddOp add, Value value);
  bool isQuantized(Value value, Type code);
  std::optional<QuantizedPostOp> withVector(PostOpKind kind, Operation *op,
                                            Value operand, Members members);
  ir::BroadcastOp vectorAlongColumns(Operation *op, Value operand);

  Operation *contraction;
  bool makesVectors;
};

/// The only user of `value`; null if there are several.
Operation *onlyUser(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

/// The operand of `op` besides `value`, which it uses once; null if it has
/// others.
Value besides(Operation *op, Value value) {
  if (op->getNumOperands() != 2 || op->getOperand(0) == op->getOperand(1))
    return {};
  return op->getOperand(op->getOperand(0) == value ? 1 : 0);
}

} // namespace

std::optional<CodedValue> codedValueOf(Value value) {
  auto product = value.getDefiningOp<ir::MulOp>();
  if (!product)
    return std::nullopt;
  const unsigned at = splatOf(product.getLhs()) ? 0 : 1;
  std::optional<float> scale = splatOf(product->getOperand(at));
  auto cast = product->getOperand(1 - at).getDefiningOp<ir::CastOp>();
  if (!scale || !cast)
    return std::nullopt;
  CodedValue coded{cast.getX(), *scale, 0, {}};
  if (auto difference = cast.getX().getDefiningOp<ir::SubOp>()) {
    auto widening = difference.getLhs().getDefiningOp<ir::CastOp>();
    std::optional<int64_t> zero = integerSplatOf(difference.getRhs());
    if (!widening || !zero)
      return std::nullopt;
    coded.codes = widening.getX();
    coded.zero = static_cast<float>(*zero);
    coded.members = {widening, difference.getRhs().getDefiningOp(), difference};
  }
  coded.members.append(
      {cast, product->getOperand(at).getDefiningOp(), product});
  return ir::tensorType(coded.codes).getElementType().isInteger(8)
             ? std::optional(std::move(coded))
             : std::nullopt;
}

// Pattern: cast(clip(round(x / scale) + zero point)), with the bounds of the
// cast's 8-bit type; without a division the scale is 1, without an addition the
// zero point 0. The simplifier makes x * 2^-k of x / 2^k.
std::optional<QuantizedValue> quantizedValueOf(Value codes, Value begin) {
  QuantizedValue found{codes, 1, 0, {}};
  // The op in front, if it is an OpTy; goes back over it.
  auto take = [&]<class OpTy>(Kind<OpTy>) {
    auto op = found.x == begin ? OpTy() : found.x.getDefiningOp<OpTy>();
    if (op) {
      found.members.push_back(op);
      found.x = op->getOperand(0);
    }
    return op;
  };
  // The number that the op in front, if it is an OpTy, has as an operand; goes
  // back to the other one.
  auto takeNumber = [&]<class OpTy>(Kind<OpTy>) -> std::optional<float> {
    auto op = found.x == begin ? OpTy() : found.x.getDefiningOp<OpTy>();
    if (!op)
      return std::nullopt;
    const unsigned at = !isa<ir::DivOp>(op) && splatOf(op->getOperand(0));
    Value other = op->getOperand(1 - at);
    std::optional<float> number = splatOf(other);
    if (number) {
      found.members.append({op, other.getDefiningOp()});
      found.x = op->getOperand(at);
    }
    return number;
  };
  Type type = ir::tensorType(codes).getElementType();
  if (!type.isInteger(8) || !take(Kind<ir::CastOp>()))
    return std::nullopt;
  std::optional<float> greatest = takeNumber(Kind<ir::MinOp>());
  std::optional<float> least =
      take(Kind<ir::ReluOp>()) ? 0 : takeNumber(Kind<ir::MaxOp>());
  found.zero = takeNumber(Kind<ir::AddOp>()).value_or(0);
  if (!least || !greatest || !take(Kind<ir::RoundOp>()) ||
      !ir::tensorType(found.x).getElementType().isF32())
    return std::nullopt;
  if (std::optional<float> scale = takeNumber(Kind<ir::DivOp>())) {
    found.scale = *scale;
  } else if (auto product = found.x.getDefiningOp<ir::MulOp>();
             product && isPowerOfTwo(splatOf(product.getRhs()))) {
    if (std::optional<float> factor = takeNumber(Kind<ir::MulOp>()))
      found.scale = 1 / *factor;
  }
  const bool isUnsigned = type.isUnsignedInteger();
  if (*least != (isUnsigned ? 0 : -128) ||
      *greatest != (isUnsigned ? 255 : 127) ||
      found.zero != std::nearbyint(found.zero) || found.zero < *least ||
      found.zero > *greatest)
    return std::nullopt;
  std::reverse(found.members.begin(), found.members.end());
  return found;
}

namespace {

/// Follows a chain of ops with one user each.
class Chain {
public:
  explicit Chain(Value value) : value(value) {}

  /// Goes on if the next op is an OpTy.
  template <class OpTy> OpTy take() {
    auto op = dyn_cast_or_null<OpTy>(onlyUser(value));
    if (op) {
      members.push_back(op);
      value = op->getResult(0);
    }
    return op;
  }
  Value value;
  Members members;
};

} // namespace

/// `operand` as the broadcast of a vector along the columns or channels of the
/// result; null if it is something else.
ir::BroadcastOp Matcher::vectorAlongColumns(Operation *op, Value operand) {
  SmallVector<int64_t> dims = biasDims(contraction);
  if (dims.size() != 1)
    return nullptr;
  RankedTensorType type = ir::tensorType(operand);
  const int64_t size = type.getDimSize(dims.front());
  if (auto broadcast = operand.getDefiningOp<ir::BroadcastOp>())
    return broadcast.getDims() == ArrayRef(dims) &&
                   ir::tensorType(broadcast.getX()).getDimSize(0) == size
               ? broadcast
               : nullptr;
  SplatElementsAttr splat;
  if (!makesVectors || !matchPattern(operand, m_Constant(&splat)))
    return nullptr;
  OpBuilder builder(op);
  Value vector = builder.create<ir::ConstantOp>(
      operand.getLoc(), splat.resizeSplat(type.clone({size})));
  return builder.create<ir::BroadcastOp>(op->getLoc(), type, vector, dims);
}

/// The post-op `op`, which reads `operand`. `members` come before its operand.
std::optional<QuantizedPostOp> Matcher::withVector(PostOpKind kind,
                                                   Operation *op, Value operand,
                                                   Members members) {
  ir::BroadcastOp vector = vectorAlongColumns(op, operand);
  if (!vector)
    return std::nullopt;
  op->replaceUsesOfWith(operand, vector);
  members.append({vector, op});
  return QuantizedPostOp{{kind, vector.getX(), {}}, std::move(members)};
}

// Pattern: cast(x) * scales
std::optional<QuantizedPostOp> Matcher::dequantize(ir::CastOp cast) {
  auto product = dyn_cast_or_null<ir::MulOp>(onlyUser(cast.getResult()));
  Value scales = product ? besides(product, cast.getResult()) : Value();
  if (!cast.getType().getElementType().isF32() || !scales)
    return std::nullopt;
  return withVector(PostOpKind::dequantize, product, scales, {cast});
}

std::optional<QuantizedPostOp> matchQuantize(Value value) {
  Chain chain(value);
  while (chain.take<ir::DivOp>() || chain.take<ir::MulOp>() ||
         chain.take<ir::RoundOp>() || chain.take<ir::AddOp>() ||
         chain.take<ir::ReluOp>() || chain.take<ir::MaxOp>() ||
         chain.take<ir::MinOp>()) {
  }
  auto cast = chain.take<ir::CastOp>();
  std::optional<QuantizedValue> found =
      cast ? quantizedValueOf(cast.getResult(), value) : std::nullopt;
  if (!found || found->x != value)
    return std::nullopt;
  auto number = [&](float x) {
    return FloatAttr::get(Float32Type::get(value.getContext()), x);
  };
  return QuantizedPostOp{
      {PostOpKind::quantize, {}, number(found->scale), number(found->zero)},
      std::move(found->members)};
}

/// Whether `value`, perhaps after a relu, is quantised to codes of type `code`.
bool Matcher::isQuantized(Value value, Type code) {
  Chain chain(value);
  chain.take<ir::ReluOp>();
  std::optional<QuantizedPostOp> next = matchQuantize(chain.value);
  return next && ir::tensorType(next->result()).getElementType() == code;
}

// Pattern: x + (codes - zero point) * scale, which is quantised to the same
// type
std::optional<QuantizedPostOp> Matcher::addCodes(ir::AddOp add, Value value) {
  std::optional<CodedValue> coded = codedValueOf(besides(add, value));
  if (!coded || !isQuantized(add.getResult(),
                             ir::tensorType(coded->codes).getElementType()))
    return std::nullopt;
  coded->members.push_back(add);
  auto number = [&](float x) {
    return FloatAttr::get(Float32Type::get(add.getContext()), x);
  };
  return QuantizedPostOp{{PostOpKind::add_codes, coded->codes,
                          number(coded->scale), number(coded->zero)},
                         std::move(coded->members)};
}

// Pattern: dequantised(quantised(x)), to which others are added as in addCodes
std::optional<QuantizedPostOp> Matcher::fakeQuantize(Value value) {
  std::optional<QuantizedPostOp> found = matchQuantize(value);
  if (!found)
    return std::nullopt;
  Value codes = found->result();
  Chain chain(codes);
  while (chain.take<ir::CastOp>() || chain.take<ir::SubOp>()) {
  }
  chain.take<ir::MulOp>();
  std::optional<CodedValue> coded = codedValueOf(chain.value);
  auto add = dyn_cast_or_null<ir::AddOp>(onlyUser(chain.value));
  if (!coded || coded->codes != codes || !add || !besides(add, chain.value) ||
      found->postOp.alpha.getValue().convertToFloat() != coded->scale ||
      found->postOp.beta.getValue().convertToFloat() != coded->zero)
    return std::nullopt;
  std::optional<QuantizedPostOp> next = addCodes(add, chain.value);
  if (!next || ir::tensorType(next->postOp.operand).getElementType() !=
                   ir::tensorType(codes).getElementType())
    return std::nullopt;
  found->postOp.kind = PostOpKind::fake_quantize;
  found->members.append(coded->members);
  return found;
}

std::optional<QuantizedPostOp> Matcher::match(Value value) {
  Operation *user = onlyUser(value);
  if (!user || user->getNumResults() != 1)
    return std::nullopt;
  Type element = ir::tensorType(value).getElementType();
  if (auto add = dyn_cast<ir::AddOp>(user)) {
    Value other = besides(add, value);
    auto bias =
        other ? withVector(PostOpKind::bias, add, other, {}) : std::nullopt;
    return !bias && other && element.isF32() ? addCodes(add, value) : bias;
  }
  if (auto relu = dyn_cast<ir::ReluOp>(user))
    return QuantizedPostOp{{PostOpKind::relu, {}, {}}, {relu}};
  if (auto cast = dyn_cast<ir::CastOp>(user))
    return element.isSignlessInteger(32) ? dequantize(cast) : std::nullopt;
  if (!element.isF32())
    return std::nullopt;
  std::optional<QuantizedPostOp> fake = fakeQuantize(value);
  return fake ? fake : matchQuantize(value);
}

bool multipliesBytes(Operation *op) {
  return ir::isContraction(op) && widenedBytes(op->getOperand(0)) &&
         widenedBytes(op->getOperand(1));
}

bool hasByteWindow(ir::ConvOp conv) {
  ArrayRef<int64_t> filter = conv.getFilter().getType().getShape();
  constexpr int64_t maxHeight = 16, maxPoints = 256; // of depthwise windows
  if (filter.size() != 4)
    return false;
  return conv.getGroups() == 1 ||
         (static_cast<int64_t>(conv.getGroups()) == filter[0] &&
          filter[1] == 1 && filter[2] <= maxHeight &&
          filter[2] * filter[3] <= maxPoints);
}

std::optional<BytePadding> paddingOf(Operation *contraction) {
  auto conv = dyn_cast<ir::ConvOp>(contraction);
  if (!conv || !multipliesBytes(conv) || !hasByteWindow(conv))
    return std::nullopt;
  auto pad = widenedBytes(conv.getInput()).getDefiningOp<ir::PadOp>();
  DenseIntElementsAttr number;
  auto isZero = [](int64_t count) { return count == 0; };
  if (!pad || !matchPattern(pad.getValue(), m_Constant(&number)) ||
      !llvm::all_of(pad.getInterior(), isZero) ||
      !llvm::all_of(conv.getPadsLow(), isZero) ||
      !llvm::all_of(conv.getPadsHigh(), isZero))
    return std::nullopt;
  const int64_t channel = conv.getChannelsLast() ? 3 : 1;
  for (int64_t dim : {int64_t(0), channel})
    if (pad.getLow()[dim] != 0 || pad.getHigh()[dim] != 0)
      return std::nullopt;
  const APInt bits = *number.begin();
  const bool isUnsigned =
      ir::tensorType(pad).getElementType().isUnsignedInteger();
  return BytePadding{pad,
                     static_cast<int32_t>(isUnsigned ? bits.getZExtValue()
                                                     : bits.getSExtValue())};
}

std::optional<QuantizedPostOp>
matchQuantizedPostOp(Value value, Operation *contraction, bool makesVectors) {
  return Matcher(contraction, makesVectors).match(value);
}

} // namespace sinter::passes
