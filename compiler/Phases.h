//===- Phases.h - the phases of a compilation -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One row per phase. The driver, --help, --stop-after, the names of dumped
// files and `sinter-opt --phase` read the table.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_PHASES_H
#define SINTER_COMPILER_PHASES_H

#include "compiler/ExitCode.h"
#include "compiler/options/CompileState.h"
#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>

namespace sinter::compiler {

/// What every phase may read.
struct PhaseContext {
  const Options &options;
  const passes::Target &target; // of the first device
  /// The devices that the program may span.
  llvm::ArrayRef<passes::ProgramDevice> devices = {};
  /// Bytes of --memory-limit that placement leaves free on each device.
  llvm::ArrayRef<int64_t> memoryReserves = {};
  CompileState state = CompileState(options);
  /// Whether the model is a sinter module, whose ops need not name nodes.
  bool isModule = false;
};

struct Phase {
  const char *name;
  const char *summary; // one line
  /// Adds the phase's passes. NULL: no passes (the driver runs import, kernels
  /// and binary).
  void (*build)(mlir::OpPassManager &pm, const PhaseContext &context);
  /// Checks the form that the module has from the end of this phase on; reports
  /// each violation as an error on the op. NULL: the phase adds no condition.
  mlir::LogicalResult (*verifyForm)(mlir::ModuleOp module,
                                    const PhaseContext &context);
  /// Called before anything is compiled: why the phase cannot serve `options`,
  /// in one line; "" if it can.
  std::string (*refuse)(const Options &options, const CompileState &state);
  /// The tool's exit code if one of the phase's passes fails.
  ExitCode failure;
};

llvm::ArrayRef<Phase> phaseTable();
/// NULL if there is no phase called `name`.
const Phase *findPhase(llvm::StringRef name);
/// Position in the table; the phase must be one of its rows.
size_t phaseIndex(const Phase &phase);

/// What went wrong in a phase: a pass failed, or all passes succeeded but the
/// form verifier failed.
enum class PhaseFailure { Pass, Form };

/// Called around each phase of runPhases.
struct PhaseObserver {
  /// Before a phase.
  std::function<void(const Phase &)> begin;
  /// Adds instrumentation to the phase's pass manager.
  std::function<void(const Phase &, mlir::PassManager &)> prepare;
  /// After a phase that succeeded, with its time in milliseconds.
  std::function<void(const Phase &, mlir::ModuleOp, double)> done;
  /// After `done`; any other code than kExitDone ends the compilation with it.
  std::function<ExitCode(const Phase &, mlir::ModuleOp)> check;
  /// After a phase that failed.
  std::function<void(const Phase &, mlir::ModuleOp, PhaseFailure)> failed;
};

/// Runs the phases from `first` to `last` (rows of the table) and their form
/// verifiers. Stops at the first failure and returns that phase's exit code;
/// the errors are reported already.
ExitCode runPhases(mlir::ModuleOp module, const PhaseContext &context,
                   const Phase &first, const Phase &last,
                   const PhaseObserver &observer);

/// The part of the phase precision that inserts casts. What follows folds those
/// of constants.
void addRoundings(mlir::OpPassManager &pm, const PhaseContext &context);

/// The part of the phase simplify that quantises contractions.
void addQuantization(mlir::OpPassManager &pm, const Options &options,
                     passes::QuantizeSettings settings);

/// Registers each phase as a pipeline `sinter-phase-<name>`, for sinter-opt.
/// `context` must outlive all uses of the pipelines.
void registerPhasePipelines(const PhaseContext &context);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_PHASES_H
