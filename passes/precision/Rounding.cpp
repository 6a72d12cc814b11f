//===- Rounding.cpp - which values are rounded to 16 bits -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/precision/Rounding.h"
#include "ir/Build.h"
#include "passes/OpClasses.h"
#include "passes/PostOps.h"
#include "passes/fuse/ActivationGradients.h"
#include "passes/fuse/ChooseCalls.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/LibraryEpilogue.h"
#include "passes/train/Training.h"

#include "sinter/program_names.h"

using namespace mlir;

namespace sinter::passes {
namespace {

bool isFloat32(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

/// Whether `value` is a state, an input or a constant, which other users may
/// need in float32.
bool isGiven(Value value) {
  return isa<BlockArgument>(value) || value.getDefiningOp<ir::ConstantOp>();
}

bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  return constant && isSplatConstant(constant);
}

/// Whether `op` only moves elements, chooses among them or changes their sign:
/// if its operands are rounded, so is its result.
bool isExact(Operation *op) {
  if (auto windows = dyn_cast<ir::ReduceWindowOp>(op))
    return windows.getKind() == ir::ReduceKind::max ||
           windows.getKind() == ir::ReduceKind::min;
  return op->hasTrait<ir::ChoosesElements>() || isa<ir::NegOp, ir::AbsOp>(op);
}

} // namespace

/// Whether the last contraction before `result`, which the function returns, is
/// the output layer. New states do not count. In training only the loss does,
/// or its sum over micro-batches: what else a step returns (norms, the loss
/// scale) may depend on the gradients, which multiply again.
static bool isOfOutputLayer(OpOperand &result) {
  auto function = result.getOwner()->getParentOfType<func::FuncOp>();
  const unsigned number = result.getOperandNumber();
  if (function.getName() == SINTER_ENTRY_STEP) {
    auto name = function.getResultAttrOfType<StringAttr>(
        number, ir::SinterDialect::kOutputAttr);
    return name && name.getValue() == SINTER_OUTPUT_LOSS;
  }
  if (function.getName() != SINTER_ENTRY_GRAD)
    return !isNewState(result);
  auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(
      number, ir::SinterDialect::kStateAttr);
  auto state =
      symbol
          ? SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(function, symbol)
          : ir::StateOp();
  std::optional<StringRef> slot = state ? state.getSlot() : std::nullopt;
  return slot && slot->starts_with(kLossSumSlot);
}

/// Whether `op` is a contraction, or a scan that has one.
static bool multiplies(Operation *op) {
  auto scan = dyn_cast<ir::ScanOp>(op);
  return ir::isContraction(op) ||
         (scan && llvm::any_of(scan.getBody().front(), [](Operation &inner) {
            return multiplies(&inner);
          }));
}

/// Whether `use` is a value of the whole program that stays float32: an output,
/// a new state, or what a scan carries. Slices of stacked results are read
/// rounded, as by a concatenation of them.
static bool isKept(OpOperand &use) {
  if (!use.getOwner()->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto scan = dyn_cast<ir::ScanOp>(use.getOwner()->getParentOp());
  return !scan || use.getOperandNumber() < scan.getInitial().size();
}

/// Whether `use` yields a carried value to a trip that multiplies.
static bool leadsToNextTrip(OpOperand &use) {
  auto scan = isa<ir::YieldOp>(use.getOwner())
                  ? dyn_cast<ir::ScanOp>(use.getOwner()->getParentOp())
                  : ir::ScanOp();
  return scan && use.getOperandNumber() < scan.getInitial().size() &&
         multiplies(scan);
}

/// Finds the contractions that are followed by another one, perhaps in the next
/// trip of a scan, and those that are the last ones before the outputs (before
/// the loss, if there is one).
void Rounding::findLastContractions() {
  auto mayFollow = [&](llvm::function_ref<bool(Operation *)> isInside,
                       llvm::DenseSet<Operation *> &followed) {
    llvm::DenseSet<Operation *> leads; // to a contraction
    for (Operation &op : llvm::reverse(body)) {
      if (!isInside(&op))
        continue;
      bool does = llvm::any_of(op.getUses(), [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return isInside(user) && (multiplies(user) || leads.contains(user) ||
                                  leadsToNextTrip(use));
      });
      if (does)
        leads.insert(&op);
      if (does && ir::isContraction(&op))
        followed.insert(&op);
    }
  };
  mayFollow([](Operation *) { return true; }, beforeOthers);

  Operation *end = body.getTerminator();
  if (isa<ir::YieldOp>(end))
    return;
  llvm::DenseSet<Operation *> forward;
  SmallVector<Operation *> work;
  auto need = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && forward.insert(def).second)
      work.push_back(def);
  };
  for (OpOperand &result : end->getOpOperands())
    if (isOfOutputLayer(result))
      need(result.get());
  while (!work.empty())
    llvm::for_each(work.pop_back_val()->getOperands(), need);
  llvm::DenseSet<Operation *> followed;
  mayFollow([&](Operation *op) { return forward.contains(op); }, followed);
  for (Operation *op : forward)
    if (ir::isContraction(op) && !followed.contains(op))
      outputLayers.insert(op);
}

void Rounding::mark(Value value, StringRef reason) {
  Operation *op = value.getDefiningOp();
  if (!isFloat32(value) || isGiven(value) || widened(value))
    return;
  if (keeps(op)) {
    heldBack.insert(op);
    return;
  }
  if (!rounded.insert({value, reason.str()}).second)
    return;
  // An op that only moves its operands moves them in 16 bits.
  if (isExact(op) && !isElementwise(op))
    for (OpOperand &operand : op->getOpOperands())
      if (ir::tensorType(operand.get()).getRank() > 0)
        roundOperand(operand, "moved in 16 bits");
}

/// Rounds the value that `use` reads, where it is stored: before any views.
void Rounding::roundOperand(OpOperand &use, StringRef reason) {
  Value source = use.get();
  while (ir::isView(source.getDefiningOp()))
    source = source.getDefiningOp()->getOperand(0);
  if (!isFloat32(source) || widened(source) || isSplat(source))
    return;
  Operation *def = source.getDefiningOp();
  if (!isGiven(source))
    mark(source, reason);
  if (isGiven(source) || keeps(def))
    uses.insert(&use);
}

/// False if `user` is the gradient of a relu whose mask no call keeps.
bool Rounding::mayTakeMask(Operation *user, Operation *contraction) const {
  auto where = dyn_cast<ir::WhereOp>(user);
  return !where || findMaskedRelu(where, contraction, target).relu;
}

/// The value that the kernel or library call of `contraction` stores. Operands
/// that it adds on the way must have the same type, so they are rounded too.
Value Rounding::endOfEpilogue(Operation *contraction) {
  bool isGenerated =
      implementationOf(contraction, target) == Implementation::Generated;
  Value value = contraction->getResult(0);
  ArrayRef<int64_t> shape = ir::tensorType(value).getShape();
  SmallVector<int64_t> dims = biasDims(contraction),
                       strides = ir::rowMajorStrides(shape);
  SmallVector<PostOp> postOps;
  auto takes = [&](PostOp op) {
    postOps.push_back(op);
    return isApplied(target, contraction, postOps, narrow);
  };
  bool isFilterGrad = isa<ir::ConvFilterGradOp>(contraction);
  while (!isFilterGrad && !rounded.count(value)) {
    if (std::optional<Gate> gate = matchGate(value)) {
      if (!isGenerated && !takes({gate->kind, {}, {}}))
        break;
      value = gate->members.back()->getResult(0);
      continue;
    }
    if (!value.hasOneUse()) {
      // The call stores this value, too.
      ir::GeluOp gelu = isGenerated ? nullptr : keptGelu(value);
      if (!gelu)
        break;
      postOps.push_back({exec::PostOpKind::store, {}, {}});
      if (!takes({exec::PostOpKind::gelu_tanh, {}, {}}))
        break;
      mark(value, "kept by a 16-bit contraction");
      readExactly.insert(gelu);
      value = gelu.getResult();
      continue;
    }
    Operation *user = *value.user_begin();
    if (!isElementwise(user) || !user->hasTrait<ir::PrecisionInfer>() ||
        user->getNumResults() != 1 ||
        user->getResult(0).getType() != value.getType())
      break;
    if (!isGenerated) {
      std::optional<PostOp> post = matchPostOp(user, value, dims, strides);
      if (!post || !mayTakeMask(user, contraction) || !takes(*post))
        break;
      if (post->operand)
        for (OpOperand &operand : user->getOpOperands())
          if (operand.get() != value)
            roundOperand(operand, "added to a 16-bit result");
    }
    value = user->getResult(0);
  }
  return value;
}

void Rounding::roundResult(Operation *contraction) {
  // A library that cannot store float32 rounds the result for all users.
  if (target &&
      implementationOf(contraction, target) == Implementation::Library &&
      !target->canFuseEpilogue(contraction, {}, narrow)) {
    mark(contraction->getResult(0), "the library stores it in 16 bits");
    storedNarrow.insert(contraction->getResult(0));
    return;
  }
  if (outputLayers.contains(contraction)) {
    keptResults[contraction] = "the output layer";
    return;
  }
  if (!beforeOthers.contains(contraction)) {
    keptResults[contraction] = "nothing is multiplied after it";
    return;
  }
  Value end = endOfEpilogue(contraction);
  if (llvm::all_of(end.getUses(), isKept)) {
    keptResults[contraction] = "an output";
    return;
  }
  mark(end, "result of a 16-bit contraction");
}

/// Stores the results of ops that only choose among rounded values in 16 bits,
/// too. That loses nothing.
void Rounding::roundExactResults() {
  for (Operation &op : body) {
    if (!isExact(&op) || op.getNumResults() != 1 ||
        !isFloat32(op.getResult(0)) || op.getResult(0).hasOneUse())
      continue;
    bool hasRounded = false;
    bool allExact = llvm::all_of(op.getOperands(), [&](Value operand) {
      if (!isFloat32(operand))
        return true;
      while (ir::isView(operand.getDefiningOp()))
        operand = operand.getDefiningOp()->getOperand(0);
      std::optional<double> number = splatNumber(operand);
      bool isRounded = rounded.count(operand);
      hasRounded |= isRounded;
      return isRounded || (number && *number == 0);
    });
    if (hasRounded && allExact)
      mark(op.getResult(0), "chosen among 16-bit values");
  }
}

void Rounding::decide(ArrayRef<Operation *> contractions) {
  findLastContractions();
  for (Operation *contraction : contractions)
    for (OpOperand &operand : contraction->getOpOperands())
      roundOperand(operand, "operand of a 16-bit contraction");
  for (Operation *contraction : contractions)
    roundResult(contraction);
  roundExactResults();
}

StringRef Rounding::reasonOf(Operation *op) const {
  for (Value result : op->getResults()) {
    auto found = rounded.find(result);
    if (found != rounded.end())
      return found->second;
  }
  return "";
}

void Rounding::apply() {
  OpBuilder builder(narrow.getContext());
  Type wide = builder.getF32Type();
  // Each state, input or constant is rounded once, before the first user that
  // reads it rounded. Views are cloned, since other users may read float32
  // through them.
  SmallVector<OpOperand *> inOrder(uses.begin(), uses.end());
  llvm::sort(inOrder, [](OpOperand *a, OpOperand *b) {
    if (a->getOwner() == b->getOwner())
      return a->getOperandNumber() < b->getOperandNumber();
    return a->getOwner()->isBeforeInBlock(b->getOwner());
  });
  llvm::DenseMap<Value, Value> copies;
  for (OpOperand *use : inOrder) {
    builder.setInsertionPoint(use->getOwner());
    SmallVector<Operation *> views;
    Value source = use->get();
    for (; ir::isView(source.getDefiningOp());
         source = source.getDefiningOp()->getOperand(0))
      views.push_back(source.getDefiningOp());
    Value &copy = copies[source];
    // States and inputs have no node, so the cast gets that of the user.
    if (!copy) {
      Location loc = use->getOwner()->getLoc();
      copy = ir::castTo(builder, loc, ir::castTo(builder, loc, source, narrow),
                        wide);
    }
    Value value = copy;
    for (Operation *view : llvm::reverse(views)) {
      Operation *clone = builder.clone(*view);
      clone->setOperand(0, value);
      value = clone->getResult(0);
    }
    use->set(value);
  }
  for (auto &[value, reason] : rounded) {
    builder.setInsertionPointAfter(value.getDefiningOp());
    Value stored = ir::castTo(builder, value.getLoc(), value, narrow);
    Value read = ir::castTo(builder, value.getLoc(), stored, wide);
    Value original = value;
    original.replaceUsesWithIf(read, [&](OpOperand &use) {
      return use.getOwner() != stored.getDefiningOp() &&
             !readExactly.contains(use.getOwner()) &&
             (storedNarrow.contains(original) || !isKept(use));
    });
  }
}

} // namespace sinter::passes
