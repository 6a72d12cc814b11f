//===- Tables.h - the parts of an artifact's tables -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to the emission of artifacts: emitProgram (Artifact.h) combines
// these parts.
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

/// The bytes of every `exec.constant` in the order of offsets. A value that has
/// no bytes in the form of abi.h (splats, booleans) gets a new blob, and the op
/// is changed to refer to it.
mlir::FailureOr<std::vector<ConstantPiece>>
constantPieces(mlir::ModuleOp module);

/// Maps the offsets of constants in one target's plan to those in the program.
class ConstantPlaces {
public:
  /// For the first target: offsets are as planned.
  ConstantPlaces() = default;
  /// Finds `pieces` among the constants of `program`, and adds new ones.
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

/// The states of a module and their offsets.
struct StateTable {
  std::vector<Row<sinter_state_desc>> rows;
  llvm::StringMap<uint32_t> numbers; // by symbol and by the name in the model
  /// Numbers of averaged weights, by the numbers of the weights.
  llvm::DenseMap<uint32_t, uint32_t> averages;
  uint64_t bytes = 0; // the size of the largest place's block
};
/// Must run before `constantPieces`, which replaces values. Fails if a state's
/// initial value is not a constant of the module, or a slot's parameter is not
/// a state.
mlir::FailureOr<StateTable> stateTable(TableData &data, mlir::ModuleOp module);

/// What launches need to know about a kernel.
struct KernelEntry {
  uint32_t number;
  int64_t tiles;
};
using KernelEntries = llvm::StringMap<KernelEntry>; // by symbol
/// The entries of `module`. `constants` maps the offsets of constants;
/// contractions on the CPU are computed in way `way`. Appends the sinter_dtype
/// of every slice to `sliceDtypes`; those of the body of a scan follow those of
/// the scan.
std::vector<Row<sinter_entry>> entryRows(TableData &data, mlir::ModuleOp module,
                                         const KernelEntries &kernels,
                                         const ConstantPlaces &constants,
                                         sinter_contraction_way way,
                                         std::string &sliceDtypes);

/// The index checks of all programs, in order.
std::vector<Row<sinter_index_check>> indexCheckRows(TableData &data,
                                                    mlir::ModuleOp module);

/// The devices that the module names, and the arenas of every program on each
/// device; empty if it names none.
std::vector<Row<sinter_place_desc>> placeRows(TableData &data,
                                              mlir::ModuleOp module);
std::vector<int64_t> arenaRows(mlir::ModuleOp module);
/// What library calls may take on each of these; on the device `otherwise`
/// where the module names none.
std::vector<int64_t> workspaceRows(mlir::ModuleOp module,
                                   llvm::StringRef otherwise,
                                   const ArtifactInfo &info);

/// Generates code for all kernels of `module`. The target of each kind among
/// `devices` compiles the kernels for that kind (exec.target); `target`
/// compiles the others.
mlir::FailureOr<passes::TargetCode>
generateForPlaces(mlir::ModuleOp module, const passes::Target &target,
                  llvm::ArrayRef<passes::ProgramDevice> devices,
                  const passes::CodeGenOptions &options);

/// The row for the module's `sinter.training`; empty if it has none.
mlir::FailureOr<std::vector<Row<sinter_training>>>
trainingRow(TableData &data, mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_TABLES_H
