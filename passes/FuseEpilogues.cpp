//===- FuseEpilogues.cpp - library calls and what they apply at the end ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Wraps every contraction and convolution in a `sinter.fusion` of kind matmul
// or conv, together with the chain of single-user ops that the library applies
// to a float32 result before storing it: bias, addition of a tensor of the same
// shape, an activation (swish and hard swish too, which use their operand
// twice), clipping, scaling. A matrix product also takes in the transposes,
// slices and reshapes of its operands and of its result that its strides can
// express. Everything else is left to FuseLoops.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Exec.h"
#include "passes/Fusion.h"
#include "passes/FusionInfo.h"
#include "passes/MatmulForm.h"
#include "passes/PostOps.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "passes/Passes.h.inc"

namespace {

/// The one dimension of the result that a bias runs along, or nothing.
std::optional<int64_t> biasDim(Operation *contraction) {
  SmallVector<int64_t> dims = biasDims(contraction);
  return dims.size() == 1 ? std::optional(dims.front()) : std::nullopt;
}

bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  return constant && isSplatConstant(constant);
}

/// The broadcast of one vector along the bias dimension that `value` is, if it
/// is.
ir::BroadcastOp asBias(Value value, Operation *contraction) {
  auto broadcast = value.getDefiningOp<ir::BroadcastOp>();
  std::optional<int64_t> dim = biasDim(contraction);
  if (!broadcast || !dim || broadcast.getDims() != ArrayRef<int64_t>{*dim})
    return nullptr;
  RankedTensorType type = broadcast.getType();
  return ir::tensorType(broadcast.getX()).getShape()[0] == type.getDimSize(*dim)
             ? broadcast
             : nullptr;
}

/// The same number for all elements, as a bias along `dim`: what is left of one
/// of equal numbers after folding.
ir::BroadcastOp splatAsBias(Operation *user, Value splat, int64_t dim) {
  OpBuilder builder(user);
  RankedTensorType type = ir::tensorType(splat);
  auto value =
      cast<DenseElementsAttr>(splat.getDefiningOp<ir::ConstantOp>().getValue());
  Value vector = builder.create<ir::ConstantOp>(
      splat.getLoc(), value.resizeSplat(type.clone({type.getDimSize(dim)})));
  return builder.create<ir::BroadcastOp>(user->getLoc(), type, vector, dim);
}

/// True when `value` lies in memory anyway, or has other users for which it is
/// stored. What would be computed for one addition alone is better fused with
/// that.
bool isStored(Value value) {
  bool hasOneUse = value.hasOneUse();
  while (auto reshape = value.getDefiningOp<ir::ReshapeOp>()) {
    value = reshape.getX();
    hasOneUse &= value.hasOneUse();
  }
  Operation *def = value.getDefiningOp();
  return !def || isLibraryOp(def) || isa<ir::FusionOp, ir::ConstantOp>(def) ||
         !hasOneUse;
}

/// Adds `user`, the only user of `value`, and what it needs to `members` if the
/// library can apply it.
bool takeEpilogue(Operation *user, Value value, Operation *contraction,
                  SmallVector<Operation *> &members) {
  if (isa<ir::ReluOp, ir::GeluOp, ir::SigmoidOp, ir::TanhOp>(user)) {
    members.push_back(user);
    return true;
  }
  if (!isa<ir::AddOp, ir::MulOp, ir::MaxOp, ir::MinOp>(user))
    return false;
  Value other =
      user->getOperand(0) == value ? user->getOperand(1) : user->getOperand(0);
  if (other == value)
    return false;
  if (isSplat(other) && isa<ir::AddOp>(user)) {
    std::optional<int64_t> dim = biasDim(contraction);
    if (!dim)
      return false;
    ir::BroadcastOp bias = splatAsBias(user, other, *dim);
    user->setOperand(user->getOperand(0) == other ? 0 : 1, bias);
    members.push_back(bias);
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
    members.push_back(bias);
    members.push_back(user);
    return true;
  }
  if (!isStored(other))
    return false;
  members.push_back(user);
  return true;
}

struct OperandViews {
  ViewDepth lhs = ViewDepth::none, rhs = ViewDepth::none;
};

/// How far `dot` can read its operands where they lie.
OperandViews operandViews(ir::DotGeneralOp dot) {
  constexpr ViewDepth deepestFirst[] = {ViewDepth::loops, ViewDepth::oneLoop,
                                        ViewDepth::none};
  for (ViewDepth lhs : deepestFirst)
    for (ViewDepth rhs : deepestFirst) {
      std::optional<MatmulForm> form = matmulForm(dot, lhs, rhs);
      if (form && form->hasUnitStrides())
        return {lhs, rhs};
    }
  return {};
}

/// The transpose with which the result of `dot`, after the post-ops up to
/// `last`, can be stored, if that is its only use.
ir::TransposeOp resultTranspose(ir::DotGeneralOp dot, Value last,
                                OperandViews views) {
  if (!last.hasOneUse())
    return nullptr;
  auto transpose = dyn_cast<ir::TransposeOp>(*last.user_begin());
  if (!transpose)
    return nullptr;
  SmallVector<int64_t> dense =
                           ir::rowMajorStrides(transpose.getType().getShape()),
                       strides(dense.size());
  for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
    strides[dim] = dense[i];
  std::optional<MatmulForm> form =
      matmulForm(dot, views.lhs, views.rhs, strides);
  return form && form->hasUnitStrides() ? transpose : nullptr;
}

struct FuseEpiloguesPass : impl::FuseEpiloguesBase<FuseEpiloguesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> contractions;
    for (Operation &op : getOperation().getBody().front())
      if (isLibraryOp(&op))
        contractions.push_back(&op);
    // From the last: the residual of an addition then is the earlier of two
    // contractions.
    for (Operation *contraction : llvm::reverse(contractions))
      fuse(contraction);
  }

  void fuse(Operation *contraction) {
    SmallVector<Operation *> members{contraction};
    Value result = contraction->getResult(0);
    bool accumulatesFloat = ir::tensorType(result).getElementType().isF32() &&
                            !isa<ir::ConvFilterGradOp>(contraction);
    unsigned postOps = 0;
    while (accumulatesFloat && postOps < exec::kMaxPostOps) {
      if (std::optional<Gate> gate = matchGate(result)) {
        llvm::append_range(members, gate->members);
        result = members.back()->getResult(0);
        ++postOps;
        continue;
      }
      if (!result.hasOneUse())
        break;
      Operation *user = *result.user_begin();
      if (user->getNumResults() != 1 ||
          user->getResult(0).getType() != result.getType() ||
          !takeEpilogue(user, result, contraction, members))
        break;
      result = user->getResult(0);
      ++postOps;
    }
    StringRef kind = fusion_kind::kConv;
    if (auto dot = dyn_cast<ir::DotGeneralOp>(contraction)) {
      kind = fusion_kind::kMatmul;
      takeViews(dot, result, members);
    }
    OpBuilder builder(members.back());
    buildFusion(builder, kind, members, result);
    for (Operation *member : llvm::reverse(members))
      if (member->use_empty())
        member->erase();
  }

  /// Adds to `members`, the contraction and its epilogue that ends in `result`,
  /// the views that it reads and writes through.
  static void takeViews(ir::DotGeneralOp dot, Value &result,
                        SmallVector<Operation *> &members) {
    OperandViews views = operandViews(dot);
    // An added tensor would have to lie like the result.
    bool addsTensor = llvm::any_of(members, [](Operation *member) {
      return isa<ir::AddOp>(member) &&
             !member->getOperand(0).getDefiningOp<ir::BroadcastOp>() &&
             !member->getOperand(1).getDefiningOp<ir::BroadcastOp>();
    });
    if (!addsTensor)
      if (ir::TransposeOp transpose = resultTranspose(dot, result, views)) {
        members.push_back(transpose);
        result = transpose.getResult();
      }
    llvm::SetVector<Operation *> before;
    for (auto [operand, depth] : {std::pair(dot.getLhs(), views.lhs),
                                  std::pair(dot.getRhs(), views.rhs)}) {
      StridedView view = viewOf(operand, depth);
      before.insert(view.ops.begin(), view.ops.end());
    }
    members.insert(members.begin(), before.begin(), before.end());
  }
};

} // namespace
} // namespace sinter::passes
