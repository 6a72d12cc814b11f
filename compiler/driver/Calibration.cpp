//===- Calibration.cpp - ops too wide for fp16 ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Calibration.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/HostProgram.h"
#include "compiler/driver/RangeProbes.h"
#include "passes/precision/AssignPrecision.h"
#include "passes/precision/PrecisionReport.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

namespace {

constexpr double kLargestHalf = 65504;
/// Values change during training: the largest value times this must still be
/// in range.
constexpr double kHeadroom = 4;
/// Largest loss, as a share of the sum of magnitudes. Rounding normal numbers
/// loses 2^-13.
constexpr double kMostLost = 1.0 / 256;
/// Loss scales in order of preference: GradScaler's initial scale, then those
/// that it could reach.
constexpr double kScales[] = {65536, 1048576, 4096,      16777216,
                              256,   16,      268435456, 1};

/// Why a value with this range must not be rounded to fp16; "" if it may.
std::string riskOf(const ValueRange16 &range) {
  if (!(range.largest * kHeadroom <= kLargestHalf))
    return "reach " + shortNumber(range.largest) + ", fp16 ends at 65504";
  if (range.sum > 0 && !(range.lost <= kMostLost * range.sum))
    return "reach " + shortNumber(range.largest) +
           " only, of which fp16 loses " +
           shortNumber(100 * range.lost / range.sum) + " %";
  return "";
}

class Calibration {
public:
  Calibration(const Options &options, CompileState &state, Compilation &placed,
              llvm::ArrayRef<TargetFactory> targets, const ProgramRunner &run)
      : options(options), state(state), placed(placed), targets(targets),
        runner(run) {}

  ExitCode run() {
    findNarrow();
    auto function =
        placed.module().lookupSymbol<func::FuncOp>(SINTER_ENTRY_STEP);
    for (const char *name : {SINTER_ENTRY_GRAD, SINTER_ENTRY_MAIN})
      if (!function)
        function = placed.module().lookupSymbol<func::FuncOp>(name);
    if (!function)
      return kExitDone;
    data = {options.calibrate, labelsOf(function), options.train.enabled};
    RangeProbes probes(function, narrow);
    if (ExitCode code = measure(probes))
      return code;
    keep(probes);
    llvm::errs() << options.tool << ": calibration: " << state.calibrated.size()
                 << " of " << narrow.size()
                 << " ops that fp16 would round stay float32\n";
    return kExitDone;
  }

private:
  ExitCode failed(const llvm::Twine &text) {
    reportError(options, "--calibrate=" + options.calibrate + ": " + text);
    return kExitUsage;
  }

  /// The labels: the last input of a function that trains with a loss.
  std::string labelsOf(func::FuncOp function) {
    auto training = exec::TrainingAttr::of(placed.module());
    std::string last;
    if (!training || training.getLoss().getValue() == SINTER_LOSS_NONE)
      return last;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<mlir::StringAttr>(
              i, ir::SinterDialect::kInputAttr))
        last = name.str();
    return last;
  }

  /// Finds the ops that the policy computes in 16 bits.
  void findNarrow() {
    OwningOpRef<ModuleOp> copy = placed.module().clone();
    passes::PrecisionSettings settings;
    settings.policy = options.precisionPolicy().str();
    settings.keepFp32 = options.keepFp32.joined();
    settings.overrides = options.plannedPrecisions;
    PassManager pm(copy->getContext());
    pm.addPass(passes::createAssignPrecision(placed.target.get(), settings));
    if (succeeded(pm.run(*copy)))
      for (const passes::PrecisionEntry &entry : passes::precisionReport(*copy))
        if (entry.precision == settings.policy)
          narrow.insert(entry.key());
  }

  /// Fills ranges, one list per loss scale.
  ExitCode measure(RangeProbes &probes) {
    ExitCode code = kExitDone;
    std::string wrong;
    std::unique_ptr<Jit> jit = compileForHost(
        probes.module(), options, *findPhase("place"), targets, code, wrong);
    if (!jit)
      return wrong.empty() ? code : failed(wrong);

    scales.assign(std::begin(kScales), std::end(kScales));
    std::vector<GivenInputs> runs;
    if (!probes.setLossScale(1))
      scales = {0}; // the loss scale is fixed or absent
    for (double scale : scales) {
      probes.setLossScale(scale);
      runs.push_back(probes.given());
    }
    std::vector<std::vector<std::vector<char>>> outputs;
    std::string problem = runner(*jit->artifact(), data, runs, outputs);
    if (!problem.empty())
      return failed(problem);
    for (const auto &list : outputs)
      ranges.push_back(probes.read(list));
    return kExitDone;
  }

  /// Chooses the loss scale that leaves most values in 16 bits, and records the
  /// ops that must stay float32 with it.
  void keep(const RangeProbes &probes) {
    size_t best = 0, fewest = SIZE_MAX;
    for (size_t i = 0; i < ranges.size(); ++i) {
      size_t atRisk = llvm::count_if(ranges[i], [](const ValueRange16 &range) {
        return !riskOf(range).empty();
      });
      if (atRisk < fewest) {
        best = i;
        fewest = atRisk;
      }
    }
    std::string at = scales[best] > 0
                         ? " at a loss scale of " + shortNumber(scales[best])
                         : "";
    llvm::StringSet<> seen;
    auto add = [&](const std::string &key, const std::string &reason) {
      if (seen.insert(key).second)
        state.calibrated.emplace_back(key, reason);
    };
    for (auto [range, probe] : llvm::zip_equal(ranges[best], probes.probes())) {
      std::string risk = riskOf(range);
      if (risk.empty())
        continue;
      if (!probe.key.empty())
        add(probe.key, "in the calibration batch its values " + risk + at);
      for (const std::string &reader : probe.readers)
        add(reader, "in the calibration batch its operands " + risk + at);
    }
    // Evaluation computes the same values.
    auto inEval = [](StringRef key) {
      return ("eval/" + key.split('/').second.rsplit('/').first).str();
    };
    for (size_t i = 0, count = state.calibrated.size(); i < count; ++i) {
      auto [key, reason] = state.calibrated[i];
      for (const auto &other : narrow)
        if (other.getKey().rsplit('/').first == inEval(key))
          add(other.getKey().str(), reason);
    }
    llvm::sort(state.calibrated);
  }

  const Options &options;
  CompileState &state;
  Compilation &placed;
  llvm::ArrayRef<TargetFactory> targets;
  const ProgramRunner &runner;
  CalibrationData data;
  llvm::StringSet<> narrow; // keys
  std::vector<double> scales;
  std::vector<std::vector<ValueRange16>> ranges;
};

} // namespace

ExitCode compiler::calibrate(const Options &options, CompileState &state,
                             llvm::ArrayRef<TargetFactory> targets,
                             const ProgramRunner &run) {
  auto refuse = [&](const llvm::Twine &why) {
    reportError(options, "--calibrate " + why);
    return kExitUsage;
  };
  if (options.precisionPolicy() != "fp16")
    return refuse("needs --precision=fp16 or --quantize=int8");
  if (options.targets.size() > 1)
    return refuse("takes only one target");
  if (!options.stateRules.empty())
    return refuse(
        "does not know what the states of --state will hold: not yet");
  TargetSet set = createTargets(options, state, targets);
  if (!set.main)
    return kExitUsage;
  if (set.devices.size() > 1)
    return refuse("needs a program on one device");
  Compilation placed(options, state.asTrial(), std::move(set));
  if (ExitCode code = placed.checkOptions())
    return code;
  // The compilation itself reports what is wrong with the model.
  if (placed.run(*findPhase("place")) != kExitDone)
    return kExitDone;
  return Calibration(options, state, placed, targets, run).run();
}
