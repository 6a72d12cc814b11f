//===- Driver.h - from a model file to what was asked for -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What sinterc and sinter-run have in common: read a model, run the phases,
// emit. Targets arrive from the tools; nothing here knows a backend. Every
// function that fails has printed why, in one line on stderr.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_DRIVER_H
#define SINTER_COMPILER_DRIVER_DRIVER_H

#include "compiler/ExitCode.h"
#include "compiler/driver/ModelFile.h"
#include "compiler/emit/Artifact.h"
#include "compiler/lint/Lints.h"
#include "compiler/options/Options.h"
#include "passes/Target.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ThreadPool.h"

#include <functional>
#include <memory>

namespace sinter::compiler {

class DiagnosticPrinter;
struct Phase;
enum class PhaseFailure;

/// A kind of device that the tool can compile for.
struct TargetFactory {
  passes::DeviceKind kind;
  std::string description; // one line for --list-devices
  /// Null when `options` name no such machine; `error` says why.
  std::function<std::unique_ptr<passes::Target>(const Options &options,
                                                std::string &error)>
      create;
};

/// What options may name.
std::vector<passes::DeviceKind> kindsOf(llvm::ArrayRef<TargetFactory> targets);

/// The target that `options` ask for; null when there is none, which was
/// reported.
std::unique_ptr<passes::Target>
createTarget(const Options &options, llvm::ArrayRef<TargetFactory> targets);

/// What a program is compiled for: the devices that it may span, the default
/// one first, with the targets of their kinds.
struct TargetSet {
  std::unique_ptr<passes::Target> main; // of the first device; null: none
  std::vector<std::unique_ptr<passes::Target>> others;
  std::vector<passes::ProgramDevice> devices;

  TargetSet() = default;
  /// One device.
  TargetSet(std::unique_ptr<passes::Target> target);
};

/// The devices of --target, --place and --allow-cpu; without a `main` when
/// there is none such, which was reported.
TargetSet createTargets(const Options &options,
                        llvm::ArrayRef<TargetFactory> targets);

/// One line per target.
void printTargets(llvm::raw_ostream &os, llvm::ArrayRef<TargetFactory> targets);

/// One model on its way through the phases. Keeps everything that a compiled
/// program refers to.
class Compilation {
public:
  Compilation(const Options &options, TargetSet targets);
  ~Compilation();

  /// Asked where the program of a batch does not fit into --memory-limit: what
  /// its line says of batches that do.
  std::function<std::string(int64_t batch)> batchesThatFit;

  /// The options that no phase can serve are refused first.
  ExitCode checkOptions() const;
  /// Reads the model (unless `model` was filled by the caller) and runs the
  /// phases up to `last`, which is before "kernels".
  ExitCode run(const Phase &last);
  /// Whether run() has come through this phase.
  bool hasDone(llvm::StringRef phase) const;
  /// That a trainer can export what was imported.
  ExitCode checkExport();
  /// After run(plan): the phase "kernels" and the tables. Of several targets
  /// the first is emitted into an empty `program`; `others` are those that will
  /// be added to it after this one.
  ExitCode emit(CompiledProgram &program,
                llvm::ArrayRef<std::string> others = {});

  const Options &options;
  ModelFile model;
  std::unique_ptr<passes::Target> target; // of the first device
  std::vector<passes::ProgramDevice> devices;

  mlir::ModuleOp module() { return *module_; }
  /// The target of the program's first device: once ops are placed, this need
  /// not be the default one.
  const passes::Target &mainTarget() const;
  /// Kernels of every device of the program as text.
  mlir::FailureOr<passes::TargetCode> kernelText(passes::CodeForm form);
  mlir::MLIRContext &context() { return context_; }
  /// The identifier in the names of the artifact's symbols.
  const std::string &symbol() const { return symbol_; }
  /// Phases and the milliseconds they took.
  std::vector<std::pair<std::string, double>> times;
  /// With --time-report: prints them to stderr.
  void reportTimes() const;

private:
  ExitCode runOnce(const Phase &last);
  /// Whether what ended a phase is a defect of the compiler, not of the model
  /// or the options.
  bool isOwnFault(const Phase &phase, PhaseFailure failure) const;
  ExitCode runWithinLimit(const Phase &last);
  ExitCode importPhase(const Phase &last);
  std::string dumpPhase(const Phase &phase);
  ExitCode describe(ArtifactInfo &info);
  ExitCode describeExport(ArtifactInfo &info);
  /// What --require demands of a planned program.
  ExitCode checkContracts() const;
  /// That no device of a planned program takes more than --memory-limit.
  ExitCode checkMemory() const;

  std::vector<std::unique_ptr<passes::Target>> otherTargets_;
  llvm::DefaultThreadPool pool_;
  mlir::MLIRContext context_;
  std::unique_ptr<DiagnosticPrinter> diagnostics_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::string symbol_;
  LintLog lints_;
  /// Of the limit, for what placement cannot know: by device.
  std::vector<int64_t> memoryReserves_;
};

/// sinterc without its main; `calibrate` serves --calibrate (Calibration.h).
using Calibrate = std::function<ExitCode(
    Options &options, llvm::ArrayRef<TargetFactory> targets)>;
int sinterc(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets,
            const Calibrate &calibrate);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_DRIVER_H
