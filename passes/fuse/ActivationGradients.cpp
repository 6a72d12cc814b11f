//===- ActivationGradients.cpp - gradients that calls apply ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/ActivationGradients.h"
#include "passes/OpClasses.h"
#include "passes/PostOps.h"
#include "passes/fuse/ChooseCalls.h"
#include "passes/fuse/EpilogueStep.h"

using namespace mlir;

namespace sinter::passes {
namespace {

/// `value` before it was rounded to 16 bits and widened again; itself if it was
/// not.
Value beforeRounding(Value value) {
  Value narrow = widened(value);
  auto cast = narrow ? narrow.getDefiningOp<ir::CastOp>() : nullptr;
  return cast && cast.getX().getType() == value.getType() ? cast.getX() : value;
}

bool isCalled(Operation *op, const Target *target) {
  return op && ir::isContraction(op) &&
         implementationOf(op, target) == Implementation::Library;
}

} // namespace

MaskedRelu findMaskedRelu(ir::WhereOp where, Operation *backward,
                          const Target *target) {
  auto compare = where.getCondition().getDefiningOp<ir::CompareOp>();
  if (!compare || !compare.getRhs().getDefiningOp<ir::ConstantOp>() ||
      !isReluMask(compare, compare.getLhs()))
    return {};
  auto relu = beforeRounding(compare.getLhs()).getDefiningOp<ir::ReluOp>();
  if (!relu)
    return {};
  // Only this relu may use what is computed between the call and it: a bias, a
  // scale.
  Operation *forward = relu.getX().getDefiningOp();
  while (forward && !ir::isContraction(forward)) {
    if (!isa<ir::AddOp, ir::MulOp>(forward) || !forward->hasOneUse())
      return {};
    auto isAside = [](Value operand) {
      return asStored(operand).getDefiningOp<ir::BroadcastOp>() ||
             isSplat(operand);
    };
    bool isSecond = isAside(forward->getOperand(0));
    if (!isAside(forward->getOperand(isSecond ? 0 : 1)))
      return {};
    forward = forward->getOperand(isSecond ? 1 : 0).getDefiningOp();
  }
  // Both calls must agree on where a line of bits begins.
  if (!isa_and_nonnull<ir::DotGeneralOp>(forward) || !forward->hasOneUse() ||
      !isCalled(forward, target) || biasDims(backward) != biasDims(forward))
    return {};
  return {compare, relu, forward};
}

bool followsLibraryCall(ir::GeluGradOp grad, const Target *target) {
  Operation *def = grad.getGrad().getDefiningOp();
  while (isa_and_nonnull<ir::MulOp, ir::AddOp>(def) && def->hasOneUse() &&
         !ir::isContraction(def))
    def = def->getOperand(0).getDefiningOp();
  return isa_and_nonnull<ir::DotGeneralOp>(def) && def->hasOneUse() &&
         isCalled(def, target);
}

} // namespace sinter::passes
