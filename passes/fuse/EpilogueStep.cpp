//===- EpilogueStep.cpp - one op that a library call applies --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/EpilogueStep.h"
#include "ir/Build.h"
#include "passes/OpClasses.h"
#include "passes/PostOps.h"
#include "passes/fuse/Fusion.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::passes {

bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  return constant && isSplatConstant(constant);
}

namespace {

/// The dimension of the result that a bias runs along, if there is exactly one.
std::optional<int64_t> biasDim(Operation *contraction) {
  SmallVector<int64_t> dims = biasDims(contraction);
  return dims.size() == 1 ? std::optional(dims.front()) : std::nullopt;
}

/// `value` as the broadcast of a vector along the bias dimension; null if it is
/// something else.
ir::BroadcastOp asBias(Value value, Operation *contraction) {
  auto broadcast = asStored(value).getDefiningOp<ir::BroadcastOp>();
  std::optional<int64_t> dim = biasDim(contraction);
  if (!broadcast || !dim || broadcast.getDims() != ArrayRef<int64_t>{*dim})
    return nullptr;
  RankedTensorType type = broadcast.getType();
  return ir::tensorType(broadcast.getX()).getShape()[0] == type.getDimSize(*dim)
             ? broadcast
             : nullptr;
}

/// Makes a splat, which folding leaves of a bias of equal numbers, a bias along
/// `dim` again. `element` is the type in which the library wants it.
ir::BroadcastOp splatAsBias(Operation *user, Value splat, int64_t dim,
                            Type element) {
  OpBuilder builder(user);
  RankedTensorType type = ir::tensorType(splat);
  RankedTensorType vectorType = type.clone({type.getDimSize(dim)});
  auto value =
      cast<DenseElementsAttr>(splat.getDefiningOp<ir::ConstantOp>().getValue())
          .resizeSplat(vectorType);
  Value vector =
      element == type.getElementType()
          ? builder.create<ir::ConstantOp>(splat.getLoc(), value).getResult()
          : ir::splat(builder, splat.getLoc(), vectorType.clone(element),
                      value.getSplatValue<APFloat>().convertToFloat());
  return builder.create<ir::BroadcastOp>(user->getLoc(), type.clone(element),
                                         vector, dim);
}

/// The element type to which `value`, or the result of the elementwise ops
/// after it, is rounded; its own type if it is not rounded.
Type storedType(Value value) {
  Type own = ir::tensorType(value).getElementType();
  for (;;) {
    for (Operation *user : value.getUsers())
      if (auto cast = dyn_cast<ir::CastOp>(user))
        if (Type element = cast.getType().getElementType();
            element.isF16() || element.isBF16())
          return element;
    if (!value.hasOneUse())
      return own;
    Operation *user = *value.user_begin();
    if (!isElementwise(user) || user->getNumResults() != 1 ||
        user->getResult(0).getType() != value.getType())
      return own;
    value = user->getResult(0);
  }
}

/// The other operand if `op` adds to the result of a matrix product that
/// nothing else uses; else null.
Value addedToProduct(Operation *op) {
  if (!isa_and_nonnull<ir::AddOp>(op))
    return {};
  for (unsigned i : {0, 1}) {
    if (op->getOperand(i).getDefiningOp<ir::DotGeneralOp>() &&
        op->getOperand(i).hasOneUse())
      return op->getOperand(1 - i);
  }
  return {};
}

/// True when `value` is in memory anyway, or is stored for other users. A value
/// that is computed only for this addition is better fused with it. In a sum of
/// products, each call adds the sum of those before.
bool isStored(Value value) {
  while (Value other = addedToProduct(value.getDefiningOp()))
    value = other;
  bool hasOneUse = value.hasOneUse();
  if (Value narrow = widened(value)) {
    value = narrow;
    hasOneUse &= value.hasOneUse();
  }
  while (auto reshape = value.getDefiningOp<ir::ReshapeOp>()) {
    value = reshape.getX();
    hasOneUse &= value.hasOneUse();
  }
  Operation *def = value.getDefiningOp();
  return !def || ir::isContraction(def) ||
         isa<ir::FusionOpInterface, ir::ConstantOp>(def) || !hasOneUse;
}

} // namespace

void takeWidening(Value value, SmallVectorImpl<Operation *> &members) {
  if (widened(value))
    members.push_back(value.getDefiningOp());
}

/// Lets `user` read a copy of `bias`, of which `other` is the widened value or
/// the value itself. Returns the copy of `other`; `bias` becomes its own.
static Value copyBias(Operation *user, Value other, ir::BroadcastOp &bias) {
  OpBuilder builder(user);
  IRMapping copies;
  auto copy = cast<ir::BroadcastOp>(builder.clone(*bias, copies));
  Value read = copy;
  if (other != bias.getResult())
    read = builder.clone(*other.getDefiningOp(), copies)->getResult(0);
  user->replaceUsesOfWith(other, read);
  bias = copy;
  return read;
}

bool takeEpilogueStep(Operation *user, Value value, Operation *contraction,
                      SmallVectorImpl<Operation *> &members) {
  if (unaryKind(user)) {
    members.push_back(user);
    return true;
  }
  Value other = otherOperand(user, value);
  if (!other)
    return false;
  if (isSplat(other) && isa<ir::AddOp>(user)) {
    std::optional<int64_t> dim = biasDim(contraction);
    if (!dim)
      return false;
    ir::BroadcastOp bias =
        splatAsBias(user, other, *dim, storedType(user->getResult(0)));
    members.push_back(bias);
    OpBuilder builder(user);
    Value wide = ir::castTo(builder, user->getLoc(), bias,
                            ir::tensorType(other).getElementType());
    takeWidening(wide, members);
    user->setOperand(user->getOperand(0) == other ? 0 : 1, wide);
    members.push_back(user);
    return true;
  }
  if (isSplat(other)) {
    members.push_back(other.getDefiningOp());
    members.push_back(user);
    return true;
  }
  if (!isa<ir::AddOp>(user))
    return false;
  if (ir::BroadcastOp bias = asBias(other, contraction)) {
    // What the contraction multiplies, too, must come from outside of the call.
    if (llvm::any_of(contraction->getOperands(), [&](Value operand) {
          return operand == other || operand == bias.getResult();
        }))
      other = copyBias(user, other, bias);
    members.push_back(bias);
    takeWidening(other, members);
    members.push_back(user);
    return true;
  }
  if (!isStored(other))
    return false;
  takeWidening(other, members);
  members.push_back(user);
  return true;
}

} // namespace sinter::passes
