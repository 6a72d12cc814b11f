//===- Epilogue.cpp - ops in the kernel of a contraction ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Epilogue.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/PersistentKernel.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::passes {
namespace {

/// Longer epilogues gain nothing: a kernel that reads the result is as good.
constexpr size_t kMostMembers = 64;

using Members = llvm::SmallSetVector<Operation *, 16>;

bool isSplat(Operation *op) {
  auto constant = dyn_cast_or_null<ir::ConstantOp>(op);
  return constant && isSplatConstant(constant);
}

/// True when `value` is in memory anyway.
bool isStored(Value value) {
  Operation *def = value.getDefiningOp();
  return !def || ir::isContraction(def) ||
         isa<ir::FusionOpInterface, ir::ConstantOp>(def) || !value.hasOneUse();
}

class Growth {
public:
  explicit Growth(Operation *contraction)
      : shape(ir::tensorType(contraction->getResult(0)).getShape()) {
    members.insert(contraction);
    values.insert(contraction->getResult(0));
    auto [lhs, rhs] = multiplied(contraction);
    for (Value operand : contraction->getOperands())
      if (operand != lhs && operand != rhs)
        summed.insert(operand.getDefiningOp());
    int64_t operandBytes = 0;
    for (Value operand : {lhs, rhs}) {
      StridedView view = viewOf(operand, ViewDepth::loops);
      if (view.base.getDefiningOp())
        operandBytes += bytesOf(view.base);
      summed.insert(view.ops.begin(), view.ops.end());
      if (Operation *def = view.base.getDefiningOp())
        summed.insert(def);
    }
    mayWaitForEnd = operandBytes <= bytesOf(contraction->getResult(0)) ||
                    contraction->getParentOp()->hasAttr(kPersistentAttr);
  }

  Epilogue run() {
    Epilogue best = snapshot(values.front());
    while (members.size() < kMostMembers) {
      Operation *next = firstUser();
      if (!next)
        return best;
      if (!isElementwiseHere(next)) {
        if (best.whyEnds.empty())
          best.whyEnds = isElementwise(next)
                             ? "its result has another shape than that of the "
                               "contraction"
                             : "it is not elementwise: it needs other elements "
                               "of the result than the one at hand";
        return best;
      }
      take(next);
      // One value that is stored in place of others costs nothing, and so does
      // one that is stored anyway.
      SmallVector<Value> results = usedOutside();
      SmallVector<Value> stored = best.results();
      if (results.size() == 1 ||
          (!results.empty() && llvm::all_of(results, [&](Value result) {
            return (llvm::is_contained(stored, result) ||
                    mustBeStored(result)) &&
                   (mayWaitForEnd ||
                    llvm::none_of(result.getUses(), isNewState));
          })))
        best = snapshot(results);
      else
        best.whyEnds =
            results.empty()
                ? "nothing would be stored"
                : "the kernel would store " + std::to_string(results.size()) +
                      " values instead of " + std::to_string(stored.size());
    }
    if (best.whyEnds.empty())
      best.whyEnds = "the kernel of a contraction takes at most " +
                     std::to_string(kMostMembers) + " ops";
    return best;
  }

private:
  static int64_t bytesOf(Value value) {
    RankedTensorType type = ir::tensorType(value);
    return type.getNumElements() * ir::elementSizeBytes(type.getElementType());
  }

  bool isElementwiseHere(Operation *op) const {
    return isElementwise(op) && op->getNumResults() == 1 &&
           ir::tensorType(op->getResult(0)).getShape() == shape;
  }

  /// The first op of the block that uses a value of the epilogue but is not a
  /// member.
  Operation *firstUser() const {
    Operation *first = nullptr;
    for (Value value : values)
      for (Operation *user : value.getUsers())
        if (!members.contains(user) && (!first || user->isBeforeInBlock(first)))
          first = user;
    return first;
  }

  SmallVector<Value> usedOutside() const {
    SmallVector<Value> results;
    for (Value value : values)
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            return !members.contains(user);
          }))
        results.push_back(value);
    return results;
  }

  /// True when `value` leaves the function or is read by a contraction or a
  /// fusion. Other users may compute it from another value.
  bool mustBeStored(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !members.contains(user) &&
             (user->hasTrait<OpTrait::IsTerminator>() ||
              ir::isContraction(user) || isa<ir::FusionOpInterface>(user));
    });
  }

  void take(Operation *op) {
    members.insert(op);
    values.insert(op->getResult(0));
    for (Value operand : op->getOperands())
      if (!values.contains(operand))
        takeOperand(operand);
  }

  /// Adds the op of `operand` if it is free to compute, or if it is computed
  /// only for the epilogue from one tensor that is stored anyway. Reading that
  /// tensor costs as much as reading `operand`.
  void takeOperand(Value operand) {
    Operation *def = operand.getDefiningOp();
    if (!def || members.contains(def) || summed.contains(def))
      return;
    if (isSplat(def) || isa<ir::BroadcastOp>(def))
      return takeFree(def);
    if (!isElementwiseHere(def))
      return;
    Members own;
    llvm::SmallSetVector<Operation *, 8> free;
    llvm::SmallSetVector<Value, 4> read;
    SmallVector<Operation *> work{def};
    // Repeat until no other op is used by `own` and members alone.
    for (bool grows = true; grows;) {
      grows = false;
      free.clear();
      read.clear();
      if (own.empty() && isOnlyFor(def, own)) {
        own.insert(def);
        grows = true;
      }
      for (Operation *op : SmallVector<Operation *>(own.getArrayRef()))
        for (Value input : op->getOperands()) {
          Operation *inputDef = input.getDefiningOp();
          if (inputDef &&
              (own.contains(inputDef) || members.contains(inputDef)))
            continue;
          bool mayTake = inputDef && !summed.contains(inputDef);
          if (mayTake && (isSplat(inputDef) || isa<ir::BroadcastOp>(inputDef)))
            free.insert(inputDef);
          else if (mayTake && isElementwiseHere(inputDef) &&
                   isOnlyFor(inputDef, own))
            grows |= own.insert(inputDef);
          else
            read.insert(input);
        }
    }
    if (own.empty() || read.size() > 1 ||
        own.size() + members.size() > kMostMembers ||
        !llvm::all_of(read, isStored))
      return;
    members.insert(own.begin(), own.end());
    for (Operation *op : free)
      takeFree(op);
  }

  void takeFree(Operation *op) {
    members.insert(op);
    Operation *source =
        op->getNumOperands() > 0 ? op->getOperand(0).getDefiningOp() : nullptr;
    if (isSplat(source) && !summed.contains(source))
      members.insert(source);
  }

  bool isOnlyFor(Operation *op, const Members &own) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return members.contains(user) || own.contains(user);
    });
  }

  Epilogue snapshot(ArrayRef<Value> results) const {
    Epilogue epilogue{llvm::to_vector(members.getArrayRef()), results.front()};
    epilogue.kept = llvm::to_vector(results.drop_front());
    llvm::sort(epilogue.members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    return epilogue;
  }

  ArrayRef<int64_t> shape;
  /// Updates may run at the end of the program. What the contraction reads
  /// would then live until there, instead of its result.
  bool mayWaitForEnd;
  Members members;
  Members summed; // operands of the contraction itself; never taken
  llvm::SmallSetVector<Value, 16>
      values; // values that depend on the contraction
};

} // namespace

Epilogue generatedEpilogue(Operation *contraction) {
  return Growth(contraction).run();
}

} // namespace sinter::passes
