//===- NameChecks.h - expressions that match something ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Some flags choose nodes or parameters by a regular expression. An expression
// that matches nothing in the imported model is a mistake. Without these checks
// it would go unnoticed: the program would just not be the one asked for.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECKS_NAMECHECKS_H
#define SINTER_COMPILER_CHECKS_NAMECHECKS_H

#include "compiler/ExitCode.h"
#include "compiler/options/CompileState.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::compiler {

/// Reports the first expression that matches nothing in `module`, which is
/// imported; kExitUsage if there is one. --freeze may also match `held`.
ExitCode checkNames(const Options &options, const CompileState &state,
                    mlir::ModuleOp module, llvm::ArrayRef<std::string> held);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECKS_NAMECHECKS_H
