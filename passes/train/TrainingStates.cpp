//===- TrainingStates.cpp - which states change, and batch statistics -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/train/Training.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// A value below this stands for minus infinity: the tensor is a mask, not a
/// weight.
constexpr double kMaskValue = -1e4;

bool looksLikeMask(double value) {
  return !std::isfinite(value) || value < kMaskValue;
}

/// Whether the initial values look like those of a mask.
bool isMask(ElementsAttr init) {
  if (init.getElementType().isF32()) {
    ArrayRef<float> values;
    if (auto dense = dyn_cast<DenseElementsAttr>(init)) {
      ArrayRef<char> raw = dense.getRawData();
      values = {reinterpret_cast<const float *>(raw.data()),
                raw.size() / sizeof(float)};
    } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(init)) {
      if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
        values = blob->getDataAs<float>();
    }
    return llvm::any_of(values, looksLikeMask);
  }
  FailureOr<Tensor> tensor = Tensor::fromAttr(init);
  return succeeded(tensor) && llvm::any_of(tensor->floats, looksLikeMask);
}

/// Whether the name of the state or one of its aliases matches.
bool matches(StringRef expression, StateOp state) {
  if (expression.empty())
    return false;
  llvm::Regex regex(expression);
  if (regex.match(userName(state)))
    return true;
  return state.getAliases() &&
         llvm::any_of(state.getAliases()->getAsValueRange<StringAttr>(),
                      [&](StringRef alias) { return regex.match(alias); });
}

} // namespace

StringRef userName(StateOp state) {
  return state.getOnnx() ? *state.getOnnx() : state.getSymName();
}

FailureOr<StateSelection>
StateSelection::create(Location loc, const BuildTrainingOptions &options) {
  StateSelection selection;
  selection.trainable = options.trainable;
  selection.freeze = options.freeze;
  selection.noDecay = options.noDecay;
  for (auto [flag, expression] : {std::pair{"trainable", &selection.trainable},
                                  {"freeze", &selection.freeze},
                                  {"no-decay", &selection.noDecay}}) {
    std::string message;
    if (!expression->empty() && !llvm::Regex(*expression).isValid(message))
      return emitError(loc) << flag << "=" << *expression
                            << " is not a regular expression: " << message;
  }
  return selection;
}

std::string StateSelection::refusal(StateOp state) const {
  auto type = cast<RankedTensorType>(state.getType());
  if (state.getRole() != StateRole::param)
    return "it is not a parameter";
  if (!isa<FloatType>(type.getElementType()))
    return "its elements are not floats";
  if (matches(freeze, state))
    return "it matches freeze=" + freeze;
  if (!trainable.empty())
    return matches(trainable, state)
               ? ""
               : "it does not match trainable=" + trainable;
  if (state.getReason()) // the importer knows better than a guess
    return "";
  if (type.getRank() == 0)
    return "it is a scalar";
  if (state.getInit() && isMask(*state.getInit()))
    return "it holds values that are not finite or below -1e4, like a mask";
  return "";
}

bool StateSelection::decays(StateOp state) const {
  return !matches(noDecay, state);
}

StateOp stateOf(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return {};
  auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(
      argument.getArgNumber(), SinterDialect::kStateAttr);
  return symbol ? dyn_cast_or_null<StateOp>(SymbolTable::lookupSymbolIn(
                      function->getParentOp(), symbol))
                : StateOp();
}

LogicalResult useBatchStatistics(func::FuncOp step, bool unbiased,
                                 StateUpdates &updates) {
  auto stateOfValue = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? stateOf(argument) : StateOp();
  };
  for (auto op : llvm::make_early_inc_range(
           step.getBody().front().getOps<BatchNormOp>())) {
    StateOp mean = stateOfValue(op.getMean()),
            variance = stateOfValue(op.getVariance());
    if (!mean || !variance)
      continue;
    OpBuilder builder(op);
    ValueBuilder b(builder, op.getLoc());
    RankedTensorType type = tensorType(op.getX());
    int64_t count =
        type.getNumElements() / std::max<int64_t>(type.getDimSize(1), 1);
    if (unbiased && count < 2)
      return op.emitError("normalises over one value per channel, which has no "
                          "unbiased variance");

    auto training = builder.create<BatchNormTrainingOp>(
        op.getLoc(), op.getX(), op.getScale(), op.getBias(),
        op.getEpsilonAttr());
    // A state that several ops share is updated by each in turn.
    double momentum = op.getMomentum().convertToDouble();
    auto update = [&](StateOp state, Value old, Value batch) {
      Value &current = updates[state];
      Value kept = b.mul(current ? current : old, momentum);
      current = b.add(kept, b.mul(batch, 1 - momentum));
    };
    Value batchVariance = training.getBatchVariance();
    if (unbiased)
      batchVariance =
          b.mul(batchVariance, static_cast<double>(count) / (count - 1));
    update(mean, op.getMean(), training.getBatchMean());
    update(variance, op.getVariance(), batchVariance);
    op.replaceAllUsesWith(training.getResult());
    op.erase();
  }
  return success();
}

} // namespace sinter::passes
