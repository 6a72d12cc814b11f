//===- Rounding.h - which values are rounded to 16 bits ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Part of AssignPrecision. All arithmetic stays float32; this decides which
// values are rounded on their way through memory. Each of them gets one
// narrowing cast after its definition, and its users read the widened result. A
// contraction whose two operands are widened in this way multiplies 16-bit
// floats. The casts become part of the kernels on both sides.
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
  /// `body` is that of a function or of a scan; what a scan carries from trip
  /// to trip stays float32, as states do. `narrow` is f16 or bf16. Ops for
  /// which `keeps` is true store float32.
  Rounding(mlir::Block &body, mlir::FloatType narrow, const Target *target,
           std::function<bool(mlir::Operation *)> keeps)
      : body(body), narrow(narrow), target(target), keeps(std::move(keeps)) {}

  /// Decides for the operands and results of `contractions` (float32, in
  /// program order, directly in the body) and for the values between them.
  void decide(llvm::ArrayRef<mlir::Operation *> contractions);
  /// Builds the casts.
  void apply();

  /// Why the result of `op` is rounded; "" if it is not.
  llvm::StringRef reasonOf(mlir::Operation *op) const;
  /// Why the result of `contraction` is not rounded; "" if it is.
  llvm::StringRef keptResultOf(mlir::Operation *contraction) const {
    return keptResults.lookup(contraction);
  }

  /// True if the result of `op` would be rounded, were it not kept.
  bool isHeldBack(mlir::Operation *op) const { return heldBack.contains(op); }

private:
  void roundOperand(mlir::OpOperand &use, llvm::StringRef reason);
  void roundResult(mlir::Operation *contraction);
  mlir::Value endOfEpilogue(mlir::Operation *contraction);
  bool mayTakeMask(mlir::Operation *user, mlir::Operation *contraction) const;
  void mark(mlir::Value value, llvm::StringRef reason);
  void roundExactResults();
  void findLastContractions();

  mlir::Block &body;
  mlir::FloatType narrow;
  const Target *target;
  std::function<bool(mlir::Operation *)> keeps;
  /// Computed values that all users read rounded, each with the reason.
  llvm::MapVector<mlir::Value, std::string> rounded;
  /// GELUs in the call that computes their operand: they read it exactly,
  /// and only other users read it rounded.
  llvm::DenseSet<mlir::Operation *> readExactly;
  /// Uses of states, inputs and constants that read them rounded.
  llvm::SetVector<mlir::OpOperand *> uses;
  /// Contractions that no other contraction follows on the way to an output.
  llvm::DenseSet<mlir::Operation *> outputLayers;
  llvm::DenseSet<mlir::Operation *> beforeOthers; // a contraction follows
  llvm::DenseSet<mlir::Value> storedNarrow;       // also where they are outputs
  llvm::DenseSet<mlir::Operation *> heldBack;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> keptResults;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_PRECISION_ROUNDING_H
