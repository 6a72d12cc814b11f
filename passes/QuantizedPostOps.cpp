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

class Matcher {
public:
  Matcher(Operation *contraction, bool makesVectors)
      : contraction(contraction), makesVectors(makesVectors) {}

  std::optional<QuantizedPostOp> match(Value value);

private:
  std::optional<QuantizedPostOp> dequantize(ir::CastOp cast);
  std::optional<QuantizedPostOp> quantize(Value value);
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

/// Follows a chain of ops with one user each. A step is an op of one kind whose
/// other operand, if it has one, is a splat.
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
  /// Goes on if the next op is an OpTy with a number; returns the number.
  template <class OpTy> std::optional<float> takeNumber() {
    auto op = dyn_cast_or_null<OpTy>(onlyUser(value));
    Value other = op ? besides(op, value) : Value();
    std::optional<float> number = other ? splatOf(other) : std::nullopt;
    if (!number || (isa<ir::DivOp>(op) && op->getOperand(0) != value))
      return std::nullopt;
    members.append({other.getDefiningOp(), op});
    value = op->getResult(0);
    return number;
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

// Pattern: cast(clip(round(x / scale) + zero point)), with the bounds of the
// cast's 8-bit type; without a division the scale is 1, without an addition the
// zero point 0
std::optional<QuantizedPostOp> Matcher::quantize(Value value) {
  Chain chain(value);
  const float scale = chain.takeNumber<ir::DivOp>().value_or(1);
  if (!chain.take<ir::RoundOp>())
    return std::nullopt;
  const float zero = chain.takeNumber<ir::AddOp>().value_or(0);
  std::optional<float> least =
      chain.take<ir::ReluOp>() ? 0 : chain.takeNumber<ir::MaxOp>();
  std::optional<float> greatest = chain.takeNumber<ir::MinOp>();
  auto cast = chain.take<ir::CastOp>();
  if (!least || !greatest || !cast ||
      !cast.getType().getElementType().isInteger(8))
    return std::nullopt;
  const bool isUnsigned = cast.getType().getElementType().isUnsignedInteger();
  if (*least != (isUnsigned ? 0 : -128) ||
      *greatest != (isUnsigned ? 255 : 127) || zero != std::nearbyint(zero) ||
      zero < *least || zero > *greatest)
    return std::nullopt;
  auto number = [&](float x) {
    return FloatAttr::get(Float32Type::get(cast.getContext()), x);
  };
  return QuantizedPostOp{
      {PostOpKind::quantize, {}, number(scale), number(zero)},
      std::move(chain.members)};
}

std::optional<QuantizedPostOp> Matcher::match(Value value) {
  Operation *user = onlyUser(value);
  if (!user || user->getNumResults() != 1)
    return std::nullopt;
  if (auto add = dyn_cast<ir::AddOp>(user))
    if (Value other = besides(add, value))
      if (auto bias = withVector(PostOpKind::bias, add, other, {}))
        return bias;
  if (auto relu = dyn_cast<ir::ReluOp>(user))
    return QuantizedPostOp{{PostOpKind::relu, {}, {}}, {relu}};
  Type element = ir::tensorType(value).getElementType();
  if (auto cast = dyn_cast<ir::CastOp>(user))
    return element.isSignlessInteger(32) ? dequantize(cast) : std::nullopt;
  return element.isF32() ? quantize(value) : std::nullopt;
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

std::optional<QuantizedPostOp>
matchQuantizedPostOp(Value value, Operation *contraction, bool makesVectors) {
  return Matcher(contraction, makesVectors).match(value);
}

} // namespace sinter::passes
