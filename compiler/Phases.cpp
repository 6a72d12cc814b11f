//===- Phases.cpp - the table of phases -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/Phases.h"

#include "compiler/checks/Contracts.h"
#include "compiler/checks/FormVerifiers.h"
#include "compiler/options/OptionValues.h"

#include "passes/Failure.h"
#include "passes/Passes.h"
#include "passes/layout/AlignContractions.h"
#include "passes/layout/KeepRounded.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

#include <chrono>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// The passes of each phase
//===----------------------------------------------------------------------===//

// Folds constants and removes ops that are not needed: at the end of the phases
// that make such ops.
static void addSimplifier(mlir::OpPassManager &pm,
                          bool keepDerivatives = false) {
  pm.addPass(passes::createFoldConstants());
  passes::SimplifyAlgebraOptions options;
  options.keepDerivatives = keepDerivatives;
  pm.addPass(passes::createSimplifyAlgebra(options));
}

/// The most trips of a scan that becomes straight code. Scans run on one
/// device.
static int64_t mostUnrolledTrips(const PhaseContext &context) {
  const Options &options = context.options;
  bool hasNoScans = options.devices.size() > 1 || !options.placeRules.empty() ||
                    !options.allowCpu.empty();
  return hasNoScans ? Options::kUnrollAll : options.unrollScans;
}

static std::vector<passes::ProgramDevice>
devicesOf(const PhaseContext &context) {
  if (!context.devices.empty())
    return context.devices.vec();
  return {{context.target.firstDevice(), &context.target}};
}

/// Whether the program runs on CPUs alone.
static bool isForHost(const PhaseContext &context) {
  return llvm::all_of(devicesOf(context), [](const auto &device) {
    return device.target->traits().isHost;
  });
}

static void buildSimplify(mlir::OpPassManager &pm,
                          const PhaseContext &context) {
  bool isDifferentiated = context.options.train.enabled;
  // Folding would turn quantised weights into floats.
  if (!isDifferentiated && isForHost(context))
    pm.addPass(passes::createNarrowProducts());
  pm.addPass(passes::createUnrollScans({mostUnrolledTrips(context)}));
  addSimplifier(pm, isDifferentiated);
  passes::RecognizeCompositesOptions recognition;
  recognition.keepScales = context.options.precisionPolicy() == "fp16";
  pm.addPass(passes::createRecognizeComposites(recognition));
  addSimplifier(pm, isDifferentiated);
  if (!context.state.quantization)
    return;
  addQuantization(pm, context.options, *context.state.quantization);
}

void compiler::addQuantization(mlir::OpPassManager &pm, const Options &options,
                               passes::QuantizeSettings settings) {
  settings.keepFp32 = options.keepFp32.joined();
  pm.addPass(passes::createQuantizeContractions(settings));
  pm.addPass(passes::createNarrowProducts());
  addSimplifier(pm);
}

/// Whether an option names single ops by their nodes, so that each op must stay
/// one of its own.
static bool namesSingleOps(const PhaseContext &context) {
  const Options &options = context.options;
  return !options.keepFp32.empty() || !options.precisionPlan.empty() ||
         !options.savePrecisionPlan.empty() ||
         !options.plannedPrecisions.empty() ||
         !context.state.calibrated.empty() || !options.placeRules.empty();
}

/// Whether each step rounds the weights to 16 bits, so that one rounded buffer
/// can hold those of several contractions side by side.
static bool roundsWeights(const Options &options) {
  return options.precisionPolicy() == "bf16" ||
         options.precisionPolicy() == "fp16";
}

/// Whether replicas divide float32 weights that are read in 16 bits.
static bool dividesWeights(const Options &options) {
  return roundsWeights(options) && options.train.enabled &&
         !options.train.request.shard.empty();
}

/// Whether the train phase merges contractions of trained weights. Messages of
/// replicas have one gradient for each weight.
static bool mergesTrained(const PhaseContext &context) {
  const Options &options = context.options;
  return roundsWeights(options) && !namesSingleOps(context) &&
         options.train.request.replicas <= 1;
}

static void buildTrain(mlir::OpPassManager &pm, const PhaseContext &context) {
  const TrainOptions &train = context.options.train;
  if (!train.enabled)
    return;
  passes::BuildTrainingOptions request = train.request;
  request.lossScale = context.options.lossScale().str();
  request.accumulate = context.state.accumulate;
  request.pairwise = context.options.isTopology();
  if (mergesTrained(context))
    pm.addNestedPass<mlir::func::FuncOp>(passes::createMergeContractions(
        &context.target, context.devices, context.options.precisionPolicy()));
  pm.addPass(passes::createBuildTraining(request));
  addSimplifier(pm);
}

/// The option that restricts the program to one device; "" if none does.
static std::string onlyOnOneDevice(const Options &options) {
  if (options.train.request.replicas > 1)
    return "--replicas=" + std::to_string(options.train.request.replicas);
  return options.remat == "all" ? "--remat=all" : "";
}

static void buildPlace(mlir::OpPassManager &pm, const PhaseContext &context) {
  passes::PlaceOpsOptions options;
  options.rules = context.options.placeRules;
  options.allowCpu = context.options.allowCpu.joined();
  options.memoryLimit = context.options.memoryLimitBytes;
  options.memoryReserves = context.memoryReserves;
  options.log = context.options.logPlacement && !context.state.isTrial;
  options.policy = context.options.precisionPolicy().str();
  options.onOneDevice = onlyOnOneDevice(context.options);
  pm.addPass(passes::createPlaceOps(devicesOf(context), options));
  addSimplifier(pm);
  // The precision of a contraction depends on whether a library computes it.
  pm.addPass(passes::createChoosePersistent(&context.target, context.devices,
                                            context.options.persistentKernel));
}

void compiler::addRoundings(mlir::OpPassManager &pm,
                            const PhaseContext &context) {
  const Options &options = context.options;
  passes::PrecisionSettings settings;
  settings.policy = options.precisionPolicy().str();
  settings.keepFp32 = options.keepFp32.joined();
  settings.overrides = options.plannedPrecisions;
  settings.calibrated = context.state.calibrated;
  pm.addPass(passes::createAssignPrecision(&context.target, settings));
}

static void buildPrecision(mlir::OpPassManager &pm,
                           const PhaseContext &context) {
  addRoundings(pm, context);
  addSimplifier(pm);
  pm.addNestedPass<mlir::func::FuncOp>(passes::createPlaceCasts());
}

static void buildLayout(mlir::OpPassManager &pm, const PhaseContext &context) {
  pm.addNestedPass<mlir::func::FuncOp>(passes::createAssignLayouts());
  addSimplifier(pm);
  pm.addNestedPass<mlir::func::FuncOp>(
      passes::createMergeContractions(&context.target, context.devices));
  // Convolutions whose operands were transposed read them behind casts again.
  pm.addNestedPass<mlir::func::FuncOp>(passes::createPlaceCasts());
  pm.addNestedPass<mlir::func::FuncOp>(
      passes::createAlignContractions(&context.target, context.devices));
  pm.addNestedPass<mlir::func::FuncOp>(passes::createMaskPadding());
  // What was padded may be constant. Algebra would undo the transposes.
  if (context.target.traits().hasTensorCores)
    pm.addPass(passes::createFoldConstants());
  pm.addNestedPass<mlir::func::FuncOp>(passes::createPlaceCasts());
  if (isForHost(context))
    pm.addNestedPass<mlir::func::FuncOp>(passes::createPackScanWeights());
  // A limit on memory matters more than time.
  const bool divides = dividesWeights(context.options);
  if (divides || !context.options.memoryLimitBytes)
    pm.addPass(passes::createKeepRounded(&context.target, context.devices,
                                         /*alsoOnHost=*/divides));
}

static void buildDistribute(mlir::OpPassManager &pm,
                            const PhaseContext &context) {
  if (dividesWeights(context.options))
    pm.addPass(passes::createDivideWeights());
  pm.addNestedPass<mlir::func::FuncOp>(passes::createBucketCollectives());
}

static void buildFuse(mlir::OpPassManager &pm, const PhaseContext &context) {
  pm.addPass(passes::createOutlineScans());
  pm.addPass(passes::createSplitDevices());
  mlir::OpPassManager &functions = pm.nest<mlir::func::FuncOp>();
  functions.addPass(passes::createFuseAttention());
  functions.addPass(
      passes::createChooseCalls(&context.target, context.devices));
  functions.addPass(passes::createChunkRows(&context.target, context.devices));
  functions.addPass(
      passes::createSplitAttention(&context.target, context.devices));
  functions.addPass(passes::createSplitContractions(&context.target));
  // Contractions come first: a library call may include a whole reduction.
  functions.addPass(
      passes::createFuseEpilogues(&context.target, context.devices));
  functions.addPass(passes::createSplitReductions());
  functions.addPass(passes::createSplitScans());
  functions.addPass(passes::createFuseLoops());
  functions.addPass(passes::createFuseRows(&context.target, context.devices));
  functions.addPass(passes::createFuseOutputs());
  functions.addPass(passes::createFuseCasts());
  functions.addPass(passes::createFuseSiblings(&context.target));
  functions.addPass(passes::createFuseStages(&context.target, context.devices));
  functions.addPass(passes::createFusePersistent());
  functions.addPass(passes::createExplainFusion());
  pm.addPass(passes::createShareKernels());
}

static void buildRemat(mlir::OpPassManager &pm, const PhaseContext &context) {
  const Options &options = context.options;
  bool isCpu = context.target.traits().isHost;
  if (options.remat == "none" ||
      (options.remat == "auto" && !options.memoryLimitBytes && !isCpu))
    return;
  passes::RematerializeOptions pass;
  // No program fits into one byte: everything that saves memory is recomputed.
  pass.memoryLimit = options.remat == "all" ? 1 : options.memoryLimitBytes;
  pass.workspaceBytes = options.workspaceBytes;
  // Library calls of the gradient stream have a workspace of their own.
  if (options.train.enabled && options.gradientStream != "off" && !isCpu)
    pass.workspaces = 2;
  pass.hasOwnMemory = !isCpu;
  // On a GPU time matters more than memory: only a limit causes recomputation.
  constexpr double kSpareTime = 0.03;
  if (isCpu && options.remat == "auto")
    pass.spareTime = kSpareTime;
  pm.addPass(passes::createRematerialize(pass));
}

static void buildPlan(mlir::OpPassManager &pm, const PhaseContext &context) {
  const Options &options = context.options;
  passes::PlanMemoryOptions pass;
  // Of several targets, a CPU has no streams.
  bool isForGpu = !context.target.traits().isHost || !context.devices.empty();
  pass.gradientStream = isForGpu ? options.gradientStream : "off";
  pass.hasOwnMemory = !context.target.traits().isHost;
  // The program has been made to fit without a gradient stream and chains.
  if (options.memoryLimitBytes > 0)
    pass.growth = 0;
  // The memory between the convolutions of a chain belongs to the call. Loops
  // compute no chains.
  pass.chains = options.allowsLibrary("onednn") &&
                options.memoryLimitBytes == 0 &&
                llvm::none_of(options.contracts, [](const Contract &contract) {
                  const StringRef name = nameOf(contract);
                  return name == "peak" || name == "arena";
                });
  pm.addPass(passes::createPlanMemory(pass));
}

//===----------------------------------------------------------------------===//
// Options that each phase refuses
//===----------------------------------------------------------------------===//

static bool mayUseGpu(const Options &options, const CompileState &state) {
  auto isGpu = [&](StringRef device) { return !options.isHost(device); };
  return isGpu(state.target) || llvm::any_of(options.devices, isGpu) ||
         llvm::any_of(options.placeRules, [&](StringRef rule) {
           return isGpu(rule.rsplit('=').second);
         });
}

static std::string refuseStates(const Options &options, const CompileState &) {
  if (!options.stateRules.empty() && options.train.enabled)
    return "--state is for inference: a trainer keeps no value of a batch for "
           "the next";
  return "";
}

static std::string refuseQuantization(const Options &options,
                                      const CompileState &state) {
  if (!options.isQuantized())
    return "";
  std::string flag = options.quantize.enabled
                         ? "--quantize=int8"
                         : "--precision-plan with the policy int8";
  if (options.train.enabled)
    return flag + " is for inference: codes of 8 bits have no gradient";
  if (options.precisionPolicy() != "fp32")
    return flag +
           " contradicts --precision=" + options.precisionPolicy().str() +
           ": what is not quantised stays float32";
  if (mayUseGpu(options, state))
    return flag + " needs a program for the CPU alone: only the CPU has "
                  "products of 8-bit integers";
  if (options.quantize.enabled && options.plannedQuantization)
    return "--precision-plan has the policy int8 and its ranges: leave out "
           "--quantize and --calibrate";
  if (options.quantize.enabled && options.calibrate.empty())
    return flag + " needs ranges: --calibrate=DATA, or a --precision-plan that "
                  "holds them";
  if (options.verifiesNumbers)
    return "--verify=numeric compares with float32, which " + flag +
           " leaves: not yet";
  return "";
}

static std::string refusePrecision(const Options &options,
                                   const CompileState &state) {
  if (!options.precision.empty() && !options.plannedPolicy.empty() &&
      options.precision != options.plannedPolicy)
    return "--precision=" + options.precision +
           " contradicts --precision-plan, whose policy is " +
           options.plannedPolicy;
  StringRef policy = options.precisionPolicy();
  if (policy == "tf32" && !mayUseGpu(options, state))
    return "--precision=tf32: a CPU has no tf32; it needs --target=cuda or sim";
  if (!options.train.lossScale.empty() && !options.train.enabled)
    return "--loss-scale needs --train";
  return "";
}

static std::string refusePlan(const Options &options,
                              const CompileState &state) {
  if (options.gradientStream != "on")
    return "";
  if (!options.train.enabled)
    return "--gradient-stream=on needs --train";
  if (!mayUseGpu(options, state) &&
      llvm::all_of(options.targets,
                   [&](StringRef target) { return options.isHost(target); }))
    return "--gradient-stream=on: the program is for the CPU, which has no "
           "streams";
  return "";
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static const Phase phases[] = {
    {"import", "reads the model; all shapes are static from here on", nullptr,
     verifyImported, refuseStates, kExitUsage},
    {"simplify",
     "folds constants, simplifies algebra, recognizes composites; with "
     "--quantize: quantises contractions",
     buildSimplify, verifySimplified, refuseQuantization, kExitFailed},
    {"train", "for a trainer: adds the loss, the gradients and the optimizer",
     buildTrain, verifyTrained, nullptr, kExitUsage},
    {"place",
     "chooses a device for each op and inserts copies; decomposes composites "
     "that the device does not compute as a whole",
     buildPlace, verifyPlaced, nullptr, kExitUnsupported},
    {"precision",
     "with --precision: inserts casts, so that values are stored in 16 bits "
     "and computed in float32",
     buildPrecision, verifyPrecision, refusePrecision, kExitFailed},
    {"layout",
     "makes convolutions channels-last where that is faster; merges products "
     "of the same rows",
     buildLayout, verifyLayout, nullptr, kExitFailed},
    {"distribute",
     "with several replicas: divides weights (--shard), groups arrays into "
     "messages",
     buildDistribute, verifyDistributed, nullptr, kExitFailed},
    {"fuse", "groups ops into kernels and library calls", buildFuse,
     verifyFused, nullptr, kExitFailed},
    {"remat",
     "computes values a second time instead of keeping them, to save memory",
     // It clones whole fusions: their form holds.
     buildRemat, verifyFused, nullptr, kExitFailed},
    {"plan", "chooses the order of commands, streams and addresses", buildPlan,
     verifyPlanned, refusePlan, kExitFailed},
    {"kernels", "generates machine code for each distinct kernel", nullptr,
     nullptr, nullptr, kExitFailed},
    {"binary", "writes the output file: tables, constants, code", nullptr,
     nullptr, nullptr, kExitFailed},
};

llvm::ArrayRef<Phase> compiler::phaseTable() { return phases; }

const Phase *compiler::findPhase(StringRef name) {
  for (const Phase &phase : phases)
    if (name == phase.name)
      return &phase;
  return nullptr;
}

size_t compiler::phaseIndex(const Phase &phase) { return &phase - phases; }

//===----------------------------------------------------------------------===//
// Running the phases
//===----------------------------------------------------------------------===//

/// Runs the form verifiers of phases [first, last], in order.
static mlir::LogicalResult verifyForms(mlir::ModuleOp module,
                                       const PhaseContext &context,
                                       const Phase &first, const Phase &last) {
  for (const Phase &phase : llvm::make_range(&first, &last + 1))
    if (phase.verifyForm && failed(phase.verifyForm(module, context)))
      return mlir::failure();
  return mlir::success();
}

static ExitCode exitCodeOf(mlir::ModuleOp module, const Phase &phase) {
  auto kind = module->getAttrOfType<mlir::StringAttr>(passes::kFailureAttr);
  if (!kind)
    return phase.failure;
  return kind.getValue() == passes::kMemoryFailure        ? kExitMemory
         : kind.getValue() == passes::kUnsupportedFailure ? kExitUnsupported
                                                          : kExitUsage;
}

/// The exit code of a train phase that failed with `code`: also reports ops
/// that could not be placed, so that the user sees both at once.
static ExitCode withUnsupported(mlir::ModuleOp module,
                                const PhaseContext &context, ExitCode code) {
  return failed(passes::checkSupport(module, devicesOf(context)))
             ? kExitUnsupported
             : code;
}

ExitCode compiler::runPhases(mlir::ModuleOp module, const PhaseContext &context,
                             const Phase &first, const Phase &last,
                             const PhaseObserver &observer) {
  using Clock = std::chrono::steady_clock;
  for (size_t i = phaseIndex(first); i <= phaseIndex(last); ++i) {
    const Phase &phase = phases[i];
    Clock::time_point begin = Clock::now();
    auto hasFailed = [&](PhaseFailure failure) {
      if (observer.failed)
        observer.failed(phase, module, failure);
    };
    if (observer.begin)
      observer.begin(phase);
    if (phase.build) {
      mlir::PassManager pm(module.getContext());
      phase.build(pm, context);
      if (observer.prepare)
        observer.prepare(phase, pm);
      if (failed(pm.run(module))) {
        ExitCode code = exitCodeOf(module, phase);
        if (phase.build == buildTrain)
          code = withUnsupported(module, context, code);
        hasFailed(PhaseFailure::Pass);
        return code;
      }
    }
    // Later phases keep the earlier forms. The graph ends with remat: plan
    // makes another language of it.
    bool isEnd = i == phaseIndex(last) || phase.build == buildRemat;
    if ((phase.verifyForm && failed(phase.verifyForm(module, context))) ||
        (isEnd && failed(verifyForms(module, context, first, phase)))) {
      hasFailed(PhaseFailure::Form);
      return kExitFailed;
    }
    std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    if (observer.done)
      observer.done(phase, module, time.count());
    if (observer.check)
      if (ExitCode code = observer.check(phase, module))
        return code;
  }
  return kExitDone;
}

namespace {
// The form verifier of a phase as a pass, for sinter-opt.
class VerifyFormPass
    : public mlir::PassWrapper<VerifyFormPass,
                               mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyFormPass)
  VerifyFormPass(const Phase &phase, const PhaseContext &context)
      : phase_(phase), context_(context) {}
  StringRef getName() const override { return "VerifyForm"; }
  void runOnOperation() override {
    if (phase_.verifyForm &&
        failed(phase_.verifyForm(getOperation(), context_)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  const Phase &phase_;
  const PhaseContext &context_;
};
} // namespace

void compiler::registerPhasePipelines(const PhaseContext &context) {
  for (const Phase &phase : phases)
    mlir::registerPassPipeline(
        std::string("sinter-phase-") + phase.name, phase.summary,
        [&phase, &context](
            mlir::OpPassManager &pm, StringRef options,
            llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> error)
            -> mlir::LogicalResult {
          if (!options.empty())
            return error("a phase takes no options; see --phase-options");
          if (phase.build)
            phase.build(pm, context);
          pm.addPass(std::make_unique<VerifyFormPass>(phase, context));
          return mlir::success();
        },
        [](llvm::function_ref<void(const mlir::detail::PassOptions &)>) {});
}
