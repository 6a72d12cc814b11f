//===- GradientCheck.h - gradients against finite differences ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_GRADIENTCHECK_H
#define SINTER_COMPILER_VERIFY_GRADIENTCHECK_H

#include "compiler/verify/Culprit.h"
#include "passes/Passes.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <set>

namespace sinter::compiler {

/// Compares the gradients that the train phase builds with central differences
/// of the loss, in float64. First each op from the inputs to the loss alone, on
/// the values that it has in the program, those in the body of a scan in one
/// trip: so a wrong rule is found with its op and node. Then the gradient of
/// the loss by each trained state: so is what joins the rules.
class GradientCheck {
public:
  /// `module` is the program before the train phase, with @main.
  GradientCheck(mlir::ModuleOp module,
                const passes::BuildTrainingOptions &request,
                ProgramInputs &inputs)
      : module(module), request(request), inputs(inputs) {}

  struct Wrong {
    Culprit culprit;
    std::string result;
  };
  /// The first wrong gradient; nothing if all are right. Fails with an error if
  /// the program cannot be differentiated or evaluated.
  mlir::FailureOr<std::optional<Wrong>> run();
  /// How many ops were compared; equal ones count once.
  int numRules() const { return numRules_; }

private:
  std::optional<Wrong>
  checkOp(mlir::Operation *op, llvm::ArrayRef<ir::Tensor> operands,
          llvm::function_ref<bool(mlir::OpResult)> isWanted);

  mlir::FailureOr<llvm::SmallVector<ir::Tensor>>
  checkBlock(mlir::Block &block, llvm::ArrayRef<ir::Tensor> arguments,
             const llvm::SetVector<mlir::Operation *> &path, mlir::Value loss,
             std::optional<Wrong> &wrong);
  void checkBody(ir::ScanOp scan, llvm::ArrayRef<ir::Tensor> operands,
                 std::optional<Wrong> &wrong);

  std::set<std::vector<const void *>> seen; // kinds of ops that were checked
  mlir::ModuleOp module;
  const passes::BuildTrainingOptions &request;
  ProgramInputs &inputs;
  int numRules_ = 0;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_GRADIENTCHECK_H
