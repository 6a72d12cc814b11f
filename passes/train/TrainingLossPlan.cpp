//===- TrainingLossPlan.cpp - what the loss reads -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Decides the output, the class axis and the shape of the labels. All mistakes
// that a user can make about a loss are reported here, in one line.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/Failure.h"
#include "passes/train/Training.h"

#include <limits>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

StringRef outputName(func::FuncOp main, unsigned index) {
  auto name =
      main.getResultAttrOfType<StringAttr>(index, SinterDialect::kOutputAttr);
  return name ? name.getValue() : "";
}

bool isFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

std::string quoted(func::FuncOp main, ArrayRef<unsigned> outputs) {
  std::string list;
  for (unsigned i : outputs)
    list += (list.empty() ? "'" : ", '") + outputName(main, i).str() + "'";
  return list;
}

class Planner {
public:
  Planner(func::FuncOp main, const BuildTrainingOptions &options)
      : main(main), options(options) {}

  FailureOr<LossPlan> run() {
    std::optional<LossKind> kind = lossKind(options.loss);
    if (!kind)
      return error("unknown loss '" + options.loss + "'; expected " +
                   listOfWords(SINTER_LOSS_WORDS));
    plan.hasSoftLabels = kind == LossKind::SoftCrossEntropy;
    plan.kind = plan.hasSoftLabels ? LossKind::CrossEntropy : *kind;
    plan.labelsName = options.labels.empty() ? "labels" : options.labels;
    if (plan.kind != LossKind::CrossEntropy &&
        (options.axis != kNone || options.ignoreIndex != kNone ||
         options.labelSmoothing != 0))
      return error("axis, ignore_index and label_smoothing belong to the loss "
                   "cross-entropy");
    if (!(options.labelSmoothing >= 0 && options.labelSmoothing <= 1))
      return error("label_smoothing must lie between 0 and 1");
    findBatch();
    if (failed(chooseOutput()) || failed(chooseLabels()))
      return failure();
    reportLookThrough();
    return plan;
  }

private:
  LogicalResult error(const Twine &text) {
    return emitError(locationOfGraph(main), text);
  }
  RankedTensorType outputType() {
    return cast<RankedTensorType>(main.getResultTypes()[plan.output]);
  }

  void findBatch() {
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      if (!main.getArgAttr(i, SinterDialect::kInputAttr))
        continue;
      auto type = cast<RankedTensorType>(main.getArgumentTypes()[i]);
      if (type.getRank() > 0 && plan.batch == 0)
        plan.batch = type.getDimSize(0);
      if (inputName(i) == options.labels)
        plan.labelsArgument = i;
      hasUnnamedLabels |=
          options.labels.empty() && inputName(i) == plan.labelsName;
    }
  }

  StringRef inputName(unsigned index) {
    auto name =
        main.getArgAttrOfType<StringAttr>(index, SinterDialect::kInputAttr);
    return name ? name.getValue() : "";
  }

  LogicalResult chooseOutput() {
    SmallVector<unsigned> candidates;
    bool wantsScalar = plan.kind == LossKind::None;
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      Type type = main.getResultTypes()[i];
      if (!isFloat(type))
        continue;
      bool fits =
          !wantsScalar || cast<RankedTensorType>(type).getNumElements() == 1;
      if (!options.logits.empty() && outputName(main, i) == options.logits) {
        plan.output = i;
        return fits ? success()
                    : error("output '" + options.logits + "' is not a scalar");
      }
      if (fits)
        candidates.push_back(i);
    }
    StringRef what = wantsScalar ? "scalar float output" : "float output";
    if (!options.logits.empty())
      return error("logits=" + options.logits + ": the model has no such " +
                   what);
    if (candidates.empty())
      return error("the model has no " + what + " for the loss");
    if (candidates.size() > 1)
      return error("the model has several " + what + "s (" +
                   quoted(main, candidates) +
                   "); say which, for example --loss=" + options.loss +
                   ":logits=" + outputName(main, candidates.front()));
    plan.output = candidates.front();
    return success();
  }

  LogicalResult chooseLabels() {
    if (plan.kind == LossKind::None) {
      if (!options.labels.empty())
        return error("labels=" + options.labels +
                     ": the loss none takes no labels");
      return success();
    }
    if (outputType().getNumElements() == 0)
      return error("output '" + outputName(main, plan.output) +
                   "' has no elements");
    if (hasUnnamedLabels)
      return error("the model has an input '" + plan.labelsName +
                   "'; labels=" + plan.labelsName +
                   " uses it as the labels of the loss, labels=NAME gives the "
                   "labels another name");
    if (plan.kind == LossKind::CrossEntropy)
      return chooseClasses();
    return setLabels(outputType().getShape(),
                     Float32Type::get(main.getContext()));
  }

  /// Sets the type of the labels, or checks that of the graph's own input.
  LogicalResult setLabels(ArrayRef<int64_t> shape, Type element) {
    plan.labelsType = RankedTensorType::get(shape, element);
    // The first dimension of all data is the batch.
    if (plan.batch > 0 && (shape.empty() || shape[0] != plan.batch))
      return emitError(locationOfGraph(main), "the labels of output '")
             << outputName(main, plan.output) << "' would be "
             << plan.labelsType << ", which does not begin with the batch of "
             << plan.batch << " as the data of a trainer do"
             << (plan.kind == LossKind::CrossEntropy
                     ? "; axis= says which axis of the logits has the classes"
                     : "");
    if (!plan.labelsArgument)
      return success();
    auto given =
        cast<RankedTensorType>(main.getArgumentTypes()[*plan.labelsArgument]);
    bool kindFits = isa<IntegerType>(element)
                        ? isa<IntegerType>(given.getElementType())
                        : isFloat(given);
    if (given.getShape() != shape || !kindFits ||
        given.getElementType().isInteger(1))
      return emitError(locationOfGraph(main), "labels input '")
             << plan.labelsName << "' has type " << given
             << ", but the loss needs " << plan.labelsType
             << (plan.kind == LossKind::CrossEntropy
                     ? " (axis= says which axis of the logits has the classes)"
                     : "");
    plan.labelsType = given;
    return success();
  }

  SmallVector<int64_t> withoutAxis(int64_t axis) {
    return dropDims(outputType().getShape(), SmallVector<int64_t>{axis});
  }

  std::string axesText(const Twine &labels) {
    std::string text;
    llvm::raw_string_ostream(text)
        << labels << " the last axis (" << outputType().getRank() - 1
        << ") and axis 1 of the logits '" << outputName(main, plan.output)
        << "', " << outputType()
        << "; say with axis= which one has the classes";
    return text;
  }

  /// The axis, the last one or axis 1, without which the logits have the shape
  /// of the labels, or at least as many elements.
  FailureOr<int64_t> axisOfLabels(RankedTensorType labels) {
    const int64_t last = outputType().getRank() - 1;
    auto fits = [&](int64_t axis, bool exactly) {
      SmallVector<int64_t> shape = withoutAxis(axis);
      return exactly
                 ? labels.getShape() == ArrayRef<int64_t>(shape)
                 : labels.getNumElements() == ShapedType::getNumElements(shape);
    };
    for (bool exactly : {true, false}) {
      if (fits(last, exactly) && fits(1, exactly))
        return error(axesText("the labels fit both"));
      for (int64_t axis : {last, int64_t(1)})
        if (fits(axis, exactly))
          return axis;
    }
    return emitError(locationOfGraph(main))
           << "labels input '" << plan.labelsName << "' of type " << labels
           << " fits neither the last axis nor axis 1 of the logits '"
           << outputName(main, plan.output) << "', " << outputType()
           << "; say with axis= which one has the classes";
  }

  LogicalResult chooseClasses() {
    int64_t rank = outputType().getRank(), last = rank - 1;
    if (rank < 2)
      return error("cross-entropy needs logits of rank 2 or more; output '" +
                   outputName(main, plan.output) + "' has rank " + Twine(rank));
    RankedTensorType given;
    if (plan.labelsArgument)
      given =
          cast<RankedTensorType>(main.getArgumentTypes()[*plan.labelsArgument]);
    plan.hasSoftLabels |=
        given && isFloat(given) && given.getShape() == outputType().getShape();

    if (options.axis != kNone) {
      plan.axis = options.axis < 0 ? options.axis + rank : options.axis;
      if (plan.axis < 0 || plan.axis >= rank)
        return error("axis=" + Twine(options.axis) +
                     " is out of range for logits of rank " + Twine(rank));
    } else if (rank == 2) {
      plan.axis = last;
    } else if (withoutAxis(1) == withoutAxis(last) || plan.hasSoftLabels) {
      if (plan.hasSoftLabels)
        return error(axesText("labels of the logits' shape fit both"));
      return error(axesText("labels of one shape fit both"));
    } else if (given && !isFloat(given)) {
      FailureOr<int64_t> axis = axisOfLabels(given);
      if (failed(axis))
        return failure();
      plan.axis = *axis;
    } else {
      // Sequences have the classes on the last axis, images (N C H W ..) on
      // axis 1.
      plan.axis = rank == 3 ? last : 1;
      remark(kTrainRemarks, "assumed", main.getLoc(),
             "the class axis of the logits is " + Twine(plan.axis) +
                 "; axis= changes it");
    }
    plan.numClasses = outputType().getDimSize(plan.axis);
    if (plan.numClasses == 1)
      return error("output '" + outputName(main, plan.output) +
                   "' has one class along axis " + Twine(plan.axis) +
                   ", whose cross-entropy is always 0; bce takes one logit per "
                   "label");
    if (plan.hasSoftLabels) {
      plan.numClasses = 0;
      if (options.ignoreIndex != kNone)
        return error("ignore_index needs class numbers, but the labels are "
                     "probabilities");
      return setLabels(outputType().getShape(),
                       Float32Type::get(main.getContext()));
    }
    SmallVector<int64_t> shape = withoutAxis(plan.axis);
    // Logits [B * T, V] of a batch of B take labels [B, T].
    if (!given && plan.batch > 0 && shape[0] > plan.batch &&
        shape[0] % plan.batch == 0) {
      shape.insert(shape.begin() + 1, shape[0] / plan.batch);
      shape[0] = plan.batch;
    }
    if (given && !isFloat(given) && given.getRank() > 0) {
      SmallVector<int64_t> flat(shape);
      auto asShape = RankedTensorType::get(flat, given.getElementType());
      if (given.getNumElements() == asShape.getNumElements() &&
          given.getDimSize(0) == plan.batch)
        shape.assign(given.getShape().begin(), given.getShape().end());
    }
    return setLabels(shape, IntegerType::get(main.getContext(), 64));
  }

  void reportLookThrough() {
    Value output =
        main.getBody().front().getTerminator()->getOperand(plan.output);
    if (logitsOf(output, plan) != output)
      remark(kTrainRemarks, "looked-through", output.getLoc(),
             "the loss reads the input of '" +
                 output.getDefiningOp()->getName().getStringRef() +
                 "'; the exported model keeps it");
  }

  func::FuncOp main;
  const BuildTrainingOptions &options;
  LossPlan plan;
  /// Whether an input has the name that the labels would get by default.
  bool hasUnnamedLabels = false;
};

} // namespace

FailureOr<LossPlan> planLoss(func::FuncOp main,
                             const BuildTrainingOptions &options) {
  return Planner(main, options).run();
}

Value logitsOf(Value output, const LossPlan &plan) {
  auto hasClassAxis = [&](auto op) {
    return op && static_cast<int64_t>(op.getAxis()) == plan.axis;
  };
  if (plan.kind == LossKind::CrossEntropy) {
    if (auto op = output.getDefiningOp<SoftmaxOp>(); hasClassAxis(op))
      return op.getX();
    if (auto op = output.getDefiningOp<LogSoftmaxOp>(); hasClassAxis(op))
      return op.getX();
  }
  if (plan.kind == LossKind::Bce)
    if (auto op = output.getDefiningOp<SigmoidOp>())
      return op.getX();
  return output;
}

} // namespace sinter::passes
