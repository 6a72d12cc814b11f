//===- Phases.h - the phases of a compilation -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One row per phase. The table feeds the driver, --help, --stop-after, the
// names of dumped files and `sinter-opt --phase`.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_PHASES_H
#define SINTER_COMPILER_PHASES_H

#include "compiler/ExitCode.h"
#include "compiler/options/Options.h"
#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>

namespace sinter::compiler {

/// What every phase may look at.
struct PhaseContext {
  const Options &options;
  const passes::Target &target; // of the first device
  /// Those that the program may span.
  llvm::ArrayRef<passes::ProgramDevice> devices = {};
  /// Bytes of --memory-limit that placement leaves free on each of them.
  llvm::ArrayRef<int64_t> memoryReserves = {};
};

struct Phase {
  const char *name;
  const char *summary; // one line
  /// Adds the phase's passes; NULL when it has none (import, kernels and binary
  /// are the driver's).
  void (*build)(mlir::OpPassManager &pm, const PhaseContext &context);
  /// What the module must look like from the end of this phase on; reports
  /// every violation as an error on the op. NULL: nothing new.
  mlir::LogicalResult (*verifyForm)(mlir::ModuleOp module,
                                    const PhaseContext &context);
  /// Asked for before anything is compiled: why `options` cannot be served, in
  /// one line; "" when they can.
  std::string (*refuse)(const Options &options);
  /// How the tool ends when one of the phase's passes fails.
  ExitCode failure;
};

llvm::ArrayRef<Phase> phaseTable();
/// NULL when there is no phase called `name`.
const Phase *findPhase(llvm::StringRef name);
/// Position in the table; the phase must be one of its rows.
size_t phaseIndex(const Phase &phase);

/// Runs the form verifiers of phases [0, last], in order.
mlir::LogicalResult verifyForms(mlir::ModuleOp module,
                                const PhaseContext &context, const Phase &last);

/// What went wrong in a phase: one of its passes, or its form does not hold
/// although they went through.
enum class PhaseFailure { Pass, Form };

/// Called around each phase of runPhases.
struct PhaseObserver {
  /// Before a phase.
  std::function<void(const Phase &)> begin;
  /// Gives the phase's pass manager its instrumentation.
  std::function<void(const Phase &, mlir::PassManager &)> prepare;
  /// After a phase that succeeded, with its time in milliseconds.
  std::function<void(const Phase &, mlir::ModuleOp, double)> done;
  /// After a phase that failed.
  std::function<void(const Phase &, mlir::ModuleOp, PhaseFailure)> failed;
};

/// Runs the phases from `first` to `last` (rows of the table) and their form
/// verifiers; ends at the first failure with that phase's exit code. Everything
/// was reported.
ExitCode runPhases(mlir::ModuleOp module, const PhaseContext &context,
                   const Phase &first, const Phase &last,
                   const PhaseObserver &observer);

/// Registers each phase as a pipeline `sinter-phase-<name>`, for sinter-opt.
/// `context` must outlive the registration's users.
void registerPhasePipelines(const PhaseContext &context);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_PHASES_H
