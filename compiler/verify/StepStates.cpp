//===- StepStates.cpp - averages, statistics, weight decay ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/StepStates.h"

#include "compiler/base/Text.h"
#include "compiler/verify/StepCheck.h"
#include "ir/Locations.h"
#include "passes/train/TrainingWords.h"

#include "sinter/program_names.h"

#include "llvm/Support/Regex.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;
using passes::BuildTrainingOptions;
using passes::OptimizerKind;

namespace {

using Wrong = std::optional<GradientCheck::Wrong>;

/// Numbers of the step, such as a decay, are rounded to the type of a state.
constexpr double kRoundings = 8;

/// The step as it is requested, except for what does not change the numbers
/// that are compared, or may keep it from changing states.
BuildTrainingOptions checkedRequest(const BuildTrainingOptions &request) {
  BuildTrainingOptions options = request;
  options.replicas = 1;
  options.shard.clear();
  options.lossScale = "none";
  options.logNorms = false;
  return options;
}

ir::StateOp stateOf(ModuleOp module, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  auto name = function
                  ? function.getArgAttrOfType<FlatSymbolRefAttr>(
                        argument.getArgNumber(), ir::SinterDialect::kStateAttr)
                  : FlatSymbolRefAttr();
  return name ? module.lookupSymbol<ir::StateOp>(name.getValue())
              : ir::StateOp();
}

/// Sets the control field to zero.
void zeroControl(ModuleOp step, StringRef name) {
  for (auto function : step.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      auto field = function.getArgAttrOfType<StringAttr>(
          argument.getArgNumber(), ir::SinterDialect::kControlAttr);
      if (!field || field.getValue() != name)
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
      argument.replaceAllUsesWith(builder.create<ir::ConstantOp>(
          function.getLoc(), Tensor(ir::tensorType(argument)).toAttr("zero")));
    }
}

class StepStates {
public:
  StepStates(ModuleOp module, const BuildTrainingOptions &request,
             ProgramInputs &inputs, std::vector<std::string> &notChecked)
      : module(module), request(request), inputs(inputs),
        notChecked(notChecked) {}

  FailureOr<Wrong> run() {
    built = buildStep(module, checkedRequest(request));
    if (!built)
      return Wrong();
    if (!request.freezeBatchNorm)
      findNorms();
    makeUpStates();
    EvaluationOptions options;
    options.observe = [&](Operation *op, ArrayRef<Tensor> results) {
      if (auto norm = norms.find(op); norm != norms.end())
        updateStatistics(norm->second, results);
    };
    auto after = runProgram(*built, inputs, options);
    if (failed(after))
      return failure();
    if (!changesStates(*after)) {
      notChecked.push_back("new states, since the loss is not finite");
      return Wrong();
    }
    Wrong wrong = checkStatistics(*after);
    if (!wrong && request.ema > 0)
      wrong = checkAverages(*after);
    if (wrong)
      return wrong;
    zeroControl(*built, SINTER_CONTROL_WEIGHT_DECAY);
    auto undecayed = runProgram(*built, inputs, {});
    if (failed(undecayed))
      return failure();
    return checkDecay(*after, *undecayed);
  }

private:
  /// A batch_norm of @main whose running statistics are states.
  struct Norm {
    std::string mean, variance; // states
    std::string nodes;
    double momentum;
    int64_t count; // of numbers per channel
  };
  struct Statistic {
    Bounded value;
    std::string nodes;
  };

  /// By the op that the step has in their place.
  void findNorms() {
    SmallVector<ir::BatchNormTrainingOp> left;
    for (auto function : built->getOps<func::FuncOp>())
      llvm::append_range(
          left, function.getBody().front().getOps<ir::BatchNormTrainingOp>());
    auto main = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_MAIN);
    for (auto op : main.getBody().front().getOps<ir::BatchNormOp>()) {
      ir::StateOp mean = stateOf(module, op.getMean()),
                  variance = stateOf(module, op.getVariance());
      if (!mean || !variance)
        continue;
      const std::string nodes = ir::joinedNodeNames(op.getLoc());
      auto found = llvm::find_if(left, [&](ir::BatchNormTrainingOp other) {
        return other.getLoc() == op.getLoc() &&
               other.getX().getType() == op.getX().getType();
      });
      if (found == left.end()) {
        notChecked.push_back("running statistics of " + quoted(nodes));
        continue;
      }
      RankedTensorType type = ir::tensorType(op.getX());
      norms[*found] = {mean.getSymName().str(), variance.getSymName().str(),
                       nodes, op.getMomentum().convertToDouble(),
                       type.getNumElements() /
                           std::max<int64_t>(type.getDimSize(1), 1)};
      left.erase(found);
    }
  }

  /// States start with values that hide no term of a formula: averages differ
  /// from their weights, running means are not zero, and neither are weights.
  void makeUpStates() {
    auto move = [&](StringRef name) {
      Tensor value = inputs.state(*built, name);
      for (double &number : value.floats)
        number = 0.75 * number + 0.125;
      inputs.setState(name, std::move(value));
    };
    for (auto state : built->getOps<ir::StateOp>()) {
      StringRef name = state.getSymName();
      if (state.getSlot() == SINTER_SLOT_EMA)
        move(name);
      if (!state.getTrainable())
        continue;
      Tensor value = inputs.state(*built, name);
      if (llvm::all_of(value.floats, [](double x) { return x == 0; }))
        value.floats.assign(value.floats.size(), 0.01);
      inputs.setState(name, std::move(value));
    }
    for (auto &[op, norm] : norms)
      for (const std::string &name : {norm.mean, norm.variance})
        if (!statistics.count(name)) {
          move(name);
          const Tensor &start = inputs.state(*built, name);
          statistics[name] = {{start, std::vector<double>(start.size())},
                              norm.nodes};
        }
  }

  /// ONNX: running = running * momentum + batch * (1 - momentum). A state that
  /// several nodes share is updated by each in turn.
  void updateStatistics(const Norm &norm, ArrayRef<Tensor> results) {
    const double unbiased = double(norm.count) / double(norm.count - 1),
                 ofVariance =
                     request.runningVariance == "unbiased" ? unbiased : 1;
    auto update = [&](const std::string &name, const Tensor &batch,
                      double factor) {
      Bounded &running = statistics[name].value;
      const double rounding =
          kRoundings * unitRoundoff(running.value.type().getElementType());
      for (auto [number, allowed, ofBatch] : llvm::zip_equal(
               running.value.floats, running.allowed, batch.floats)) {
        const double kept = norm.momentum * number,
                     added = (1 - norm.momentum) * factor * ofBatch;
        number = kept + added;
        allowed += rounding * (std::fabs(kept) + std::fabs(added));
      }
    };
    update(norm.mean, results[1], 1);
    update(norm.variance, results[2], ofVariance);
  }

  /// A step whose loss is not finite changes no state.
  static bool changesStates(const ProgramResults &results) {
    for (auto &[name, value] : results)
      if (StringRef(name).starts_with("output " + quoted(SINTER_OUTPUT_LOSS) +
                                      " of "))
        return std::fabs(value.floats[0]) <= std::numeric_limits<float>::max();
    return false;
  }

  Wrong checkStatistics(const ProgramResults &after) {
    for (auto &[name, statistic] : statistics)
      if (Wrong wrong = compareState(statistic.nodes, name,
                                     newState(after, name), statistic.value))
        return wrong;
    return std::nullopt;
  }

  /// ema' = decay ema + (1 - decay) weight', from the first step on. Averages
  /// start at the weights.
  Wrong checkAverages(const ProgramResults &after) {
    for (auto state : built->getOps<ir::StateOp>()) {
      if (state.getSlot() != SINTER_SLOT_EMA)
        continue;
      const Tensor *weight = newState(after, *state.getOf());
      if (!weight)
        continue;
      auto of = built->lookupSymbol<ir::StateOp>(*state.getOf());
      if (state.getInitAttr() != of.getInitAttr())
        return GradientCheck::Wrong{{"", "ema", ""},
                                    "state " + quoted(state.getSymName()) +
                                        " does not start at its weight"};
      Bounded expected{inputs.state(*built, state.getSymName()), {}};
      const double rounding =
          kRoundings * unitRoundoff(weight->type().getElementType());
      for (auto [number, ofWeight] :
           llvm::zip_equal(expected.value.floats, weight->floats)) {
        const double kept = request.ema * number,
                     added = (1 - request.ema) * ofWeight;
        number = kept + added;
        expected.allowed.push_back(rounding *
                                   (std::fabs(kept) + std::fabs(added)));
      }
      if (Wrong wrong =
              compareState("ema", state.getSymName(),
                           newState(after, state.getSymName()), expected))
        return wrong;
    }
    return std::nullopt;
  }

  bool decays(ir::StateOp state) const {
    if (request.noDecay.empty())
      return true;
    const llvm::Regex regex(request.noDecay);
    SmallVector<StringRef> names = {state.getOnnx() ? *state.getOnnx()
                                                    : state.getSymName()};
    if (state.getAliases())
      llvm::append_range(names,
                         state.getAliases()->getAsValueRange<StringAttr>());
    return llvm::none_of(names,
                         [&](StringRef name) { return regex.match(name); });
  }

  /// What a weight of 1 loses to a decay of 1 at a rate of 1; nothing if that
  /// depends on its gradient, since the decay is a part of it.
  std::optional<double> decayFactor() const {
    switch (*passes::optimizerKind(request.optimizer)) {
    case OptimizerKind::AdamW:
    case OptimizerKind::Lion:
    case OptimizerKind::Muon:
      return 1;
    case OptimizerKind::Sgd:
      return request.nesterov ? 1 + request.momentum : 1;
    default:
      return std::nullopt;
    }
  }

  static double control(StringRef name, Type element) {
    return ProgramInputs::control(name, RankedTensorType::get({}, element), 1,
                                  0)
        .floats[0];
  }

  Wrong checkDecay(const ProgramResults &after,
                   const ProgramResults &undecayed) {
    Type f32 = Float32Type::get(module.getContext());
    const double lost = control(SINTER_CONTROL_LR, f32) *
                        control(SINTER_CONTROL_WEIGHT_DECAY, f32);
    const std::optional<double> factor = decayFactor();
    for (auto state : built->getOps<ir::StateOp>()) {
      StringRef name = state.getSymName();
      const Tensor *plain = newState(undecayed, name),
                   *value = newState(after, name);
      if (!state.getTrainable() || !plain)
        continue;
      const bool isKept = !decays(state);
      Wrong wrong;
      if (isKept || factor) {
        Bounded expected{*plain, {}};
        for (auto [number, before] : llvm::zip_equal(
                 expected.value.floats, inputs.state(*built, name).floats)) {
          const double change = isKept ? 0 : lost * *factor * before;
          expected.allowed.push_back(1e-6 * std::fabs(change) +
                                     1e-12 * std::fabs(number));
          number -= change;
        }
        wrong = compareState("weight decay", name, value, expected);
      } else if (value && value->floats == plain->floats && value->size()) {
        wrong = GradientCheck::Wrong{{"", "weight decay", ""},
                                     "new state " + quoted(name) +
                                         " is the same without weight decay"};
      }
      if (wrong)
        return wrong;
    }
    return std::nullopt;
  }

  ModuleOp module;
  const BuildTrainingOptions &request;
  ProgramInputs inputs; // with states that are made up here
  std::vector<std::string> &notChecked;
  OwningOpRef<ModuleOp> built;
  llvm::MapVector<Operation *, Norm> norms;
  std::map<std::string, Statistic> statistics; // by state
};

} // namespace

/// What the train phase builds and no formula here knows.
static void addNotChecked(ModuleOp module, const BuildTrainingOptions &request,
                          std::vector<std::string> &notChecked) {
  const OptimizerKind kind = *passes::optimizerKind(request.optimizer);
  const bool isDescent = kind == OptimizerKind::Sgd && !(request.momentum > 0);
  notChecked.push_back("the loss");
  notChecked.push_back("sums of eval");
  if (!isDescent)
    notChecked.push_back("slots and constants of " + request.optimizer);
  if (kind == OptimizerKind::Adam || kind == OptimizerKind::Lamb ||
      kind == OptimizerKind::Adagrad || kind == OptimizerKind::RmsProp)
    notChecked.push_back("how much weight decay adds");
  if (module.walk([](ir::DropoutOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    notChecked.push_back("what dropout drops");
  if (request.lossScale == "dynamic")
    notChecked.push_back("changes of the loss scale");
  if (request.replicas > 1)
    notChecked.push_back("sums over replicas");
  if (request.logNorms)
    notChecked.push_back("norms");
}

FailureOr<std::optional<GradientCheck::Wrong>>
compiler::checkStepStates(ModuleOp module, const BuildTrainingOptions &request,
                          ProgramInputs &inputs,
                          std::vector<std::string> &notChecked) {
  addNotChecked(module, request, notChecked);
  return StepStates(module, request, inputs, notChecked).run();
}
