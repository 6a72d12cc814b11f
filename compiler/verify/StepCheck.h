//===- StepCheck.h - what a training step does with gradients ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_STEPCHECK_H
#define SINTER_COMPILER_VERIFY_STEPCHECK_H

#include "compiler/verify/GradientCheck.h"

namespace sinter::compiler {

/// The request with plain gradient descent: no clipping, loss scale, averages,
/// micro-batches or replicas, and no weight decay.
passes::BuildTrainingOptions
plainDescent(const passes::BuildTrainingOptions &request);

/// Compares steps of plain gradient descent with steps that also have one part
/// of the request: micro-batches (of equal data) and the loss scale must not
/// change the new weights, and clipping changes them by its formula. `module`
/// has @main. Parts that the program draws random numbers for are left out.
mlir::FailureOr<std::optional<GradientCheck::Wrong>>
checkStepParts(mlir::ModuleOp module,
               const passes::BuildTrainingOptions &request,
               ProgramInputs &inputs);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_STEPCHECK_H
