//===- GraphLints.cpp - effects of training that may be unintended --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/checks/FormVerifiers.h"
#include "compiler/import/ExportMode.h"
#include "compiler/lint/Lints.h"
#include "ir/Dialect.h"
#include "ir/Tensor.h"
#include "passes/place/Devices.h"
#include "passes/train/Training.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// The batch normalisations of a graph by the mode that they were exported in.
namespace {
struct BatchNormModes {
  SmallVector<Operation *> inference, training;

  explicit BatchNormModes(ModuleOp module) {
    module.walk([&](ir::BatchNormOp op) {
      (op->hasAttr(kInferenceAttr) ? inference : training).push_back(op);
    });
  }
  /// Some modules of the model were in eval() mode, others in train() mode.
  bool areMixed() const { return !inference.empty() && !training.empty(); }
};
} // namespace

void compiler::findInferenceNodes(const LintContext &context,
                                  LintReport report) {
  const TrainOptions &train = context.options.train;
  if (!train.enabled)
    return;
  // findFrozenBatchNorm reports those of a mixed graph.
  bool saysBatchNorm = !train.request.freezeBatchNorm &&
                       !BatchNormModes(context.module).areMixed();
  ModuleOp(context.module).walk([&](Operation *op) {
    if (!op->hasAttr(kInferenceAttr))
      return;
    if (isa<ir::DropoutOp>(op))
      report(op->getLoc(), "Dropout was exported for inference, where it does "
                           "nothing; training drops elements");
    else if (saysBatchNorm)
      report(op->getLoc(),
             "BatchNormalization was exported for inference; training uses the "
             "statistics of each batch (--freeze-bn uses those of the file)");
  });
}

void compiler::findFrozenBatchNorm(const LintContext &context,
                                   LintReport report) {
  const TrainOptions &train = context.options.train;
  if (!train.enabled || train.request.freezeBatchNorm)
    return;
  BatchNormModes modes(context.module);
  if (!modes.areMixed())
    return;
  size_t others = modes.inference.size() - 1;
  std::string more = others ? " (and " + std::to_string(others) + " more)" : "";
  report(modes.inference.front()->getLoc(),
         "BatchNormalization was exported in eval() mode" + more +
             ", others of the model in train() mode; all are trained with the "
             "statistics of each batch (--freeze-bn: all use their running "
             "statistics; to keep only some, export these as a product and a "
             "sum of buffers)");
}

void compiler::findMissingBatchNorm(const LintContext &context,
                                    LintReport report) {
  const TrainOptions &train = context.options.train;
  if (!train.request.freezeBatchNorm &&
      train.request.runningVariance != "unbiased")
    return;
  ModuleOp module = context.module;
  bool isThere = module
                     .walk([](Operation *op) {
                       return isa<ir::BatchNormOp, ir::BatchNormTrainingOp>(op)
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted();
  if (!isThere)
    report(UnknownLoc::get(module.getContext()),
           Twine(train.request.freezeBatchNorm ? "--freeze-bn"
                                               : "--bn-running-var=unbiased") +
               " changes nothing: the model has no BatchNormalization");
}

/// Whether Winograd's algorithms can compute it.
static bool isFastWindow(ir::ConvOp conv) {
  RankedTensorType filter = ir::tensorType(conv.getFilter());
  auto isAll = [](ArrayRef<int64_t> values, int64_t value) {
    return llvm::all_of(values, [=](int64_t each) { return each == value; });
  };
  return filter.getElementType().isF32() &&
         ir::tensorType(conv.getResult()).getElementType().isF32() &&
         filter.getRank() == 4 && isAll(filter.getShape().drop_front(2), 3) &&
         isAll(conv.getStrides(), 1) && isAll(conv.getDilations(), 1) &&
         conv.getGroups() == 1 &&
         conv.getFilter().getDefiningOp<ir::ConstantOp>();
}

void compiler::findNoFastConvolution(const LintContext &context,
                                     LintReport report) {
  if (!context.options.fastConvolutions)
    return;
  ModuleOp module = context.module;
  bool isThere = module
                     .walk([](ir::ConvOp conv) {
                       return isFastWindow(conv) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
                     })
                     .wasInterrupted();
  if (!isThere)
    report(UnknownLoc::get(module.getContext()),
           "--fast-convolutions changes nothing: the program has no 3x3 "
           "convolution of fp32 with strides of 1, no groups and a constant "
           "filter");
}

/// The argument of `function` that holds `state`; null if there is none.
static Value argumentOf(func::FuncOp function, ir::StateOp state) {
  for (BlockArgument argument : function.getArguments())
    if (passes::stateOf(argument) == state)
      return argument;
  return {};
}

/// The first name of each node that uses `value`, without repeats, in order.
static llvm::SmallSetVector<StringRef, 4> nodesOf(Value value) {
  llvm::SmallSetVector<StringRef, 4> nodes;
  SmallVector<Operation *> users(value.getUsers());
  llvm::sort(users, [](Operation *a, Operation *b) {
    return a != b && a->isBeforeInBlock(b);
  });
  for (Operation *user : users)
    if (auto names = nodeNames(user->getLoc()); !names.empty())
      nodes.insert(names.front());
  return nodes;
}

static bool isFloatParameter(ir::StateOp state) {
  return state.getRole() == ir::StateRole::param &&
         isa<FloatType>(getElementTypeOrSelf(state.getType()));
}

void compiler::findTiedParameters(const LintContext &context,
                                  LintReport report) {
  ModuleOp module = context.module;
  auto main = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_MAIN);
  if (!context.options.train.enabled || !main)
    return;
  for (auto state : module.getOps<ir::StateOp>()) {
    Value argument = argumentOf(main, state);
    if (!argument || !isFloatParameter(state))
      continue;
    auto nodes = nodesOf(argument);
    if (nodes.size() < 2)
      continue;
    constexpr size_t kMost = 4;
    std::string list;
    for (StringRef node : nodes.getArrayRef().take_front(kMost))
      list += (list.empty() ? "" : ", ") + shown(node);
    if (nodes.size() > kMost)
      list += " and " + std::to_string(nodes.size() - kMost) + " more";
    report(state.getLoc(), "parameter '" + shown(state.getSymName()) +
                               "' is shared by the nodes " + list +
                               ": it is trained as one parameter");
  }
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

void compiler::findSummedLoss(const LintContext &context, LintReport report) {
  ModuleOp module = context.module;
  auto main = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_MAIN);
  const TrainOptions &train = context.options.train;
  if (!train.enabled || train.request.loss != "none" || !main)
    return;
  int64_t batch = 0;
  for (auto [number, type] : llvm::enumerate(main.getArgumentTypes()))
    if (main.getArgAttr(number, ir::SinterDialect::kInputAttr))
      if (auto tensor = cast<RankedTensorType>(type);
          !batch && tensor.getRank() > 0)
        batch = tensor.getDimSize(0);
  if (batch < 2)
    return;
  for (Value output : main.getBody().front().getTerminator()->getOperands()) {
    auto type = ir::tensorType(output);
    if (type.getNumElements() != 1 || !isa<FloatType>(type.getElementType()))
      continue;
    if (Operation *sum = passes::findRowSum(output, batch))
      report(sum->getLoc(),
             "the loss is a sum over the " + Twine(batch) +
                 " rows of the batch, not a mean: gradients grow with --batch");
  }
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The location of the first node that uses `state`, else its own.
static Location useOf(ModuleOp module, ir::StateOp state) {
  for (auto function : module.getOps<func::FuncOp>())
    if (Value argument = argumentOf(function, state)) {
      Operation *first = nullptr;
      for (Operation *user : argument.getUsers())
        if (!nodeNames(user->getLoc()).empty() &&
            (!first || user->isBeforeInBlock(first)))
          first = user;
      if (first)
        return first->getLoc();
    }
  return state.getLoc();
}

void compiler::findDeadParameters(const LintContext &context,
                                  LintReport report) {
  const TrainOptions &train = context.options.train;
  if (!train.enabled)
    return;
  ModuleOp module = context.module;
  auto selection =
      passes::StateSelection::create(module.getLoc(), train.request);
  if (failed(selection))
    return;
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getRole() == ir::StateRole::param && !state.getTrainable() &&
        selection->refusal(state).empty())
      report(useOf(module, state),
             "parameter '" + shown(state.getSymName()) +
                 "' gets no gradient: the loss does not depend on it, or only "
                 "through ops that have none; it stays as it is");
}

/// What the values of an initializer look like; "" if like nothing special.
static StringRef valuesLookLike(ir::StateOp state) {
  constexpr int64_t kMostElements = 1 << 20;
  auto init = state.getInit();
  if (!init || init->getNumElements() > kMostElements ||
      init->getNumElements() < 4)
    return "";
  FailureOr<ir::Tensor> tensor = ir::Tensor::fromAttr(*init);
  if (failed(tensor) || !tensor->isFloat())
    return "";
  const std::vector<double> &values = tensor->floats;
  bool isCount = true, isMask = true;
  int64_t ones = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    isCount &= values[i] == static_cast<double>(i);
    isMask &= values[i] == 0 || values[i] == 1;
    ones += values[i] == 1;
  }
  if (isCount)
    return "counts up from 0, like a table of positions";
  bool hasBoth = ones > 0 && ones < static_cast<int64_t>(values.size());
  return isMask && hasBoth ? "holds only zeros and ones, like a mask" : "";
}

void compiler::findLikelyBuffers(const LintContext &context,
                                 LintReport report) {
  const llvm::Regex names("(^|[._/])(running_[a-z]*|num_batches[a-z_]*|mask|"
                          "[a-z]*_mask|inv_freq|pos(ition)?_ids|anchors?|"
                          "buffer|mean|std)$");
  ModuleOp module = context.module;
  for (auto state : module.getOps<ir::StateOp>()) {
    if (!context.options.train.enabled || !state.getTrainable())
      continue;
    StringRef why = names.match(state.getSymName()) ? "has the name of a buffer"
                                                    : valuesLookLike(state);
    if (!why.empty())
      report(useOf(module, state), "initializer '" + shown(state.getSymName()) +
                                       "' is trained but " + why +
                                       "; --freeze=REGEX keeps it as it is");
  }
}

void compiler::findBatchStatistics(const LintContext &context,
                                   LintReport report) {
  int64_t parts = context.state.accumulate;
  auto grad =
      ModuleOp(context.module).lookupSymbol<func::FuncOp>(SINTER_ENTRY_GRAD);
  if (parts < 2 || !grad)
    return;
  SmallVector<ir::BatchNormTrainingOp> nodes;
  grad.walk([&](ir::BatchNormTrainingOp op) { nodes.push_back(op); });
  if (nodes.empty())
    return;
  // One warning for all of them: networks have many.
  std::string others =
      nodes.size() == 1 ? ""
                        : " and " + std::to_string(nodes.size() - 1) + " more";
  report(nodes.front().getLoc(),
         "BatchNormalization" + others +
             ": each micro-batch uses the statistics of its own rows, not of "
             "the whole batch; running statistics change " +
             Twine(parts) +
             " times per step (--freeze-bn uses those of the file)");
}
