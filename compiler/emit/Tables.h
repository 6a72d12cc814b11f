//===- Tables.h - the parts of an artifact's tables -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to the emission of artifacts: emitProgram (Artifact.h) puts these
// together.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_TABLES_H
#define SINTER_COMPILER_EMIT_TABLES_H

#include "compiler/emit/Artifact.h"
#include "compiler/emit/TableData.h"
#include "ir/exec/Exec.h"

namespace sinter::compiler {

/// The sinter_dtype of an element type; 0 for others.
uint32_t dtypeOf(mlir::Type element);
/// The descriptor of a dense tensor called `name`.
Row<sinter_tensor_desc> tensorRow(TableData &data, llvm::StringRef name,
                                  mlir::RankedTensorType type);

/// The bytes of every `exec.constant` in the order of offsets. Values that have
/// no bytes of their own (splats, truth values) get a blob, and the op refers
/// to that from then on.
mlir::FailureOr<std::vector<ConstantPiece>>
constantPieces(mlir::ModuleOp module);

/// Where the constants of one target's plan lie among those of the program.
class ConstantPlaces {
public:
  /// Where they are planned; for the first target.
  ConstantPlaces() = default;
  /// Finds `pieces` among `program`'s constants, and adds those that are new.
  ConstantPlaces(llvm::ArrayRef<ConstantPiece> pieces,
                 CompiledProgram &program);

  uint64_t operator()(uint64_t planned) const;

private:
  struct Moved {
    uint64_t planned, sizeBytes, place;
  };
  bool areMoved_ = false;
  std::vector<Moved> moved_; // ascending by `planned`
};

/// The states of a module and where they lie.
struct StateTable {
  std::vector<Row<sinter_state_desc>> rows;
  llvm::StringMap<uint32_t> numbers; // by symbol and by ONNX name
  /// Numbers of averaged weights, by those of the weights.
  llvm::DenseMap<uint32_t, uint32_t> averages;
  uint64_t bytes = 0; // of the largest place's block
};
/// Must run before `constantPieces`, which replaces values. Fails when a
/// state's initial value is no constant of the module, or a slot's parameter no
/// state.
mlir::FailureOr<StateTable> stateTable(TableData &data, mlir::ModuleOp module);

/// What a launch says about its kernel.
struct KernelEntry {
  uint32_t number;
  int64_t tiles;
};
using KernelEntries = llvm::StringMap<KernelEntry>; // by symbol
/// `constants` says where the plan's constants lie in the program; contractions
/// are `byLoops` or a library's. Adds the sinter_dtype of every slice to
/// `sliceDtypes`.
std::vector<Row<sinter_entry>> entryRows(TableData &data, mlir::ModuleOp module,
                                         const KernelEntries &kernels,
                                         const ConstantPlaces &constants,
                                         bool byLoops,
                                         std::string &sliceDtypes);

/// The checks of indices of all programs, in order.
std::vector<Row<sinter_index_check>> indexCheckRows(TableData &data,
                                                    mlir::ModuleOp module);

/// The devices that the module names, and the arenas of every program on each;
/// empty when it names none.
std::vector<Row<sinter_place_desc>> placeRows(TableData &data,
                                              mlir::ModuleOp module);
std::vector<int64_t> arenaRows(mlir::ModuleOp module);
/// What library calls may take on each of these; on the device `otherwise`
/// where the module names none.
std::vector<int64_t> workspaceRows(mlir::ModuleOp module,
                                   llvm::StringRef otherwise,
                                   const ArtifactInfo &info);

/// Code of all kernels of `module`: those of each kind of device (exec.target)
/// by the target of that kind among `devices`, the others by `target`.
mlir::FailureOr<passes::TargetCode>
generateForPlaces(mlir::ModuleOp module, const passes::Target &target,
                  llvm::ArrayRef<passes::ProgramDevice> devices,
                  const passes::CodeGenOptions &options);

/// The row for the module's `sinter.training`; none without it.
mlir::FailureOr<std::vector<Row<sinter_training>>>
trainingRow(TableData &data, mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_TABLES_H
