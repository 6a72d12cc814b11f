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
  return options;
}

namespace {

using Weights = std::map<std::string, Tensor>;

class StepParts {
public:
  StepParts(ModuleOp module, const BuildTrainingOptions &request,
            ProgramInputs &inputs)
      : module(module), request(request), inputs(inputs) {}

  FailureOr<std::optional<GradientCheck::Wrong>> run() {
    const BuildTrainingOptions plain = plainDescent(request);
    auto unclipped = weightsAfter(plain);
    if (!unclipped)
      return std::optional<GradientCheck::Wrong>();
    BuildTrainingOptions parts = plain, scaled = plain, clipped = plain;
    parts.accumulate = request.accumulate;
    parts.pairwise = request.pairwise;
    scaled.lossScale = request.lossScale;
    clipped.clipNorm = request.clipNorm;
    clipped.clipValue = request.clipValue;
    if (request.accumulate > 1)
      compare("micro-batches", *unclipped, parts);
    if (request.lossScale != "none")
      compare(ir::kLossScalePart, *unclipped, scaled);
    if (request.clipNorm > 0 || request.clipValue > 0)
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
    ScopedDiagnosticHandler silence(module.getContext(),
                                    [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> copy = module.clone();
    PassManager pm(module.getContext());
    pm.addPass(passes::createBuildTraining(options));
    if (failed(pm.run(*copy)))
      return std::nullopt;
    auto results = runProgram(*copy, inputs, {});
    if (failed(results))
      return std::nullopt;
    Weights weights;
    for (auto state : copy->getOps<ir::StateOp>())
      for (StringRef entry : {SINTER_ENTRY_STEP, SINTER_ENTRY_APPLY})
        if (auto found = results->find("state " + quoted(state.getSymName()) +
                                       " after " + entry.str());
            found != results->end() && state.getTrainable())
          weights[state.getSymName().str()] = std::move(found->second);
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
      const Tensor &other = (*actual)[name];
      for (size_t i = 0; i < value.floats.size(); ++i) {
        const double a = i < other.floats.size() ? other.floats[i] : NAN,
                     b = value.floats[i];
        // Numbers of the step, such as 1 / N, are rounded to float32.
        const double bound = 1e-5 * change + 1e-12 * std::fabs(b);
        if (std::fabs(a - b) <= bound)
          continue;
        char text[160];
        std::snprintf(text, sizeof(text),
                      " is %.9g instead of %.9g, bound %.3g", a, b, bound);
        wrong = {{"", part.str(), ""},
                 "new state " + quoted(name) + ": element " +
                     std::to_string(i) + text};
        return;
      }
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
                         ProgramInputs &inputs) {
  const bool isRandom =
      module.walk([](ir::DropoutOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (isRandom)
    return std::optional<GradientCheck::Wrong>();
  return StepParts(module, request, inputs).run();
}
