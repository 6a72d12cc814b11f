//===- StepCheck.cpp - what a training step does with gradients -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/StepCheck.h"

#include "compiler/base/Text.h"
#include "ir/Locations.h"

#include "sinter/program_names.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;
using passes::BuildTrainingOptions;

BuildTrainingOptions
compiler::plainDescent(const BuildTrainingOptions &request) {
  BuildTrainingOptions options = request;
  options.optimizer = "sgd";
  options.lr = 1;
  options.momentum = options.weightDecay = 0;
  options.noDecay = ".*";
  options.beta1 = options.beta2 = options.eps = -1;
  options.nesterov = options.pairwise = false;
  options.lossScale = "none";
  options.clipNorm = options.clipValue = options.ema = 0;
  options.logNorms = false;
  options.replicas = options.accumulate = 1;
  options.shard.clear();
  return options;
}

OwningOpRef<ModuleOp> compiler::buildStep(ModuleOp module,
                                          const BuildTrainingOptions &options) {
  ScopedDiagnosticHandler silence(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> step = module.clone();
  PassManager pm(module.getContext());
  pm.addPass(passes::createBuildTraining(options));
  if (failed(pm.run(*step)))
    return nullptr;
  if (auto eval = step->lookupSymbol<func::FuncOp>(SINTER_ENTRY_EVAL))
    eval.erase();
  return step;
}

std::optional<GradientCheck::Wrong>
compiler::compareState(StringRef part, StringRef name, const Tensor *value,
                       const Bounded &expected) {
  std::string text;
  if (!value || value->size() != expected.value.size()) {
    text = " is missing or has another size";
  } else {
    const Difference difference = compare(*value, expected);
    if (difference.ratio <= 1)
      return std::nullopt;
    text = ": " + difference.text(expected.value.shape());
  }
  return GradientCheck::Wrong{{"", part.str(), ""},
                              "new state " + quoted(name) + text};
}

namespace {

using Weights = std::map<std::string, Tensor>;

class StepParts {
public:
  StepParts(ModuleOp module, const BuildTrainingOptions &request,
            ProgramInputs &inputs)
      : module(module), request(request), inputs(inputs) {}

  std::optional<GradientCheck::Wrong> run(bool isRandom) {
    const bool hasParts = request.accumulate > 1 && !isRandom,
               isScaled = request.lossScale != "none",
               isClipped = request.clipNorm > 0 || request.clipValue > 0;
    if (!hasParts && !isScaled && !isClipped)
      return std::nullopt;
    const BuildTrainingOptions plain = plainDescent(request);
    auto unclipped = weightsAfter(plain);
    if (!unclipped)
      return std::nullopt;
    BuildTrainingOptions parts = plain, scaled = plain, clipped = plain;
    parts.accumulate = request.accumulate;
    parts.pairwise = request.pairwise;
    scaled.lossScale = request.lossScale;
    clipped.clipNorm = request.clipNorm;
    clipped.clipValue = request.clipValue;
    if (hasParts)
      compare("micro-batches", *unclipped, parts);
    if (isScaled)
      compare(ir::kLossScalePart, *unclipped, scaled);
    if (isClipped)
      compare(ir::kClipPart, clip(*unclipped), clipped);
    return std::move(wrong);
  }

private:
  static double control(StringRef name, MLIRContext *context) {
    auto type = RankedTensorType::get({}, Float32Type::get(context));
    return ProgramInputs::control(name, type, 1, 0).floats[0];
  }

  /// The new values of trained states by name; nothing if the step cannot be
  /// built: the compilation itself says why.
  std::optional<Weights> weightsAfter(const BuildTrainingOptions &options) {
    OwningOpRef<ModuleOp> step = buildStep(module, options);
    if (!step)
      return std::nullopt;
    ScopedDiagnosticHandler silence(module.getContext(),
                                    [](Diagnostic &) { return success(); });
    auto results = runProgram(*step, inputs, {});
    if (failed(results))
      return std::nullopt;
    Weights weights;
    for (auto state : step->getOps<ir::StateOp>())
      if (const Tensor *value = newState(*results, state.getSymName());
          value && state.getTrainable())
        weights[state.getSymName().str()] = *value;
    return weights;
  }

  /// As PyTorch's clip_grad_value_ and clip_grad_norm_.
  Weights clip(const Weights &after) {
    const double lr = control(SINTER_CONTROL_LR, module.getContext()),
                 norm = control(SINTER_CONTROL_CLIP_NORM, module.getContext());
    Weights gradients;
    double squares = 0;
    for (auto &[name, value] : after) {
      Tensor gradient = inputs.state(module, name);
      for (auto [slope, number] :
           llvm::zip_equal(gradient.floats, value.floats)) {
        slope = (slope - number) / lr;
        if (request.clipValue > 0)
          slope = std::clamp(slope, -request.clipValue, request.clipValue);
        squares += slope * slope;
      }
      gradients[name] = std::move(gradient);
    }
    const double scale = request.clipNorm > 0
                             ? std::min(1.0, norm / (std::sqrt(squares) + 1e-6))
                             : 1;
    for (auto &[name, value] : gradients)
      for (auto [slope, number] :
           llvm::zip_equal(value.floats, inputs.state(module, name).floats))
        slope = number - lr * scale * slope;
    return gradients;
  }

  void compare(StringRef part, const Weights &expected,
               const BuildTrainingOptions &options) {
    if (wrong)
      return;
    auto actual = weightsAfter(options);
    if (!actual)
      return;
    for (auto &[name, value] : expected) {
      const Tensor &before = inputs.state(module, name);
      double change = 0;
      for (auto [a, b] : llvm::zip_equal(value.floats, before.floats))
        change = std::max(change, std::fabs(a - b));
      // Numbers of the step, such as 1 / N, are rounded to float32.
      Bounded bounded{value, {}};
      for (double number : value.floats)
        bounded.allowed.push_back(1e-5 * change + 1e-12 * std::fabs(number));
      auto found = actual->find(name);
      wrong = compareState(part, name,
                           found != actual->end() ? &found->second : nullptr,
                           bounded);
      if (wrong)
        return;
    }
  }

  ModuleOp module;
  const BuildTrainingOptions &request;
  ProgramInputs &inputs;
  std::optional<GradientCheck::Wrong> wrong;
};

} // namespace

FailureOr<std::optional<GradientCheck::Wrong>>
compiler::checkStepParts(ModuleOp module, const BuildTrainingOptions &request,
                         ProgramInputs &inputs,
                         std::vector<std::string> &notChecked) {
  // Each micro-batch drops other elements.
  const bool isRandom =
      module.walk([](ir::DropoutOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (isRandom && request.accumulate > 1)
    notChecked.push_back("micro-batches with dropout");
  return StepParts(module, request, inputs).run(isRandom);
}
