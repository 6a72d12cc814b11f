//===- NameChecks.h - expressions that match something ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Some flags choose nodes or parameters by a regular expression. One that
// matches nothing of the imported model is a mistake, which would otherwise go
// unseen: the program would just not be what was asked for.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECKS_NAMECHECKS_H
#define SINTER_COMPILER_CHECKS_NAMECHECKS_H

#include "compiler/ExitCode.h"
#include "compiler/options/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::compiler {

/// Reports the first expression that chooses nothing of `module`, which is
/// imported; kExitUsage if there is one. --freeze may choose of `held`, too.
ExitCode checkNames(const Options &options, mlir::ModuleOp module,
                    llvm::ArrayRef<std::string> held);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECKS_NAMECHECKS_H
