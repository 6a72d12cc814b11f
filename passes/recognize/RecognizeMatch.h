//===- RecognizeMatch.h - finding composites in small ops -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the recognizers share: looking through broadcasts and reshapes of unit
// dimensions, and the set of ops of a match. No op outside of a match may use a
// value inside of it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_RECOGNIZEMATCH_H
#define SINTER_PASSES_RECOGNIZE_RECOGNIZEMATCH_H

#include "ir/Build.h"
#include "ir/CompositeParts.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace sinter::passes {

/// The ops between a composite's operands and its root, and which part of the
/// composite each of them is.
class Match {
public:
  /// `root` belongs to `part`, and so do the ops that are added before the next
  /// call of enter().
  Match(mlir::Operation *root, ir::CompositePart part)
      : root(root), rootPart(part), part(part) {}
  /// What is added from now on belongs to `part`.
  void enter(ir::CompositePart next) { part = next; }
  void add(mlir::Operation *op) {
    if (op != root)
      ops.insert({op, part});
  }
  void add(mlir::Operation *op, ir::CompositePart ofPart) {
    enter(ofPart);
    add(op);
  }
  /// True when nothing outside the match uses a value inside it.
  bool isClosed() const;
  /// The node names of the root and all ops of the match, by part.
  mlir::Location location() const;

private:
  mlir::Operation *root; // null: none
  ir::CompositePart rootPart, part;
  llvm::MapVector<mlir::Operation *, ir::CompositePart> ops;
};

/// A value whose elements are spread over a larger shape by broadcasts and
/// reshapes of unit dimensions, seen from where it has that shape.
class Spread {
public:
  Spread(mlir::Value value, Match &match);

  /// Replaces `value` by the operand of broadcasts, and of reshapes that only
  /// move unit dimensions.
  void peel();
  /// After peel(), replaces `value` by its first operand if it is an OpTy of
  /// one operand, or of an operand and a splat. The splat's number goes to
  /// `number`. Returns whether it is.
  template <class OpTy> bool enter(double *number = nullptr);
  /// Goes from 1 / v to v.
  bool enterReciprocal();
  /// If the value is the `kind` reduction of `x` over some dimensions, spread
  /// back along exactly these, returns the dimensions.
  std::optional<llvm::SmallVector<int64_t>> reductionOf(ir::ReduceKind kind,
                                                        mlir::Value x);
  /// The same for the mean: a sum divided by the number of elements.
  std::optional<llvm::SmallVector<int64_t>> meanOf(mlir::Value x);
  /// Whether the non-unit dimensions of the peeled value are, in order, those
  /// of the larger shape from `first` on (`alone`: dimension `first` only).
  bool liesFrom(int64_t first, bool alone) const;

  mlir::Value value;

private:
  bool enterNamed(llvm::StringRef name, double *number);

  Match &match;
  mlir::RankedTensorType place; // the larger shape
  llvm::SmallVector<int64_t>
      position; // by dimension of `value`: that of `place`; -1 for size 1
};

template <class OpTy> bool Spread::enter(double *number) {
  return enterNamed(OpTy::getOperationName(), number);
}

void addSoftmaxRecognizers(mlir::RewritePatternSet &patterns);
void addGeluRecognizers(mlir::RewritePatternSet &patterns);
void addNormRecognizers(mlir::RewritePatternSet &patterns);
/// `keepsScales`: scales of queries and keys stay where they are.
void addAttentionRecognizers(mlir::RewritePatternSet &patterns,
                             bool keepsScales);

} // namespace sinter::passes

#endif // SINTER_PASSES_RECOGNIZE_RECOGNIZEMATCH_H
