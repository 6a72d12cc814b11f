//===- FuseEpilogues.cpp - library calls and what they apply at the end ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Wraps every contraction and convolution in a `sinter.fusion` of kind matmul
// or conv, together with the chain of single-user ops that the library applies
// to a float32 result before storing it: bias, addition of a tensor of the same
// shape, an activation (swish and hard swish too, which use their operand
// twice), clipping, scaling. Where the target generates the contraction itself,
// any elementwise ops join it (fuse/Epilogue.h), and the fusion says how its
// loops lie. A matrix product also takes in the transposes, slices and reshapes
// of its operands and of its result that its strides can express. Everything
// else is left to FuseLoops.
//
//===----------------------------------------------------------------------===//
#include "passes/FuseEpilogues.h"
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "ir/exec/Exec.h"
#include "passes/Fusion.h"
#include "passes/FusionInfo.h"
#include "passes/IndexMap.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/PostOps.h"
#include "passes/fuse/Epilogue.h"

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
  auto broadcast = asStored(value).getDefiningOp<ir::BroadcastOp>();
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
/// `element` is the type that the library wants it in.
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

/// The type of the cast in which elementwise ops from `value` on end; that of
/// `value` where they do not.
Type storedType(Value value) {
  Type own = ir::tensorType(value).getElementType();
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto cast = dyn_cast<ir::CastOp>(user)) {
      Type element = cast.getType().getElementType();
      return element.isF16() || element.isBF16() ? element : own;
    }
    if (!isElementwise(user) || user->getNumResults() != 1 ||
        user->getResult(0).getType() != value.getType())
      break;
    value = user->getResult(0);
  }
  return own;
}

/// True when `value` lies in memory anyway, or has other users for which it is
/// stored. What would be computed for one addition alone is better fused with
/// that.
bool isStored(Value value) {
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
  return !def || isLibraryOp(def) || isa<ir::FusionOp, ir::ConstantOp>(def) ||
         !hasOneUse;
}

/// Adds the cast that `value` is, if it widens what is stored.
void takeWidening(Value value, SmallVector<Operation *> &members) {
  if (widened(value))
    members.push_back(value.getDefiningOp());
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
/// `last`, can be stored, if that is its only use. A generated kernel may store
/// along m or n.
ir::TransposeOp resultTranspose(ir::DotGeneralOp dot, Value last,
                                OperandViews views, bool isGenerated) {
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
  if (!form)
    return nullptr;
  bool isStoredInRows =
      form->hasUnitStrides() || (isGenerated && form->cStrides.end()[-2] == 1);
  return isStoredInRows ? transpose : nullptr;
}

/// The loops of a kernel: one per dimension of its result.
FusionDomain resultDomain(RankedTensorType type) {
  FusionDomain domain;
  IndexVector view;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    domain.sizes.push_back(size);
    view.push_back(size == 1 ? Index::fixed(0) : Index::loop(dim));
  }
  domain.views.push_back(view);
  return domain;
}

class FuseEpiloguesPass : public impl::FuseEpiloguesBase<FuseEpiloguesPass> {
public:
  FuseEpiloguesPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices.vec()) {}

  void runOnOperation() override {
    if (auto module = getOperation()->getParentOfType<ModuleOp>())
      target = targetOf(module, ir::deviceNumber(getOperation()), devices,
                        mainTarget);
    SmallVector<Operation *> contractions;
    for (Operation &op : getOperation().getBody().front())
      if (isLibraryOp(&op))
        contractions.push_back(&op);
    // From the last: the residual of an addition then is the earlier of two
    // contractions.
    int64_t generated = 0;
    for (Operation *contraction : llvm::reverse(contractions))
      generated += fuse(contraction);
    if (generated)
      ir::remark("fuse-epilogues", "generated-contractions",
                 getOperation().getLoc(), "", generated);
  }

private:
  /// True when a kernel is made of it.
  bool fuse(Operation *contraction) {
    std::string reason;
    bool isGenerated =
        target && target->place(contraction, reason) == Placement::Generated;
    Epilogue epilogue = isGenerated ? generatedEpilogue(contraction)
                                    : libraryEpilogue(contraction);
    SmallVector<Operation *> &members = epilogue.members;
    StringRef kind = fusion_kind::kConv;
    if (auto dot = dyn_cast<ir::DotGeneralOp>(contraction)) {
      kind = fusion_kind::kMatmul;
      takeViews(dot, epilogue, isGenerated);
    } else {
      takeBefore(operandCasts(contraction), epilogue);
    }
    OpBuilder builder(members.back());
    ir::FusionOp fusion = buildFusion(builder, kind, members, epilogue.result);
    if (isGenerated)
      resultDomain(ir::tensorType(epilogue.result)).write(fusion);
    for (Operation *member : llvm::reverse(members))
      if (member->use_empty())
        member->erase();
    return isGenerated;
  }

  /// Takes what the library can apply.
  Epilogue libraryEpilogue(Operation *contraction) const {
    SmallVector<Operation *> members{contraction};
    Value result = contraction->getResult(0);
    bool accumulatesFloat = ir::tensorType(result).getElementType().isF32() &&
                            !isa<ir::ConvFilterGradOp>(contraction);
    SmallVector<PostOp> postOps;
    // The longest epilogue whose operands have the type that is stored.
    Epilogue best{members, result};
    llvm::SmallDenseSet<Type> operandTypes;
    auto note = [&] {
      Type stored = ir::tensorType(result).getElementType();
      if (llvm::all_of(operandTypes, [&](Type type) { return type == stored; }))
        best = {members, result};
    };
    auto isApplied = [&](PostOp postOp) {
      postOps.push_back(postOp);
      return !target || target->canFuseEpilogue(contraction, postOps);
    };
    while (accumulatesFloat && postOps.size() < exec::kMaxPostOps) {
      if (std::optional<Gate> gate = matchGate(result)) {
        if (!isApplied({gate->kind, {}, {}}))
          break;
        llvm::append_range(members, gate->members);
        result = members.back()->getResult(0);
        note();
        continue;
      }
      if (!result.hasOneUse())
        break;
      Operation *user = *result.user_begin();
      size_t before = members.size();
      if (user->getNumResults() != 1 ||
          user->getResult(0).getType() != result.getType() ||
          !takeEpilogue(user, result, contraction, members))
        break;
      std::optional<PostOp> postOp =
          matchPostOp(user, result, biasDims(contraction),
                      ir::rowMajorStrides(ir::tensorType(result).getShape()));
      if (!postOp || !isApplied(*postOp)) {
        members.truncate(before);
        break;
      }
      if (postOp->operand)
        operandTypes.insert(ir::tensorType(postOp->operand).getElementType());
      result = user->getResult(0);
      note();
    }
    // Products of 16-bit floats may be rounded to their type when stored.
    auto narrowing = result.hasOneUse()
                         ? dyn_cast<ir::CastOp>(*result.user_begin())
                         : nullptr;
    if (narrowing &&
        narrowing.getType().getElementType() ==
            ir::tensorType(multiplied(contraction).first).getElementType()) {
      members.push_back(narrowing);
      result = narrowing;
      note();
    }
    return best;
  }

  /// The casts by which 16-bit operands are what the contraction multiplies.
  static SmallVector<Operation *> operandCasts(Operation *contraction) {
    SmallVector<Operation *> casts;
    if (multiplied(contraction).first == contraction->getOperand(0))
      return casts;
    for (Value operand : contraction->getOperands())
      if (!llvm::is_contained(casts, operand.getDefiningOp()))
        casts.push_back(operand.getDefiningOp());
    return casts;
  }

  static void takeBefore(ArrayRef<Operation *> before, Epilogue &epilogue) {
    llvm::erase_if(epilogue.members, [&](Operation *op) {
      return llvm::is_contained(before, op);
    });
    epilogue.members.insert(epilogue.members.begin(), before.begin(),
                            before.end());
  }

  /// Adds to `epilogue`, which begins with `dot`, the views that it reads and
  /// writes through.
  static void takeViews(ir::DotGeneralOp dot, Epilogue &epilogue,
                        bool isGenerated) {
    OperandViews views = operandViews(dot);
    // What a library adds would have to lie like the result.
    bool addsTensor =
        !isGenerated && llvm::any_of(epilogue.members, [](Operation *member) {
          return isa<ir::AddOp>(member) &&
                 !member->getOperand(0).getDefiningOp<ir::BroadcastOp>() &&
                 !member->getOperand(1).getDefiningOp<ir::BroadcastOp>();
        });
    if (!addsTensor)
      if (ir::TransposeOp transpose =
              resultTranspose(dot, epilogue.result, views, isGenerated)) {
        epilogue.members.push_back(transpose);
        epilogue.result = transpose.getResult();
      }
    llvm::SetVector<Operation *> before;
    auto [lhs, rhs] = multiplied(dot);
    for (auto [operand, depth] :
         {std::pair(lhs, views.lhs), std::pair(rhs, views.rhs)}) {
      StridedView view = viewOf(operand, depth);
      before.insert(view.ops.begin(), view.ops.end());
    }
    SmallVector<Operation *> casts = operandCasts(dot);
    before.insert(casts.begin(), casts.end());
    takeBefore(before.getArrayRef(), epilogue);
  }

  const Target *mainTarget; // of programs that name no devices
  std::vector<ProgramDevice> devices;
  const Target *target = nullptr; // of the function
};

} // namespace

std::unique_ptr<Pass> createFuseEpilogues(const Target *target,
                                          ArrayRef<ProgramDevice> devices) {
  return std::make_unique<FuseEpiloguesPass>(target, devices);
}

} // namespace sinter::passes
