//===- Manifest.h - the manifest of an artifact -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MANIFEST_H
#define SINTER_COMPILER_DRIVER_MANIFEST_H

#include "compiler/options/CompileState.h"
#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::compiler {

/// The JSON text of sinter_artifact.manifest: versions, the target, choices
/// made at compile time. Contains no path and no time, so that equal
/// compilations give equal bytes. `otherDecisions` is
/// DecisionTable::summary().
std::string makeManifest(const Options &options, const CompileState &state,
                         const passes::Target &target,
                         llvm::ArrayRef<passes::ProgramDevice> devices,
                         mlir::ModuleOp module, llvm::StringRef otherDecisions);

/// Prints the table of `-v`: one line per state.
void printStateTable(llvm::raw_ostream &os, mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MANIFEST_H
