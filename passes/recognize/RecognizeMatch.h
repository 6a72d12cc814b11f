//===- RecognizeMatch.h - finding composites in small ops -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the recognizers share: seeing through broadcasts and unit reshapes, and
// the ops of a match, none of which may be used by anything outside it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_RECOGNIZEMATCH_H
#define SINTER_PASSES_RECOGNIZE_RECOGNIZEMATCH_H

#include "ir/Build.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace sinter::passes {

/// The ops between a composite's operands and its root.
class Match {
public:
  explicit Match(mlir::Operation *root) : root(root) {}
  void add(mlir::Operation *op) {
    if (op != root)
      ops.insert(op);
  }
  /// True when nothing outside the match uses a value inside it.
  bool isClosed() const;
  /// The node names of the root and all ops of the match.
  mlir::Location location() const;

private:
  mlir::Operation *root; // null: none
  llvm::SetVector<mlir::Operation *> ops;
};

/// A value seen from a place where its elements are spread over a larger shape
/// by broadcasts and unit reshapes.
class Spread {
public:
  Spread(mlir::Value value, Match &match);

  /// Goes through broadcasts and reshapes that only move unit dimensions.
  void peel();
  /// `value` after peel(), then replaced by its own operand if it is an OpTy of
  /// one operand, or of an operand and a splat; the splat's number goes to
  /// `number`.
  template <class OpTy> bool enter(double *number = nullptr);
  /// Goes from 1 / v to v.
  bool enterReciprocal();
  /// Whether the value is the `kind` reduction of `x` over some dimensions,
  /// spread back along just these; gives them.
  std::optional<llvm::SmallVector<int64_t>> reductionOf(ir::ReduceKind kind,
                                                        mlir::Value x);
  /// The same for the mean: a sum divided by the number of elements.
  std::optional<llvm::SmallVector<int64_t>> meanOf(mlir::Value x);
  /// Whether the peeled value's non-unit dimensions lie, in order, at the last
  /// dimensions of the place from `first` on, or at `first` alone when `alone`.
  bool liesFrom(int64_t first, bool alone) const;

  mlir::Value value;

private:
  bool enterNamed(llvm::StringRef name, double *number);

  Match &match;
  mlir::RankedTensorType place;
  llvm::SmallVector<int64_t>
      position; // per dimension: the place's, -1 for size 1
};

template <class OpTy> bool Spread::enter(double *number) {
  return enterNamed(OpTy::getOperationName(), number);
}

void addSoftmaxRecognizers(mlir::RewritePatternSet &patterns);
void addGeluRecognizers(mlir::RewritePatternSet &patterns);
void addNormRecognizers(mlir::RewritePatternSet &patterns);
void addAttentionRecognizers(mlir::RewritePatternSet &patterns);

} // namespace sinter::passes

#endif // SINTER_PASSES_RECOGNIZE_RECOGNIZEMATCH_H
