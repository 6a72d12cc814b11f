//===- StepStates.h - averages, statistics, weight decay --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_STEPSTATES_H
#define SINTER_COMPILER_VERIFY_STEPSTATES_H

#include "compiler/verify/GradientCheck.h"

namespace sinter::compiler {

/// Compares new states of the requested step with formulas: averages of
/// weights, the running statistics of batch normalisation, and what weight
/// decay adds. `module` has @main. Adds to `notChecked` what such a step has
/// beyond that. Fails with an error if the step cannot be evaluated.
mlir::FailureOr<std::optional<GradientCheck::Wrong>>
checkStepStates(mlir::ModuleOp module,
                const passes::BuildTrainingOptions &request,
                ProgramInputs &inputs, std::vector<std::string> &notChecked);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_STEPSTATES_H
