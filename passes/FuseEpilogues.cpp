//===- FuseEpilogues.cpp - library calls and what they apply at the end ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Wraps every contraction and convolution in a `sinter.fusion` of kind matmul
// or conv, together with the chain of single-user ops that the library applies
// to a float32 result before storing it: bias, addition of a tensor of the same
// shape, an activation, clipping, scaling. Everything else is left to
// FuseLoops.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Exec.h"
#include "passes/Fusion.h"
#include "passes/FusionInfo.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "passes/Passes.h.inc"

namespace {

/// The dimension of the result that a bias runs along, or nothing.
std::optional<int64_t> biasDim(Operation *contraction) {
  int64_t rank = ir::tensorType(contraction->getResult(0)).getRank();
  if (auto dot = dyn_cast<ir::DotGeneralOp>(contraction)) {
    if (dot.getRhsFree().size() != 1)
      return std::nullopt;
    return rank - 1;
  }
  if (auto conv = dyn_cast<ir::ConvOp>(contraction))
    return conv.getChannelsLast() ? rank - 1 : 1;
  if (auto conv = dyn_cast<ir::ConvInputGradOp>(contraction))
    return conv.getChannelsLast() ? rank - 1 : 1;
  return std::nullopt;
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
  if (isSplat(other)) {
    if (isa<ir::AddOp>(user))
      return false;
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
  // A residual must lie in memory already; what would be computed for it alone
  // is better fused the other way round.
  Operation *def = other.getDefiningOp();
  if (def && !isLibraryOp(def) && !isa<ir::FusionOp>(def) && other.hasOneUse())
    return false;
  members.push_back(user);
  return true;
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
    while (accumulatesFloat && result.hasOneUse() &&
           postOps < exec::kMaxPostOps) {
      Operation *user = *result.user_begin();
      if (user->getNumResults() != 1 ||
          user->getResult(0).getType() != result.getType() ||
          !takeEpilogue(user, result, contraction, members))
        break;
      result = user->getResult(0);
      ++postOps;
    }
    OpBuilder builder(members.back());
    StringRef kind = isa<ir::DotGeneralOp>(contraction) ? fusion_kind::kMatmul
                                                        : fusion_kind::kConv;
    buildFusion(builder, kind, members, result);
    for (Operation *member : llvm::reverse(members))
      if (member->use_empty())
        member->erase();
  }
};

} // namespace
} // namespace sinter::passes
