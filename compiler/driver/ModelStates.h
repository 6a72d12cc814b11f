//===- ModelStates.h - inputs that a program keeps --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A step of a sequence passes values to the next step: a decoder's caches, a
// recurrent network's memory. In the graph these are inputs and outputs. With
// --state=INPUT=OUTPUT they become a state: both leave the signature, the state
// begins as zeros, and each run stores the output in it, on the device.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MODELSTATES_H
#define SINTER_COMPILER_DRIVER_MODELSTATES_H

#include "compiler/ExitCode.h"
#include "compiler/options/CompileState.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::compiler {

/// Turns the inputs of @main that `options.stateRules` match into states with
/// the same names. Reports a rule that matches nothing or an input and an
/// output that cannot be tied, and returns kExitUsage.
ExitCode tieStates(const Options &options, const CompileState &state,
                   mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MODELSTATES_H
