//===- StepCheck.h - what a training step does with gradients ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_STEPCHECK_H
#define SINTER_COMPILER_VERIFY_STEPCHECK_H

#include "compiler/verify/GradientCheck.h"
#include "compiler/verify/Reference.h"

namespace sinter::compiler {

/// The request with plain gradient descent: no clipping, loss scale, averages,
/// micro-batches or replicas, and no weight decay.
passes::BuildTrainingOptions
plainDescent(const passes::BuildTrainingOptions &request);

/// The functions of a step for `module`, which has @main, without @eval. Null
/// if they cannot be built: the compilation itself says why.
mlir::OwningOpRef<mlir::ModuleOp>
buildStep(mlir::ModuleOp module, const passes::BuildTrainingOptions &options);

/// How the new value of a state (null: there is none) exceeds its bound;
/// nothing if it does not. `part` is of the step, or nodes.
std::optional<GradientCheck::Wrong> compareState(llvm::StringRef part,
                                                 llvm::StringRef name,
                                                 const ir::Tensor *value,
                                                 const Bounded &expected);

/// Compares steps of plain gradient descent with steps that also have one part
/// of the request: micro-batches (of equal data) and the loss scale must not
/// change the new weights, and clipping changes them by its formula. `module`
/// has @main. Adds to `notChecked` what is left out.
mlir::FailureOr<std::optional<GradientCheck::Wrong>>
checkStepParts(mlir::ModuleOp module,
               const passes::BuildTrainingOptions &request,
               ProgramInputs &inputs, std::vector<std::string> &notChecked);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_STEPCHECK_H
