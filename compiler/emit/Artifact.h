//===- Artifact.h - from a planned program to an artifact -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The one lowering that JIT and ahead-of-time compilation share: objects with
// the kernels and the tables of abi.h, and the constants, which never pass
// through LLVM IR.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_ARTIFACT_H
#define SINTER_COMPILER_EMIT_ARTIFACT_H

#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::compiler {

/// `bytes` belong at `offset` of the artifact's constants; they live in the
/// module's blobs.
struct ConstantPiece {
  uint64_t offset;
  llvm::ArrayRef<char> bytes;
};

/// A piece of the exported ONNX file: literal bytes, or the bytes of a state.
struct ExportPiece {
  std::string bytes;
  std::string state; // name of a state; empty: `bytes`
};

/// What the tables say besides the program itself.
struct ArtifactInfo {
  std::string symbol = "main"; // tables define `sinter_artifact_<symbol>`
  std::string modelName;
  std::string manifest; // JSON text
  std::vector<ExportPiece> exportPieces;
  /// The targets that are compiled besides, after this one: their tables
  /// follow.
  std::vector<std::string> otherTargets;
  /// Devices that a program which names its devices may name.
  std::vector<passes::ProgramDevice> devices;
  /// Contractions on the CPU are loops of the runtime's own.
  bool byLoops = false;
  /// What library calls may take (--workspace); on the CPU, where nobody has
  /// asked for a limit, as much as they want.
  int64_t workspaceBytes = int64_t(32) << 20;
  bool isCpuLimited = false;
};

/// A compiled program. `objects` define `sinter_artifact_<symbol>` (a
/// sinter_artifact, the first of a chain when there are several targets) and
/// refer to one undefined symbol, `sinter_constants_<symbol>`, the page-aligned
/// constants.
struct CompiledProgram {
  std::vector<std::string> objects;
  std::vector<ConstantPiece> constants; // ascending, apart
  uint64_t constantsBytes = 0;
  std::string symbol;
  /// Simulated devices run a part of it.
  bool isSimulated = false;
  /// Of the first target: names and types of states, number of export pieces.
  std::vector<std::string> states;
  uint32_t numExportPieces = 0;
};

/// Lays out constants, emits kernels through `target` and builds the tables for
/// a module in `exec` form. The result refers to blobs of `module`, which must
/// outlive it.
mlir::FailureOr<CompiledProgram>
emitProgram(mlir::ModuleOp module, const passes::Target &target,
            const passes::CodeGenOptions &options, const ArtifactInfo &info);

/// Adds the program for another target, made of the same model: what was said
/// above holds for it too. `program` has the first target, whose
/// `info.otherTargets` named this one. Constants that are there already are
/// shared, and so are the export pieces. Fails when the states are not the
/// same.
mlir::LogicalResult addTarget(CompiledProgram &program, mlir::ModuleOp module,
                              const passes::Target &target,
                              const passes::CodeGenOptions &options,
                              const ArtifactInfo &info);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_ARTIFACT_H
