//===- Artifact.h - from a planned program to an artifact -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The lowering that JIT and ahead-of-time compilation share. It makes object
// files with the kernels and the tables of abi.h, and the constants, which
// never pass through LLVM IR.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_ARTIFACT_H
#define SINTER_COMPILER_EMIT_ARTIFACT_H

#include "compiler/import/ExportPiece.h"
#include "passes/Target.h"
#include "sinter/abi.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::compiler {

/// `bytes` go to `offset` of the artifact's constants; the module's blobs own
/// them.
struct ConstantPiece {
  uint64_t offset;
  llvm::ArrayRef<char> bytes;
};

/// What the tables contain besides the program itself.
struct ArtifactInfo {
  std::string symbol = "main"; // tables define `sinter_artifact_<symbol>`
  std::string modelName;
  std::string manifest; // JSON text
  std::vector<ExportPiece> exportPieces;
  /// The targets that are compiled after this one; their tables follow.
  std::vector<std::string> otherTargets;
  /// The devices that the module may name.
  std::vector<passes::ProgramDevice> devices;
  /// How contractions are computed on the CPU.
  sinter_contraction_way way = SINTER_BY_LIBRARY;
  /// Scratch memory for library calls (--workspace). On the CPU it is a limit
  /// only if `isCpuLimited`.
  int64_t workspaceBytes = int64_t(32) << 20;
  bool isCpuLimited = false;
  /// Whether library calls may add in any order (--deterministic=none).
  bool isUnordered = false;
};

/// What a program needs of the runtime that it is linked with.
struct RuntimeNeeds {
  /// Simulated devices run a part of it.
  bool isSimulated = false;
  /// It has replicas on devices whose memory is the host's, which Gloo connects
  /// if they are in several processes.
  bool hasGloo = false;
};

/// A compiled program. `objects` define `sinter_artifact_<symbol>` (a
/// sinter_artifact; with several targets, the first of a chain). Their only
/// undefined symbol is `sinter_constants_<symbol>`, the page-aligned constants.
struct CompiledProgram {
  std::vector<std::string> objects;
  std::vector<ConstantPiece> constants; // ascending, without overlaps
  uint64_t constantsBytes = 0;
  std::string symbol;
  RuntimeNeeds runtime;
  /// Of the first target: names and types of states, number of export pieces.
  std::vector<std::string> states;
  uint32_t numExportPieces = 0;
};

/// Lays out the constants, generates the kernels with `target` and builds the
/// tables for a module in `exec` form. The result refers to blobs of `module`,
/// which must outlive it.
mlir::FailureOr<CompiledProgram>
emitProgram(mlir::ModuleOp module, const passes::Target &target,
            const passes::CodeGenOptions &options, const ArtifactInfo &info);

/// Like emitProgram, for another target of the same model: adds its tables to
/// `program`, which has the first target, whose `info.otherTargets` named this
/// one. Equal constants are shared, and so are the export pieces. Fails if the
/// states differ.
mlir::LogicalResult addTarget(CompiledProgram &program, mlir::ModuleOp module,
                              const passes::Target &target,
                              const passes::CodeGenOptions &options,
                              const ArtifactInfo &info);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_ARTIFACT_H
