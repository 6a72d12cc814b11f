//===- Predicates.cpp - the tests that guard indices ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Finds the comparisons that the mutation check forces: those of thread
// numbers, loop counters and constants that decide a branch, a selection or a
// mask. Comparisons of loaded or exchanged values are data, not bounds.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace sinter::sim {
namespace {

class PredicateFinder {
public:
  explicit PredicateFinder(Function &function)
      : function(function), postDominators(function) {}

  std::vector<Predicate> find();

private:
  bool isOfIndices(Value *value, SmallPtrSetImpl<Value *> &seen);
  void guard(Value *condition, bool opens);

  Function &function;
  PostDominatorTree postDominators;
  MapVector<ICmpInst *, bool> found;
};

// Whether `value` is computed from thread numbers, counters and constants.
bool PredicateFinder::isOfIndices(Value *value,
                                  SmallPtrSetImpl<Value *> &seen) {
  if (isa<Constant>(value) || !seen.insert(value).second)
    return true;
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction || instruction->mayReadFromMemory())
    return false;
  if (auto *call = dyn_cast<CallInst>(instruction)) {
    Function *callee = call->getCalledFunction();
    if (!callee || !callee->isIntrinsic())
      return false;
    StringRef name = callee->getName();
    if (name.starts_with("llvm.nvvm."))
      return name.starts_with("llvm.nvvm.read.ptx.sreg.");
    return all_of(call->args(),
                  [&](Use &operand) { return isOfIndices(operand, seen); });
  }
  if (isa<AllocaInst>(instruction))
    return false;
  return all_of(instruction->operands(), [&](Use &operand) {
    return isa<BasicBlock>(operand) || isOfIndices(operand, seen);
  });
}

// Adds the comparisons in `condition`, which opens a guard if it equals
// `opens`.
void PredicateFinder::guard(Value *condition, bool opens) {
  using namespace PatternMatch;
  Value *a, *b;
  if (auto *compare = dyn_cast<ICmpInst>(condition)) {
    SmallPtrSet<Value *, 16> seen;
    if (isOfIndices(compare->getOperand(0), seen) &&
        isOfIndices(compare->getOperand(1), seen))
      found.insert({compare, opens});
  } else if (match(condition, m_Not(m_Value(a)))) {
    guard(a, !opens);
  } else if (match(condition, m_LogicalAnd(m_Value(a), m_Value(b))) ||
             match(condition, m_LogicalOr(m_Value(a), m_Value(b)))) {
    guard(a, opens);
    guard(b, opens);
  } else if (match(condition, m_Freeze(m_Value(a)))) {
    guard(a, opens);
  } else if (auto *insert = dyn_cast<InsertElementInst>(condition)) {
    guard(insert->getOperand(0), opens);
    guard(insert->getOperand(1), opens);
  } else if (auto *shuffle = dyn_cast<ShuffleVectorInst>(condition)) {
    guard(shuffle->getOperand(0), opens);
  }
}

std::vector<Predicate> PredicateFinder::find() {
  for (Instruction &instruction : instructions(function)) {
    if (auto *branch = dyn_cast<BranchInst>(&instruction)) {
      if (branch->isUnconditional())
        continue;
      // The guarded successor is the one that need not be executed.
      const BasicBlock *block = branch->getParent();
      bool trueMustPass =
          postDominators.dominates(branch->getSuccessor(0), block);
      guard(branch->getCondition(), !trueMustPass);
    } else if (auto *select = dyn_cast<SelectInst>(&instruction)) {
      if (select->getType()->isIntOrIntVectorTy(1))
        continue; // and, or: part of another condition
      // The constant is the value for "outside".
      bool trueIsOutside = isa<Constant>(select->getTrueValue()) &&
                           !isa<Constant>(select->getFalseValue());
      guard(select->getCondition(), !trueIsOutside);
    } else if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
      switch (call->getIntrinsicID()) {
      case Intrinsic::masked_load:
      case Intrinsic::masked_gather:
        guard(call->getArgOperand(2), /*opens=*/true);
        break;
      case Intrinsic::masked_store:
      case Intrinsic::masked_scatter:
        guard(call->getArgOperand(3), /*opens=*/true);
        break;
      default:
        break;
      }
    }
  }
  std::vector<Predicate> predicates;
  for (auto [compare, opens] : found)
    predicates.push_back({compare, opens});
  return predicates;
}

} // namespace

std::vector<Predicate> findPredicates(Function &function) {
  return PredicateFinder(function).find();
}

void routePredicates(ThreadCode &code, ArrayRef<Predicate> predicates) {
  for (const Predicate &predicate : predicates) {
    ICmpInst *compare = predicate.compare;
    IRBuilder<> builder(compare->getNextNode());
    uint32_t site = code.addSite(SINTER_SIM_PREDICATE, compare);
    auto ask = [&](Value *value) {
      Value *answer = code.call(
          builder, offsetof(sinter_sim_functions, predicate),
          builder.getInt32Ty(),
          {builder.getInt32(site), value, builder.getInt32(predicate.forced)});
      return builder.CreateIsNotNull(answer);
    };
    Value *result;
    SmallPtrSet<Value *, 2> own; // use the comparison as it is
    if (auto *type = dyn_cast<FixedVectorType>(compare->getType())) {
      // The query gets the neutral value, so that only a forced answer changes
      // the lanes.
      Value *all = builder.CreateVectorSplat(
          type->getNumElements(), ask(builder.getInt32(!predicate.forced)));
      result = predicate.forced ? builder.CreateOr(compare, all)
                                : builder.CreateAnd(compare, all);
      own.insert(result);
    } else {
      Value *value = builder.CreateZExt(compare, builder.getInt32Ty());
      own.insert(value);
      result = ask(value);
    }
    compare->replaceUsesWithIf(
        result, [&](Use &use) { return !own.contains(use.getUser()); });
  }
}

} // namespace sinter::sim
