//===- NumericCheck.cpp - the numbers of every phase ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/NumericCheck.h"

#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/trace/TraceWriter.h"
#include "compiler/verify/GradientCheck.h"
#include "compiler/verify/PassReplay.h"
#include "compiler/verify/StepCheck.h"
#include "compiler/verify/StepStates.h"

#include "sinter/program_names.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

FindingFields NumericFinding::fields() const {
  return {
      {"phase", phase},
      {"pass", pass},
      {"pattern", patternAt.empty() ? pattern : pattern + " on " + patternAt},
      {"op", culprit.op},
      {"nodes", culprit.nodes},
      {"value", culprit.text},
      {"result", result}};
}

std::string NumericFinding::line() const {
  std::string line;
  const std::string lines = linesOf(fields());
  for (StringRef rest = StringRef(lines).trim(); !rest.empty();) {
    auto [first, others] = rest.split('\n');
    auto [name, value] = first.split(' ');
    line += (line.empty() ? "" : ", ") + name.str() + " " + value.trim().str();
    rest = others;
  }
  return line;
}

std::function<ExitCode(const Phase &, ModuleOp, const PhaseContext &)>
compiler::verifyNumbers(const Options &options) {
  struct State {
    explicit State(const Options &options) : check(options, given) {}
    GivenArrays given;
    NumericCheck check;
  };
  auto state = std::make_shared<State>(options);
  return [&options, state](const Phase &phase, ModuleOp module,
                           const PhaseContext &context) {
    ExitCode code = state->check.after(phase, module, context);
    if (code == kExitMismatch && state->check.finding())
      reportError(options, "--verify=numeric: wrong numbers: " +
                               state->check.finding()->line());
    return code;
  };
}

static bool isTrained(ModuleOp module) {
  return !module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_MAIN);
}

static std::string textOf(const Reference::Mismatch &mismatch) {
  return mismatch.isMissing
             ? mismatch.name + " is missing or has another size"
             : mismatch.name + ": " + mismatch.difference.text(mismatch.shape);
}

ExitCode NumericCheck::refuse(ModuleOp module, const llvm::Twine &text) {
  reportError(options_, text);
  return kExitUnsupported;
}

void NumericCheck::note(double ratio, StringRef phase) {
  if (ratio > largest_ || largestAfter_.empty()) {
    largest_ = ratio;
    largestAfter_ = phase.str();
  }
}

ExitCode NumericCheck::begin(ModuleOp module, int64_t accumulate) {
  inputs_.emplace(given_, accumulate);
  finding_.reset();
  reference_.reset();
  numCompared_ = numGradients_ = 0;
  auto measured = Reference::measure(module, *inputs_);
  if (failed(measured)) // an index out of range, for example
    return kExitUsage;
  reference_ = std::move(*measured);
  return kExitDone;
}

ExitCode NumericCheck::after(const Phase &phase, ModuleOp module,
                             const PhaseContext &context) {
  const StringRef name = phase.name;
  if (phaseIndex(phase) > phaseIndex(*findPhase("remat")))
    return kExitDone;
  std::string why = whyNotEvaluated(module);
  if (why.empty() && context.state.quantization)
    why = "--precision-plan has the policy int8, and the comparison is with "
          "float32: not yet";
  if (!why.empty())
    return refuse(module, why);
  ExitCode code = kExitDone;
  if (name == "import")
    code = begin(module, options_.train.enabled ? context.state.accumulate : 1);
  else if (name == "train" && options_.train.enabled)
    code = checkTraining(phase, module, context);
  else
    code = compareWith(phase, module, context);
  if (code == kExitDone)
    last_ = module.clone();
  return code;
}

ExitCode NumericCheck::compareWith(const Phase &phase, ModuleOp module,
                                   const PhaseContext &context) {
  if (OperationEquivalence::isEquivalentTo(
          *last_, module, OperationEquivalence::IgnoreLocations))
    return kExitDone;
  auto results = runProgram(module, *inputs_, {});
  if (failed(results))
    return kExitFailed;
  const bool narrows = StringRef(phase.name) == "precision" &&
                       context.options.precisionPolicy() != "fp32";
  std::optional<Reference> narrow;
  if (narrows) {
    // The declared types are narrower from here on.
    auto measured = Reference::measure(module, *inputs_);
    if (failed(measured))
      return kExitFailed;
    narrow = std::move(*measured);
    reference_->widen(*narrow);
  }
  Reference::Mismatch worst = reference_->worst(*results);
  std::string rounding = wrongRounding(module, *results);
  ++numCompared_;
  if (worst.difference.ratio > 1 || !rounding.empty()) {
    finding_ = NumericFinding{phase.name};
    finding_->result = rounding.empty() ? textOf(worst) : rounding;
    return locate(phase, context);
  }
  note(worst.difference.ratio, phase.name);
  if (narrow) {
    reference_ = std::move(narrow);
    rounded_ = last_->clone();
    PassManager pm(rounded_->getContext());
    addRoundings(pm, context);
    if (failed(pm.run(*rounded_)))
      return kExitFailed;
  }
  return kExitDone;
}

ExitCode NumericCheck::checkTraining(const Phase &phase, ModuleOp module,
                                     const PhaseContext &context) {
  // The passes of the phase are compared one by one, since what they are
  // compared with appears in their midst.
  ExitCode code = locate(phase, context);
  if (code != kExitDone)
    return code;
  passes::BuildTrainingOptions request = options_.train.request;
  request.lossScale = options_.lossScale().str();
  request.accumulate = context.state.accumulate;
  request.pairwise = options_.isTopology();
  GradientCheck gradients(*last_, request, *inputs_);
  auto wrong = gradients.run();
  notChecked_.clear();
  if (succeeded(wrong) && !*wrong)
    wrong = checkStepParts(*last_, request, *inputs_, notChecked_);
  if (succeeded(wrong) && !*wrong)
    wrong = checkStepStates(*last_, request, *inputs_, notChecked_);
  if (mlir::failed(wrong))
    return kExitFailed;
  numGradients_ = gradients.numRules();
  if (!*wrong)
    return kExitDone;
  finding_ = NumericFinding{phase.name, "build-training"};
  finding_->culprit = (*wrong)->culprit;
  finding_->result = (*wrong)->result;
  return kExitMismatch;
}

ExitCode NumericCheck::locate(const Phase &phase, const PhaseContext &context) {
  OwningOpRef<ModuleOp> before = last_->clone(), wrong;
  unsigned number = 0;
  bool hasFailed = false;
  // What a pass of this phase makes the reference of later ones.
  std::optional<Reference> own;
  auto isWrong = [&](ModuleOp module, std::string *result) {
    auto results = runProgram(module, *inputs_, {});
    if (failed(results))
      return true;
    auto worst = (own ? *own : *reference_).worst(*results);
    std::string rounding = wrongRounding(module, *results);
    const bool isOff = worst.difference.ratio > 1;
    if (result)
      *result = isOff ? textOf(worst) : rounding;
    if (!isOff)
      note(worst.difference.ratio, phase.name);
    return isOff || !rounding.empty();
  };
  PassReplay replay{phase, context, *last_, nullptr};
  replay.after = [&](unsigned at, StringRef pass, ModuleOp module) {
    if (!isTrained(*before) && isTrained(module)) {
      auto measured = Reference::measure(module, *inputs_);
      hasFailed = failed(measured);
      if (!hasFailed)
        own = std::move(*measured);
      before = module.clone();
      return !hasFailed;
    }
    std::string result;
    if (!isWrong(module, &result)) {
      before = module.clone();
      return true;
    }
    if (!finding_)
      finding_ = NumericFinding{phase.name};
    finding_->pass = pass.str();
    if (!result.empty())
      finding_->result = result;
    wrong = module.clone();
    number = at;
    return false;
  };
  (void)replay.run();
  if (hasFailed)
    return kExitFailed;
  if (!wrong) {
    if (own) {
      ++numCompared_;
      reference_ = std::move(own);
    }
    return finding_ ? kExitMismatch : kExitDone;
  }
  finding_->culprit =
      findCulprit(*before, *wrong, *inputs_, StringRef(phase.name) == "layout");

  // The fewest applications of the pass's patterns that change a result.
  std::string pattern, at;
  auto isWrongWith = [&](size_t limit, size_t *numTried = nullptr) {
    bool wrongNow = false;
    PassReplay limited{phase, context, *last_, nullptr, number, limit};
    limited.after = [&](unsigned done, StringRef, ModuleOp module) {
      if (done == number)
        wrongNow = isWrong(module, nullptr);
      return done < number;
    };
    (void)limited.run();
    pattern = limited.lastPattern;
    at = limited.lastOp;
    if (numTried)
      *numTried = limited.numTried;
    return wrongNow;
  };
  size_t high = 0, low = 0;
  if (!isWrongWith(~size_t(0), &high) || high == 0 || isWrongWith(0))
    return kExitMismatch;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (isWrongWith(middle) ? high : low) = middle;
  }
  if (isWrongWith(high)) {
    finding_->pattern =
        patternName(StringRef(pattern).rsplit("pattern: ").second);
    finding_->patternAt = at;
  }
  return kExitMismatch;
}
