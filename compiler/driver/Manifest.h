//===- Manifest.h - the manifest of an artifact -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MANIFEST_H
#define SINTER_COMPILER_DRIVER_MANIFEST_H

#include "compiler/emit/Link.h"
#include "compiler/options/CompileState.h"
#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace sinter::compiler {

/// The JSON text of sinter_artifact.manifest: versions, the target, choices
/// made at compile time. Contains no path and no time, so that equal
/// compilations give equal bytes. `otherDecisions` is
/// DecisionTable::summary().
std::string makeManifest(const Options &options, const CompileState &state,
                         const passes::Target &target,
                         llvm::ArrayRef<passes::ProgramDevice> devices,
                         mlir::ModuleOp module, llvm::StringRef otherDecisions);

/// Hashes of what the kernels of a planned module compute, by their ops and
/// nodes: "mul_add of /a, grad(/b)". Several kernels may have one key, which
/// then has their hashes, separated by commas. The numbers of kernels, which
/// depend on all other kernels, are in neither.
std::map<std::string, std::string> kernelHashesByNodes(mlir::ModuleOp module);

/// The kind of file that sinterc links with these options.
LinkKind linkKind(const Options &options);
/// runtimeHash() of that file.
std::string hashOfRuntime(const Options &options);

/// Prints the table of `-v`: one line per state.
void printStateTable(llvm::raw_ostream &os, mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MANIFEST_H
