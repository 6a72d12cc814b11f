//===- Gradient.cpp - reverse-mode differentiation ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Gradient.h"

#include "passes/autodiff/Rules.h"
#include "passes/precision/Widening.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

const GradientRules &GradientRules::all() {
  static const GradientRules rules = [] {
    GradientRules all;
    addElementwiseRules(all);
    addLinearRules(all);
    addConvRules(all);
    addReduceRules(all);
    addShapeRules(all);
    addGatherScatterRules(all);
    addNormRules(all);
    addAttentionRules(all);
    addLossRules(all);
    addRandomRules(all);
    addCollectiveRules(all);
    addControlRules(all);
    return all;
  }();
  return rules;
}

GradientRuleKind gradientRuleKind(OperationName name) {
  if (GradientRules::all().lookup(name.getStringRef()))
    return GradientRuleKind::Rule;
  if (name.hasTrait<NotDifferentiable>())
    return GradientRuleKind::NotDifferentiable;
  if (name.hasTrait<ZeroGradient>())
    return GradientRuleKind::Zero;
  return name.hasInterface<CompositeOpInterface>()
             ? GradientRuleKind::Decomposed
             : GradientRuleKind::Missing;
}

namespace {

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

class Differentiator {
public:
  Differentiator(OpBuilder &builder, Value loss, ArrayRef<Value> wrt)
      : builder(builder), loss(loss), wrt(wrt) {}

  FailureOr<SmallVector<Value>> run(Value seed) {
    do
      findPath();
    while (decomposeOnPath());
    if (depends.contains(loss))
      cotangents[loss] =
          seed ? seed : splatLike(builder, loss.getLoc(), loss, 1);
    for (Operation *op : llvm::reverse(path))
      differentiate(op);
    if (failed(reportMissing()))
      return failure();
    SmallVector<Value> result;
    for (Value value : wrt)
      result.push_back(cotangents.lookup(value));
    return result;
  }

private:
  /// The ops through which the loss depends on a `wrt` value, in program order.
  void findPath() {
    path.clear();
    depends.clear();
    depends.insert(wrt.begin(), wrt.end());
    Operation *last = loss.getDefiningOp();
    if (!last)
      return;
    SmallVector<Operation *> dependent;
    for (Operation &op : *last->getBlock()) {
      if (gradientRuleKind(op.getName()) != GradientRuleKind::Zero &&
          llvm::any_of(op.getOperands(),
                       [&](Value v) { return depends.contains(v); })) {
        for (Value result : op.getResults())
          if (isFloat(result))
            depends.insert(result);
        dependent.push_back(&op);
      }
      if (&op == last)
        break;
    }
    DenseSet<Value> reaching{loss};
    for (Operation *op : llvm::reverse(dependent)) {
      if (llvm::none_of(op->getResults(), [&](Value v) {
            return reaching.contains(v) && depends.contains(v);
          }))
        continue;
      path.push_back(op);
      reaching.insert(op->operand_begin(), op->operand_end());
    }
    std::reverse(path.begin(), path.end());
  }

  /// Replaces the composites on the path that have no rule by their
  /// decompositions; false if there were none.
  bool decomposeOnPath() {
    bool changed = false;
    for (Operation *op : path) {
      if (gradientRuleKind(op->getName()) != GradientRuleKind::Decomposed)
        continue;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(op);
      SmallVector<Value> values;
      if (!buildWidened(op, values))
        values = cast<CompositeOpInterface>(op).decompose(builder);
      for (auto [from, to] : llvm::zip(op->getResults(), values)) {
        from.replaceAllUsesWith(to);
        if (loss == from)
          loss = to;
        std::replace(wrt.begin(), wrt.end(), Value(from), to);
      }
      op->erase();
      changed = true;
    }
    return changed;
  }

  void differentiate(Operation *op) {
    SmallVector<Value> resultGrads;
    for (Value result : op->getResults())
      resultGrads.push_back(cotangents.lookup(result));
    if (llvm::none_of(resultGrads, [](Value v) { return bool(v); }))
      return;
    llvm::BitVector active(op->getNumOperands());
    for (OpOperand &operand : op->getOpOperands())
      if (depends.contains(operand.get()))
        active.set(operand.getOperandNumber());

    OpGradient gradient(builder, op, resultGrads, active);
    GradientRule rule =
        GradientRules::all().lookup(op->getName().getStringRef());
    if (rule)
      rule(gradient);
    else
      gradient.refuse("");
    if (gradient.refusal()) {
      missing[{op->getName().getStringRef(), *gradient.refusal()}].push_back(
          op->getLoc());
      // Go on, so that gradients that are missing further up are reported too.
      for (unsigned i : active.set_bits())
        gradient.give(i, gradient.like(op->getOperand(i), 0));
    }
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned i = operand.getOperandNumber();
      if (Value part = active[i] ? gradient.cotangent(i) : Value()) {
        Value &sum = cotangents[operand.get()];
        sum = sum ? gradient.add(sum, part) : part;
      }
    }
  }

  LogicalResult reportMissing() {
    for (auto &[key, locations] : missing) {
      std::reverse(locations.begin(), locations.end()); // program order
      emitError(FusedLoc::get(builder.getContext(), locations))
          << "'" << key.first << "' has no gradient"
          << (key.second.empty() ? "" : " ") << key.second
          << ", but the loss depends on a trainable value through it";
    }
    return success(missing.empty());
  }

  OpBuilder &builder;
  Value loss;
  SmallVector<Value> wrt;
  SmallVector<Operation *> path;
  DenseSet<Value>
      depends; // values that depend on a `wrt` value, differentiably
  DenseMap<Value, Value> cotangents;
  /// By op and reason: where the gradient is missing.
  std::map<std::pair<StringRef, StringRef>, SmallVector<Location>> missing;
};

} // namespace

FailureOr<SmallVector<Value>> gradients(OpBuilder &builder, Value loss,
                                        ArrayRef<Value> wrt, Value seed) {
  return Differentiator(builder, loss, wrt).run(seed);
}

} // namespace sinter::passes
