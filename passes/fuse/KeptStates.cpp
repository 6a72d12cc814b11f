//===- KeptStates.cpp - state updates that are conditional ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/KeptStates.h"
#include "ir/Dialect.h"
#include "passes/OpClasses.h"
#include "passes/fuse/Fusion.h"

using namespace mlir;

namespace sinter::passes {
namespace {

/// The one value of all elements of the condition; null if there is no such
/// value.
Value scalarCondition(ir::WhereOp where) {
  Value condition = where.getCondition();
  if (auto broadcast = condition.getDefiningOp<ir::BroadcastOp>())
    condition = broadcast.getX();
  return ir::tensorType(condition).getNumElements() == 1 ? condition : Value();
}

/// Tells whether a use has no effect where `condition` is false: it only leads
/// to selections that then take their other operand.
class Discarded {
public:
  explicit Discarded(Value condition) : condition(condition) {}

  bool operator()(OpOperand &use) {
    Operation *user = use.getOwner();
    auto where = dyn_cast<ir::WhereOp>(user);
    if (where && use.get() == where.getLhs() && use.get() != where.getRhs() &&
        scalarCondition(where) == condition)
      return true;
    if (user->hasTrait<OpTrait::IsTerminator>() ||
        user->getBlock() != condition.getParentBlock() ||
        known.size() >= kMostOps)
      return false;
    auto [found, isNew] = known.insert({user, false});
    if (isNew) {
      bool all = llvm::all_of(user->getUses(),
                              [&](OpOperand &next) { return (*this)(next); });
      known[user] = all;
      return all;
    }
    return found->second;
  }

private:
  /// The update of a parameter has some dozens of ops.
  static constexpr unsigned kMostOps = 256;
  Value condition;
  llvm::SmallDenseMap<Operation *, bool> known;
};

/// True when `use` leads to a new state: itself, or rounded to 16 bits.
bool becomesState(OpOperand &use) {
  auto cast = dyn_cast<ir::CastOp>(use.getOwner());
  return isNewState(use) || (cast && llvm::all_of(cast->getUses(), isNewState));
}

} // namespace

void readKeptStates(func::FuncOp func) {
  SmallVector<ir::WhereOp> selections;
  for (auto where : func.getBody().front().getOps<ir::WhereOp>())
    if (!where->use_empty() && llvm::all_of(where->getUses(), becomesState))
      selections.push_back(where);
  for (ir::WhereOp where : selections) {
    Value after = where.getLhs(), condition = scalarCondition(where);
    Operation *update = after.getDefiningOp();
    if (!condition || !update || after.hasOneUse() ||
        update->getBlock() != where->getBlock())
      continue;
    // A single number is computed twice instead, so that what depends on Adam's
    // step count need not wait for the condition.
    if (ir::tensorType(after).getNumElements() == 1) {
      if (isElementwise(update)) {
        OpBuilder builder(where);
        where.getLhsMutable().assign(builder.clone(*update)->getResult(0));
      }
      continue;
    }
    Operation *decides = condition.getDefiningOp();
    if (decides && (decides->getBlock() != where->getBlock() ||
                    !decides->isBeforeInBlock(update)))
      continue;
    auto isBefore = [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || def->isBeforeInBlock(update) || def == update;
    };
    if (!isBefore(where.getRhs()))
      continue;
    Discarded isDiscarded(condition);
    if (!llvm::all_of(after.getUses(), [&](OpOperand &use) {
          return use.getOwner() == where || isDiscarded(use);
        }))
      continue;
    where->moveAfter(update);
    if (auto broadcast = where.getCondition().getDefiningOp<ir::BroadcastOp>();
        broadcast && !broadcast->isBeforeInBlock(where)) {
      OpBuilder builder(where);
      where.getConditionMutable().assign(
          builder.clone(*broadcast)->getResult(0));
      if (broadcast->use_empty())
        broadcast->erase();
    }
    after.replaceAllUsesExcept(where.getResult(), where);
  }
}

} // namespace sinter::passes
