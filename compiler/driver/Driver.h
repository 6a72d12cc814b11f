//===- Driver.h - from a model file to the output ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Shared by sinterc and sinter-run: reads a model, runs the phases, emits the
// program. The tools pass the targets; nothing here depends on a backend. A
// function that fails has printed the reason on stderr.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_DRIVER_H
#define SINTER_COMPILER_DRIVER_DRIVER_H

#include "compiler/ExitCode.h"
#include "compiler/driver/ModelFile.h"
#include "compiler/driver/Targets.h"
#include "compiler/driver/TimeReport.h"
#include "compiler/emit/Artifact.h"
#include "compiler/lint/Lints.h"
#include "compiler/options/CompileState.h"
#include "passes/Target.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ThreadPool.h"

#include <functional>
#include <map>
#include <memory>

namespace sinter::compiler {

class DecisionTable;
class DiagnosticPrinter;
class TraceWriter;
struct Phase;
struct Trace;
struct PhaseContext;
enum class PhaseFailure;

/// The compilation of one model. Owns everything that the compiled program
/// refers to.
class Compilation {
public:
  Compilation(const Options &options, CompileState state, TargetSet targets);
  ~Compilation();

  /// Called if the program of a batch does not fit into --memory-limit: returns
  /// the part of the error message about batches that fit.
  std::function<std::string(int64_t batch)> batchesThatFit;

  /// Whether run() records a trace even without --trace.
  bool keepsTrace = false;
  /// What the last run() recorded, also if it failed; null without --trace and
  /// `keepsTrace`, and before import is done.
  const Trace *trace() const;
  /// Answers the questions of the passes and code generators, and must outlive
  /// the compilation. Null: the lock file of the options does, if there is one.
  DecisionTable *decisions = nullptr;
  /// If set, called after each phase that runs on the module; any other code
  /// than kExitDone ends the compilation with it.
  std::function<ExitCode(const Phase &phase, mlir::ModuleOp module,
                         const PhaseContext &context)>
      afterPhase;

  /// Refuses options that a phase cannot serve; called first.
  ExitCode checkOptions() const;
  /// Reads the model (unless `model` was filled by the caller) and runs the
  /// phases up to `last`, which is before "kernels".
  ExitCode run(const Phase &last);
  /// Whether run() has completed this phase.
  bool hasDone(llvm::StringRef phase) const;
  /// Checks that a trainer can export the imported model.
  ExitCode checkExport();
  /// After run(plan): runs the phase "kernels" and makes the tables. The first
  /// of several targets gets an empty `program`; `others` are the targets that
  /// the caller will add to it later.
  ExitCode emit(CompiledProgram &program,
                llvm::ArrayRef<std::string> others = {});

  const Options &options;
  const CompileState state;
  SharedModel model;
  std::unique_ptr<passes::Target> target; // of the first device
  std::vector<passes::ProgramDevice> devices;

  mlir::ModuleOp module() { return *module_; }
  /// The target of the program's first device. After placement this need not be
  /// the default device.
  const passes::Target &mainTarget() const;
  /// The kernels of all devices of the program as text.
  mlir::FailureOr<passes::TargetCode> kernelText(passes::CodeForm form);
  mlir::MLIRContext &context() { return context_; }
  /// After emit(): the program's manifest.
  const std::string &manifest() const { return manifest_; }
  /// After emit(): hashes of its kernels by their nodes (Manifest.h).
  const std::map<std::string, std::string> &kernelHashes() const {
    return kernelHashes_;
  }
  /// The CPU that code is generated for; "" if it is for GPUs alone.
  std::string machine() const;
  /// The identifier in the names of the artifact's symbols.
  const std::string &symbol() const { return symbol_; }
  TimeReport times;
  /// With --time-report: prints them to stderr.
  void reportTimes() const;

private:
  /// Follows the lock file if nothing else answers questions.
  ExitCode followLock();
  /// Reports an error, unless this is a trial.
  ExitCode fail(ExitCode code, const llvm::Twine &why) const;
  bool isVerbose() const { return options.verbose && !state.isTrial; }
  /// While it lives, passes and code generators ask `decisions`.
  struct Asking {
    explicit Asking(Compilation &compilation);
    ~Asking();
    mlir::MLIRContext *context; // null: passes follow their rules
  };
  ExitCode runOnce(const Phase &last);
  /// Whether a phase failed because of a defect of the compiler, not because of
  /// the model or the options.
  bool isOwnFault(const Phase &phase, PhaseFailure failure) const;
  ExitCode runWithinLimit(const Phase &last);
  ExitCode importPhase(const Phase &last);
  std::string dumpPhase(const Phase &phase);
  /// The same for the phases after the plan: the LLVM IR of the kernels, and
  /// the manifest of the binary.
  ExitCode dumpCode(llvm::StringRef manifest);
  ExitCode describe(ArtifactInfo &info);
  ExitCode describeExport(ArtifactInfo &info);
  /// Checks the contracts of --require in a planned program.
  ExitCode checkContracts() const;
  /// Checks that no device of a planned program uses more than --memory-limit.
  ExitCode checkMemory() const;

  std::vector<std::unique_ptr<passes::Target>> otherTargets_;
  llvm::DefaultThreadPool pool_;
  mlir::MLIRContext context_;
  std::unique_ptr<DiagnosticPrinter> diagnostics_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::string symbol_, manifest_;
  std::map<std::string, std::string> kernelHashes_;
  std::unique_ptr<DecisionTable> ownDecisions_;
  std::unique_ptr<TraceWriter> trace_;
  LintLog lints_;
  /// Bytes of the limit that placement leaves free on each device, for what it
  /// cannot know (ReserveSearch.h).
  std::vector<int64_t> memoryReserves_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_DRIVER_H
