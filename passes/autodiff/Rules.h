//===- Rules.h - the table of gradient rules --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A rule builds the cotangents of an op's operands from those of its results.
// One function per op family registers its rules explicitly, by op. Only
// Gradient.cpp uses the table.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_AUTODIFF_RULES_H
#define SINTER_PASSES_AUTODIFF_RULES_H

#include "ir/CompositeParts.h"
#include "ir/Locations.h"
#include "passes/ValueBuilder.h"
#include "passes/autodiff/Gradient.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>

namespace sinter::passes {

/// The interface of a rule, for one op: the cotangents that it reads and gives.
/// New ops get the location of the op, marked as its gradient.
class OpGradient : public ValueBuilder {
public:
  OpGradient(mlir::OpBuilder &builder, mlir::Operation *op,
             llvm::ArrayRef<Value> resultGrads, const llvm::BitVector &active)
      : ValueBuilder(builder, ir::gradientLocation(op->getLoc())), op(op),
        resultGrads(resultGrads), active(active), given(op->getNumOperands()) {}

  /// The cotangent of a result, of the result's type; null if the loss does not
  /// depend on the result.
  Value gradOrNull(unsigned result) const { return resultGrads[result]; }
  /// The same, but zeros if the loss does not depend on the result.
  Value grad(unsigned result = 0) {
    return resultGrads[result] ? resultGrads[result]
                               : like(op->getResult(result), 0);
  }
  /// Whether the cotangent of an operand is needed.
  bool wants(unsigned operand) const { return active[operand]; }
  /// Sets the cotangent of an operand, of the operand's type; at most once per
  /// operand.
  void give(unsigned operand, Value cotangent) { given[operand] = cotangent; }
  /// The cotangent that was given; null if none was.
  Value cotangent(unsigned operand) const { return given[operand]; }
  /// Says that this form of the op has no gradient. `what` continues the
  /// message "has no gradient".
  void refuse(llvm::StringRef what) { refused = what; }
  std::optional<llvm::StringRef> refusal() const { return refused; }

  /// A builder of the ops of one part of the composite `op`.
  ValueBuilder in(ir::CompositePart part) const {
    return {b, ir::partOfComposite(loc, part)};
  }

  mlir::Operation *op;

private:
  llvm::ArrayRef<Value> resultGrads;
  const llvm::BitVector &active;
  llvm::SmallVector<Value> given;
  std::optional<llvm::StringRef> refused;
};

using GradientRule = std::function<void(OpGradient &)>;

class GradientRules {
public:
  /// `rule(op, g)` builds the cotangents, or refuses to.
  template <class OpTy, class Function> void add(Function rule) {
    rules[OpTy::getOperationName()] = [rule](OpGradient &g) {
      rule(mlir::cast<OpTy>(g.op), g);
    };
  }
  /// The rule for ops of this name; null if there is none.
  GradientRule lookup(llvm::StringRef name) const { return rules.lookup(name); }

  /// The rules of all families.
  static const GradientRules &all();

private:
  llvm::StringMap<GradientRule> rules;
};

void addElementwiseRules(GradientRules &rules);
void addLinearRules(GradientRules &rules);
void addConvRules(GradientRules &rules);
void addReduceRules(GradientRules &rules);
void addShapeRules(GradientRules &rules);
void addGatherScatterRules(GradientRules &rules);
void addNormRules(GradientRules &rules);
void addAttentionRules(GradientRules &rules);
void addLossRules(GradientRules &rules);
void addRandomRules(GradientRules &rules);
void addCollectiveRules(GradientRules &rules);
void addControlRules(GradientRules &rules);

} // namespace sinter::passes

#endif // SINTER_PASSES_AUTODIFF_RULES_H
