//===- ModelStates.h - inputs that a program keeps --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A step of a sequence hands on what the next one reads: a decoder's caches, a
// recurrent network's memory. In the graph these are inputs and outputs. With
// --state=INPUT=OUTPUT they are state: an input leaves the signature, it begins
// as zeros, and each run leaves the output's value in it, on the device.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MODELSTATES_H
#define SINTER_COMPILER_DRIVER_MODELSTATES_H

#include "compiler/ExitCode.h"
#include "compiler/options/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::compiler {

/// Makes states of the inputs of @main that `options.stateRules` choose, each
/// named like its input. Reports a rule that chooses nothing, or a pair that is
/// none; kExitUsage then.
ExitCode tieStates(const Options &options, mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MODELSTATES_H
