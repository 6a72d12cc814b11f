//===- Driver.cpp - from a model file to the output -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Driver.h"
#include "compiler/checks/Contracts.h"
#include "compiler/driver/MemoryLimit.h"

#include "compiler/Dialects.h"
#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/checks/NameChecks.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Lock.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/ModelStates.h"
#include "compiler/driver/PhaseFile.h"
#include "compiler/driver/RemarkFile.h"
#include "compiler/driver/ReserveSearch.h"
#include "compiler/emit/OutputFile.h"
#include "compiler/import/ExportMode.h"
#include "compiler/options/PrecisionPlan.h"
#include "compiler/trace/OpNumbers.h"
#include "compiler/trace/TraceWriter.h"
#include "compiler/verify/NumericCheck.h"
#include "ir/Remarks.h"
#include "passes/Failure.h"
#include "passes/place/PlacementReport.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

static std::string symbolName(const Options &options) {
  if (!options.name.empty())
    return options.name;
  bool isBinary = llvm::is_contained({"lib", "obj"}, options.emitKind());
  StringRef stem = llvm::sys::path::stem(options.output);
  return isBinary && !stem.empty() ? identifier(stem, "model")
                                   : identifier(modelStem(options), "model");
}

Compilation::Compilation(const Options &options, CompileState state,
                         TargetSet targets)
    : options(options), state(std::move(state)),
      target(std::move(targets.main)), devices(std::move(targets.devices)),
      otherTargets_(std::move(targets.others)),
      pool_(llvm::hardware_concurrency(options.jobs)),
      context_(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
  // Keeps the context's locks on even with one thread: kernels are emitted in
  // parallel.
  context_.setThreadPool(pool_);
  context_.printOpOnDiagnostic(false);
  context_.printStackTraceOnDiagnostic(false);
  context_.loadAllAvailableDialects();
  diagnostics_ =
      std::make_unique<DiagnosticPrinter>(&context_, options, this->state);
  symbol_ = symbolName(options);
  if (options.verifiesNumbers && !this->state.isTrial)
    afterPhase = verifyNumbers(options);
}

Compilation::Asking::Asking(Compilation &compilation)
    : context(compilation.decisions ? &compilation.context_ : nullptr) {
  if (context)
    compilation.decisions->attach(context);
}

Compilation::Asking::~Asking() {
  if (context)
    DecisionTable::detach(context);
}

std::string Compilation::machine() const {
  for (const passes::ProgramDevice &device : devices)
    if (llvm::StringRef name = device.target->machine(); !name.empty())
      return name.str();
  return "";
}

// It may hold modules, which must not outlive the context.
Compilation::~Compilation() { afterPhase = nullptr; }

const Trace *Compilation::trace() const {
  return trace_ ? &trace_->trace() : nullptr;
}

ExitCode Compilation::fail(ExitCode code, const llvm::Twine &why) const {
  reportError(options, state, why);
  return code;
}

ExitCode Compilation::checkOptions() const {
  for (const Phase &phase : phaseTable()) {
    std::string why = phase.refuse ? phase.refuse(options, state) : "";
    if (!why.empty())
      return fail(kExitUsage, why);
  }
  return kExitDone;
}

/// Writes the file of a phase in the folder of --dump-phases, with `extension`.
static std::string
writeDump(const Options &options, const Phase &phase, StringRef extension,
          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (std::error_code error =
          llvm::sys::fs::create_directories(options.dumpPhases))
    return shown(options.dumpPhases) + ": " + error.message();
  std::string name;
  llvm::raw_string_ostream(name)
      << llvm::format("%02zu-", phaseIndex(phase) + 1) << phase.name
      << extension;
  llvm::SmallString<128> path(options.dumpPhases);
  llvm::sys::path::append(path, name);
  return writeFile(path, write);
}

std::string Compilation::dumpPhase(const Phase &phase) {
  return writeDump(options, phase, ".mlir", [&](llvm::raw_ostream &os) {
    // Local scope omits the weights, which may be gigabytes of hex digits.
    mlir::OpPrintingFlags flags =
        mlir::OpPrintingFlags().useLocalScope().enableDebugInfo();
    if (trace_) {
      mlir::OwningOpRef<mlir::ModuleOp> copy = module_->clone();
      eraseNumbers(*copy);
      copy->print(os, flags);
    } else {
      module_->print(os, flags);
    }
    os << "\n";
  });
}

ExitCode Compilation::dumpCode(StringRef manifest) {
  if (options.dumpPhases.empty() || !state.writesFiles)
    return kExitDone;
  auto code = kernelText(passes::CodeForm::Llvm);
  if (failed(code))
    return kExitFailed;
  std::string problem =
      writeDump(options, *findPhase("kernels"), ".ll",
                [&](llvm::raw_ostream &os) { os << code->text; });
  if (problem.empty())
    problem = writeDump(options, *findPhase("binary"), ".json",
                        [&](llvm::raw_ostream &os) { os << manifest << "\n"; });
  return problem.empty() ? kExitDone : fail(kExitUsage, problem);
}

ExitCode Compilation::importPhase(const Phase &last) {
  if (!model)
    if (ExitCode code = readModel(options, model))
      return code;
  if (ExitCode code = importModel(options, state, *model, &context_, module_))
    return code;
  if (ExitCode code = tieStates(options, state, *module_))
    return code;
  std::string why = model->isModule()
                        ? whyNotContinued(*module_, options, devices, last)
                        : "";
  if (!why.empty())
    return fail(kExitUsage, shown(options.model) + ": " + why);
  return checkNames(options, state, *module_, model->heldNames());
}

/// Whether there is a plan after phase `last`.
static bool isPlanned(const Phase &last) {
  return phaseIndex(last) >= phaseIndex(*findPhase("plan"));
}

// Tries several placements; only the last try prints anything.
ExitCode Compilation::runWithinLimit(const Phase &last) {
  ReserveSearch search(devices, options.memoryLimitBytes);
  while (true) {
    times.clear();
    lints_.clear();
    diagnostics_->hold();
    memoryReserves_ = search.reserves();
    ExitCode code = runOnce(last);
    if (code == kExitMemory && search.isTooMuch())
      continue; // the reserves left no room for weights
    if (code != kExitDone)
      return code;
    std::vector<DeviceMemory> memory =
        memoryOf(*module_, options, mainTarget().firstDevice());
    auto over = llvm::find_if(memory, [&](const DeviceMemory &device) {
      return device.excess(options) > 0;
    });
    if (over == memory.end() ||
        !search.exceeds(over->device, over->excess(options)))
      return code;
  }
}

ExitCode Compilation::followLock() {
  if (decisions || options.lockfile.empty())
    return kExitDone;
  if (!options.locked && !state.isTrial)
    return fail(kExitUsage, shown(options.lockfile) +
                                ": there is no such file; sinterc writes it");
  std::string wrong = makeTable(options, ownDecisions_);
  decisions = ownDecisions_.get();
  return wrong.empty() ? kExitDone : fail(kExitUsage, wrong);
}

ExitCode Compilation::run(const Phase &last) {
  if (ExitCode code = followLock())
    return code;
  bool isLimited = options.memoryLimitBytes > 0 && isPlanned(last);
  ExitCode code =
      isLimited && devices.size() > 1 ? runWithinLimit(last) : runOnce(last);
  diagnostics_->release();
  if (module_ && options.logPlacement && !state.isTrial)
    for (const passes::PlacementRegion &region :
         passes::placementReport(*module_))
      llvm::errs() << region.line() << "\n";
  if (code == kExitDone && isVerbose())
    printStateTable(llvm::errs(), *module_);
  if (!lints_.print(options) && code == kExitDone)
    code = kExitFailed;
  if (code == kExitDone && isPlanned(last))
    code = checkMemory();
  return code == kExitDone && isPlanned(last) ? checkContracts() : code;
}

/// Whether the error that ended a phase came from the verifier, which runs
/// after every pass: verifying again gives the same error.
static bool isOfVerifier(mlir::ModuleOp module, StringRef firstError) {
  bool isSame = false;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        isSame |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
                  diagnostic.str() == firstError;
        return mlir::success();
      });
  return failed(mlir::verify(module)) && isSame;
}

bool Compilation::isOwnFault(const Phase &phase, PhaseFailure failure) const {
  // Modules written by hand may lack what an importer adds.
  bool isImported = !model->isModule();
  if (failure == PhaseFailure::Form)
    return isImported || phase.failure != kExitUsage;
  mlir::ModuleOp module = *module_;
  std::string first = diagnostics_->firstError();
  if (module->hasAttr(passes::kFailureAttr))
    return false;
  return first.empty() || isOfVerifier(module, first) ||
         (isImported && phase.failure == kExitFailed);
}

ExitCode Compilation::runOnce(const Phase &last) {
  auto begin = std::chrono::steady_clock::now();
  trace_.reset();
  const bool writesTrace = !options.trace.empty() && state.writesFiles;
  const bool wantsTrace = writesTrace || keepsTrace;
  RemarkFile remarks(options, state);
  // A trace begins with the module that the importer makes.
  std::vector<ir::Remark> imported;
  if (remarks.isWanted() || wantsTrace)
    ir::RemarkSink::attach(
        &context_,
        [&](const ir::Remark &remark) { imported.push_back(remark); },
        remarks.wantsDetails() || wantsTrace);
  auto detach = llvm::make_scope_exit([&] {
    ir::RemarkSink::attach(&context_, {});
    if (trace_)
      trace_->detach();
  });
  if (ExitCode code = importPhase(last))
    return code;
  times.addPhaseSince("import", begin);
  PhaseContext phases{options,         *target, devices,
                      memoryReserves_, state,   model->isModule()};

  if (decisions)
    decisions->begin(state.target);
  Asking asking(*this);
  if (wantsTrace)
    trace_ = std::make_unique<TraceWriter>(*module_, options.model);
  auto take = [&](const ir::Remark &remark) {
    remarks.take(remark);
    if (trace_)
      trace_->take(remark);
  };
  llvm::for_each(imported, take);
  if (remarks.isWanted() || trace_)
    ir::RemarkSink::attach(&context_, take, remarks.wantsDetails() || trace_);

  PhaseObserver observer;
  std::string problem;
  bool isOwn = false;
  observer.begin = [&](const Phase &) { diagnostics_->collect(); };
  observer.failed = [&](const Phase &phase, mlir::ModuleOp,
                        PhaseFailure failure) {
    isOwn = isOwnFault(phase, failure);
    diagnostics_->settle(isOwn ? phase.name : "");
  };
  observer.prepare = [&](const Phase &phase, mlir::PassManager &pm) {
    // Verifying after every pass finds the pass that broke the module; it costs
    // little.
    pm.enableVerifier(true);
    if (options.timeReport)
      times.attach(pm, phase.name);
    if (!trace_)
      return;
    trace_->beginPhase(phase.name);
    trace_->attach(pm);
  };
  observer.done = [&](const Phase &phase, mlir::ModuleOp module,
                      double milliseconds) {
    diagnostics_->settle();
    lints_.look(phase.name, {options, state, module, !target->traits().isHost});
    if (StringRef(phase.name) == "import")
      module.walk([](mlir::Operation *op) { op->removeAttr(kInferenceAttr); });
    if (StringRef(phase.name) != "import")
      times.addPhase(phase.name, milliseconds);
    if (trace_)
      trace_->endPhase(&phase == &last);
    if (!options.dumpPhases.empty() && state.writesFiles && problem.empty())
      problem = dumpPhase(phase);
  };
  if (afterPhase)
    observer.check = [&](const Phase &phase, mlir::ModuleOp module) {
      return afterPhase(phase, module, phases);
    };
  ExitCode code =
      runPhases(*module_, phases, phaseTable().front(), last, observer);
  if (isOwn)
    code = kExitFailed;
  if (code == kExitDone && isPlanned(last))
    for (const DeviceMemory &device :
         memoryOf(*module_, options, mainTarget().firstDevice()))
      ir::remark("memory", "peak", mlir::ModuleOp(*module_).getLoc(),
                 device.device + ": " + llvm::Twine(device.bytes.total()) +
                     " bytes, of which arena " +
                     llvm::Twine(device.bytes.arena));
  if (code == kExitDone && isPlanned(last) &&
      (isVerbose() || !options.remarks.empty() || trace_))
    remarkAssemblers(*module_, devices);
  if (writesTrace && problem.empty())
    problem = writeFile(options.trace, [&](llvm::raw_ostream &os) {
      trace_->trace().write(os);
    });
  if (code == kExitDone && problem.empty() && state.writesFiles &&
      !options.savePrecisionPlan.empty())
    problem =
        writePrecisionPlan(options.savePrecisionPlan, options.planPolicy(),
                           passes::precisionReport(*module_));
  if (problem.empty())
    problem = remarks.write(diagnostics_->out());
  if (!problem.empty())
    return fail(code == kExitDone ? kExitUsage : code, problem);
  return code;
}

ExitCode Compilation::checkMemory() const {
  std::vector<DeviceMemory> memory =
      memoryOf(*module_, options, mainTarget().firstDevice());
  if (options.memoryLimitBytes) {
    std::string problem =
        whyTooLarge(*module_, options, memory, batchesThatFit);
    if (!problem.empty())
      return fail(kExitMemory, problem);
  }
  if (!state.isTrial && (options.memoryLimitBytes || options.verbose))
    for (const DeviceMemory &device : memory)
      llvm::errs() << options.tool << ": peak memory of "
                   << (options.train.request.replicas > 1 ? "a replica on "
                                                          : "")
                   << memoryText(device) << "\n";
  return kExitDone;
}

ExitCode Compilation::checkContracts() const {
  if (state.isTrial) // contracts apply only to the final program
    return kExitDone;
  std::vector<std::string> broken =
      brokenContracts(options.contracts, *module_);
  for (const std::string &line : broken)
    reportError(options, line);
  return broken.empty() ? kExitDone : kExitContract;
}

const passes::Target &Compilation::mainTarget() const {
  return *passes::targetOf(*module_, 0, devices, target.get());
}

bool Compilation::hasDone(StringRef phase) const {
  return times.hasPhase(phase);
}

void Compilation::reportTimes() const {
  if (options.timeReport)
    times.print(llvm::errs());
}
