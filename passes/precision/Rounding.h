//===- Rounding.h - which values are rounded to 16 bits ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All arithmetic stays float32. What is decided is which values are rounded on
// their way through memory: each then has one narrowing cast after its
// definition, and its users read the widened result. A contraction whose two
// operands are read so multiplies 16-bit floats; casts become part of the
// kernels on both sides.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PRECISION_ROUNDING_H
#define SINTER_PASSES_PRECISION_ROUNDING_H

#include "passes/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <functional>

namespace sinter::passes {

class Rounding {
public:
  /// `narrow` is f16 or bf16. Ops that `keeps` holds for store float32.
  Rounding(mlir::func::FuncOp function, mlir::FloatType narrow,
           const Target *target, std::function<bool(mlir::Operation *)> keeps)
      : function(function), narrow(narrow), target(target),
        keeps(std::move(keeps)) {}

  /// Decides for the operands and results of `contractions` (float32, in
  /// program order) and what lies between them.
  void decide(llvm::ArrayRef<mlir::Operation *> contractions);
  /// Builds the casts.
  void apply();

  /// Why the result of `op` is rounded; "" when it is not.
  llvm::StringRef reasonOf(mlir::Operation *op) const;
  /// Why the contraction's result is not; "" when it is.
  llvm::StringRef keptResultOf(mlir::Operation *contraction) const {
    return keptResults.lookup(contraction);
  }

  /// True when the result of `op` would be rounded, were it not kept.
  bool isHeldBack(mlir::Operation *op) const { return heldBack.contains(op); }

private:
  void roundOperand(mlir::OpOperand &use, llvm::StringRef reason);
  void roundResult(mlir::Operation *contraction);
  mlir::Value endOfEpilogue(mlir::Operation *contraction);
  bool mayTakeMask(mlir::Operation *user, mlir::Operation *contraction) const;
  void mark(mlir::Value value, llvm::StringRef reason);
  void roundExactResults();
  void findLastContractions();

  mlir::func::FuncOp function;
  mlir::FloatType narrow;
  const Target *target;
  std::function<bool(mlir::Operation *)> keeps;
  /// Computed values that all users read rounded, each with the reason.
  llvm::MapVector<mlir::Value, std::string> rounded;
  /// GELUs in the call that computes what they are applied to: what is rounded
  /// there is for others.
  llvm::DenseSet<mlir::Operation *> readExactly;
  /// Uses of states, inputs and constants that read them rounded.
  llvm::SetVector<mlir::OpOperand *> uses;
  llvm::DenseSet<mlir::Operation *> outputLayers; // nothing is multiplied after
  llvm::DenseSet<mlir::Operation *> beforeOthers; // a contraction follows
  llvm::DenseSet<mlir::Value> storedNarrow;       // outputs, too
  llvm::DenseSet<mlir::Operation *> heldBack;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> keptResults;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_PRECISION_ROUNDING_H
