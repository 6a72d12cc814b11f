//===- Training.h - the parts of the train phase ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// BuildTraining puts them together; each part has its own source file,
// Training*.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_TRAIN_TRAINING_H
#define SINTER_PASSES_TRAIN_TRAINING_H

#include "passes/Passes.h"
#include "passes/RowDependence.h"
#include "passes/ValueBuilder.h"

#include <string>

namespace sinter::passes {

/// The name under which remarks of the train phase appear.
inline constexpr llvm::StringLiteral kTrainRemarks = "build-training";

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

/// What the loss reads, decided from @main and the options before anything is
/// built.
struct LossPlan {
  std::string kind;       // "cross-entropy", ...
  unsigned output = 0;    // index of @main's result that it reads
  int64_t axis = 0;       // cross-entropy: the class axis
  int64_t batch = 0;      // leading dimension of the inputs; 0: they have none
  int64_t numClasses = 0; // 0: labels have no range
  bool hasSoftLabels = false; // labels are probabilities over the classes
  std::string labelsName;     // of the labels' input
  mlir::RankedTensorType labelsType; // null: the loss takes no labels
  std::optional<unsigned>
      labelsArgument; // of @main, when the graph has them as an input
};

/// Fails with one error on `main` that says which option or output is wrong.
mlir::FailureOr<LossPlan> planLoss(mlir::func::FuncOp main,
                                   const BuildTrainingOptions &options);

/// What the loss reads of `output`: the input of a final softmax, log_softmax
/// (cross-entropy) or sigmoid (bce), else `output` itself.
mlir::Value logitsOf(mlir::Value output, const LossPlan &plan);

struct StepLoss {
  mlir::Value loss; // tensor<f32>, the mean over what counts
  mlir::Value root; // the value to differentiate, and
  mlir::Value seed; // its cotangent; null: ones
  /// With micro-batches loss and seed are divided by `elements`, those of the
  /// whole step. Where only some of them count, `count` of this micro-batch's
  /// do (tensor<f32>; null: all).
  mlir::Value count;
  double elements = 0;
  /// An op that mixes rows before the loss of each is known; null: none.
  mlir::Operation *mixedBy = nullptr;
};
/// `output` is the value that @main returns for the plan's output, and in
/// `step`; `labels` null without labels. With `validRows` (a tensor<i64>; may
/// be null) the loss is of the rows below; fails with an error on the op that
/// mixes rows.
mlir::FailureOr<StepLoss>
buildStepLoss(mlir::OpBuilder &builder, mlir::func::FuncOp step,
              const LossPlan &plan, const BuildTrainingOptions &options,
              mlir::Value output, mlir::Value labels, mlir::Value validRows);

/// The results of @eval by name, each tensor<f32>: sums over the rows below
/// `validRows` (a tensor<i64>).
struct EvalSums {
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> sums;
  /// Why only whole batches can be counted: this op mixes rows. Null: any can.
  mlir::Operation *mixedBy = nullptr;
};
/// Fails with an error where rows cannot be masked out of a loss that takes
/// labels. What `output` and `labels` depend on is in `eval`.
mlir::FailureOr<EvalSums>
buildEvalSums(mlir::OpBuilder &builder, mlir::func::FuncOp eval,
              const LossPlan &plan, const BuildTrainingOptions &options,
              mlir::Value output, mlir::Value labels, mlir::Value validRows);

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// The name that users know a state by.
llvm::StringRef userName(ir::StateOp state);

/// Regular expressions over the names of states; made from the options.
class StateSelection {
public:
  /// Fails with an error at `loc` when an expression does not parse.
  static mlir::FailureOr<StateSelection>
  create(mlir::Location loc, const BuildTrainingOptions &options);
  /// Why `state` is not to be trained; empty when it is.
  std::string refusal(ir::StateOp state) const;
  /// Whether weight decay applies to `state`.
  bool decays(ir::StateOp state) const;

private:
  std::string trainable, freeze, noDecay;
};

/// The state that an argument of a function carries; null where it carries
/// none.
ir::StateOp stateOf(mlir::BlockArgument argument);

/// The new value of each state that a step changes, in the order of first
/// mention.
using StateUpdates = llvm::MapVector<mlir::Operation *, mlir::Value>;

/// Builds ops of the update that belong to no node: they are placed where their
/// operands are.
ValueBuilder optimizerBuilder(mlir::OpBuilder &builder);

/// Turns batch_norm with running statistics in state into batch_norm_training,
/// and adds the statistics' new values. Fails with an error on the op where a
/// batch has no variance.
mlir::LogicalResult useBatchStatistics(mlir::func::FuncOp step, bool unbiased,
                                       StateUpdates &updates);

/// Whether gradients are missing, for a step that cannot be built for another
/// reason: differentiates @main by the states that `selection` leaves (null:
/// all parameters), in a copy. Fails with the errors of gradients() where none
/// of the float outputs could be the loss.
mlir::LogicalResult checkGradients(mlir::func::FuncOp main,
                                   const StateSelection *selection);

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

/// A parameter's argument of @step, its state and its gradient.
struct TrainedState {
  mlir::Value value;
  ir::StateOp state;
  mlir::Value gradient;
  bool isMatrix = false; // of two dimensions, and no table of rows to look up
};

/// One error at `loc` when the options name no optimizer that there is, or
/// contradict it.
mlir::LogicalResult checkOptimizer(mlir::Location loc,
                                   const BuildTrainingOptions &options);
/// The learning rate and weight decay when the options name none: PyTorch's.
double defaultLearningRate(const BuildTrainingOptions &options);
double defaultWeightDecay(const BuildTrainingOptions &options);
/// What else the optimizer takes, "beta1" for example, with its value.
llvm::SmallVector<std::pair<llvm::StringRef, double>>
optimizerValues(const BuildTrainingOptions &options);

/// The elements of all gradients, in rows, mapped to float32 by `map`, reduced
/// along the rows of each: one vector, which is reduced in turn. One kernel for
/// them all.
mlir::Value reduceGradients(mlir::OpBuilder &builder, mlir::Location loc,
                            ir::ReduceKind kind,
                            llvm::ArrayRef<TrainedState> states,
                            llvm::function_ref<mlir::Value(mlir::Value)> map);

class LossScaling;

/// Unscales gradients and bounds them as the options ask: elements first, then
/// the norm of all together, against the control `clipNorm` (tensor<f32>; null:
/// no bound).
void clipGradients(mlir::OpBuilder &builder,
                   const BuildTrainingOptions &options, mlir::Value clipNorm,
                   const LossScaling &scaling,
                   llvm::MutableArrayRef<TrainedState> states);

/// Declares the optimizer's slots after the states of `step`'s module, adds
/// them as arguments of `step` and builds the updates at the builder's
/// insertion point.
void buildUpdates(mlir::OpBuilder &builder, mlir::func::FuncOp step,
                  const BuildTrainingOptions &options,
                  const StateSelection &selection,
                  llvm::ArrayRef<TrainedState> states, mlir::Value lr,
                  mlir::Value weightDecay, StateUpdates &updates);

/// Averages of the parameters' new values as slots "ema", which begin at the
/// initial weights: ema' = decay ema + (1 - decay) param'. By parameter.
using Averages = llvm::MapVector<mlir::Operation *, ir::StateOp>;
Averages buildAverages(mlir::OpBuilder &builder, mlir::func::FuncOp step,
                       double decay, llvm::ArrayRef<TrainedState> states,
                       StateUpdates &updates);

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// Sums over the micro-batches of a step, in states of role accum.
///
/// In order: a sum begins at zero, and @apply sets it to zero again. Pairwise:
/// the tree over micro-batches 0 .. N-1 (a power of two) that adds neighbours,
/// then neighbouring sums, and so on, with one state for each of its levels, as
/// a binary counter has digits; what they hold between two steps is of no use.
class Accumulation {
public:
  explicit Accumulation(const BuildTrainingOptions &options);
  /// Whether there is more than one micro-batch.
  bool isUsed() const { return numParts > 1; }

  /// Declares the states and adds this micro-batch's loss, count and gradients
  /// to them. `microBatch`: its number, a tensor<i64>.
  void add(mlir::OpBuilder &builder, mlir::func::FuncOp grad,
           const StepLoss &loss, llvm::ArrayRef<TrainedState> states,
           mlir::Value microBatch, StateUpdates &updates);
  /// The sums over micro-batches and replicas in the place of the loss and the
  /// gradients, divided by what counts.
  void take(mlir::OpBuilder &builder, mlir::func::FuncOp apply, StepLoss &loss,
            llvm::MutableArrayRef<TrainedState> states, StateUpdates &updates);

private:
  using Levels = llvm::SmallVector<ir::StateOp, 1>;
  mlir::Value takeOne(mlir::OpBuilder &builder, mlir::func::FuncOp apply,
                      const Levels &levels, StateUpdates &updates);

  int64_t numParts, replicas;
  bool pairwise;
  Levels loss, count;
  llvm::SmallVector<Levels> gradients;
};

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The checks of indices that @main has, in a step: where one of them found an
/// index out of range, no state changes. With micro-batches the first fault of
/// the step is kept in a state of role accum, its position counted over the
/// micro-batches.
class IndexChecks {
public:
  /// Those of `main`; `found` is their result in a copy of its body.
  static std::optional<unsigned> resultOf(mlir::func::FuncOp main);
  /// `batch`: LossPlan::batch.
  IndexChecks(mlir::func::FuncOp main, int64_t batch,
              const BuildTrainingOptions &options);

  bool any() const { return !checks.empty(); }
  /// SinterDialect::kIndexChecksAttr of a function that looks at `parts`
  /// micro-batches one after the other.
  mlir::DictionaryAttr attribute(int64_t parts) const;

  /// Micro-batches: adds what this one found (tensor<k x 2 x i64>) to the
  /// state, in @grad; and takes it from there in @apply.
  void add(mlir::OpBuilder &builder, mlir::func::FuncOp grad, mlir::Value found,
           mlir::Value microBatch, StateUpdates &updates);
  mlir::Value take(mlir::OpBuilder &builder, mlir::func::FuncOp apply,
                   StateUpdates &updates) const;
  /// Whether neither this replica nor another one `found` an index out of
  /// range; tensor<i1>.
  mlir::Value areInRange(mlir::OpBuilder &builder, mlir::Value found) const;

private:
  /// Position p of the indices of a check belongs to row (p / stride) % rows
  /// of a micro-batch. `rows` is 0 where the row is not known.
  struct Check {
    mlir::DictionaryAttr attribute;
    int64_t elements, rows, stride;
  };
  llvm::SmallVector<Check> checks;
  int64_t replicas;
  ir::StateOp state; // of micro-batches
};

//===----------------------------------------------------------------------===//
// Loss scaling
//===----------------------------------------------------------------------===//

/// Gradients are computed of the loss times a scale, so that few of them vanish
/// in 16 bits, and divided by it again. With `dynamic` the scale is a state
/// that follows PyTorch's GradScaler: a step whose gradients are not all finite
/// changes no parameter and no state of the optimizer and halves the scale,
/// which doubles after 2000 good steps in a row.
class LossScaling {
public:
  /// One error at `loc` when the options name no scale.
  static mlir::FailureOr<LossScaling>
  create(mlir::Location loc, const BuildTrainingOptions &options);

  /// The cotangent of `root` times the scale; `seed` null stands for ones, and
  /// null is returned for it where nothing is scaled. Declares the states and
  /// adds the scale to the arguments of `step`.
  mlir::Value scaleSeed(mlir::OpBuilder &builder, mlir::func::FuncOp step,
                        mlir::Value root, mlir::Value seed);
  /// Adds to `step`'s arguments what the rest of this needs; all that follows
  /// is about this function. `isOther`: it is not the one that scales.
  void enter(mlir::func::FuncOp step, bool isOther);
  /// Finds out whether all gradients are finite, where that matters.
  void check(mlir::OpBuilder &builder, llvm::ArrayRef<TrainedState> states);
  /// What a gradient, or elements of it, are of the loss itself; after check().
  mlir::Value unscaled(mlir::OpBuilder &builder, mlir::Value gradient) const;
  /// Keeps what `updates` changes of the states that are not in `others`, but
  /// for a step that is skipped; adds the new states of the scale.
  void finish(mlir::OpBuilder &builder, mlir::func::FuncOp step,
              const StateUpdates &others, StateUpdates &updates);
  /// Whether finish() decides by the gradients which steps change states.
  bool skipsSteps() const { return isDynamic; }
  /// What the step tells of the scale, each tensor<f32>, by output's name.
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>>
  outputs(mlir::OpBuilder &builder) const;

private:
  bool isDynamic = false;
  double fixedScale = 1;              // 1: none
  mlir::Value scale, growth, skipped; // before the step
  mlir::Value inverse;                // 1 / scale
  mlir::Value newSkipped;
  mlir::Value allFinite; // whether all gradients are; tensor<i1>
  ir::StateOp scaleState, growthState, skippedState;
};

//===----------------------------------------------------------------------===//
// Steps that change no state
//===----------------------------------------------------------------------===//

/// Whether a tensor<f32> is finite; tensor<i1>.
mlir::Value isFinite(ValueBuilder &b, mlir::Value x);

/// Whether a step may change states (tensor<i1>): its `loss` is finite, where
/// no dynamic scaling looks at the gradients instead, and its indices are in
/// range. Null: it always may. `indexFaults` is null where `checks` is empty.
mlir::Value mayChangeStates(mlir::OpBuilder &builder, mlir::Value loss,
                            const LossScaling &scaling,
                            const IndexChecks &checks, mlir::Value indexFaults);

/// Replaces what `updates` changes of the states that are not in `others` by
/// the values before `step`, unless `condition` (tensor<i1>) holds.
void keepUnless(mlir::OpBuilder &builder, mlir::Value condition,
                mlir::func::FuncOp step, const StateUpdates &others,
                StateUpdates &updates);

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

/// The sum over replicas; `value` itself where there is one.
mlir::Value sumOverReplicas(ValueBuilder &b, mlir::Value value,
                            int64_t replicas);

/// Replaces gradients by their sums over replicas. Losses are normalised over
/// the whole batch, so that these are the whole batch's gradients.
void sumGradients(mlir::OpBuilder &builder, int64_t replicas,
                  llvm::MutableArrayRef<TrainedState> states);

/// Replaces new running statistics, which replicas make of their own rows, by
/// their means over replicas, with a warning.
void averageStatistics(mlir::OpBuilder &builder, int64_t replicas,
                       StateUpdates &updates);

/// Makes dropouts draw by the element's number in the whole batch: that of a
/// part's first row is `part()` times the elements of a part. Warns of those
/// whose leading dimension is not the batch. Parts are what micro-batches and
/// replicas make of a batch; `part` inserts at the function's begin.
void numberDropouts(mlir::func::FuncOp step, int64_t batch,
                    llvm::function_ref<mlir::Value()> part);

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Whether each element of `shape` is of a row below `validRows` (a
/// tensor<i64>) of `batch`, which lie as `rows` says.
mlir::Value validMask(ValueBuilder &b, llvm::ArrayRef<int64_t> shape,
                      const RowDim &rows, int64_t batch, mlir::Value validRows);

/// Fails, with an error on the op, where a row of `output` depends on other
/// rows of the batch; rows beyond the valid ones could not be masked out then.
mlir::LogicalResult checkRowsIndependent(const RowDependence &rows,
                                         mlir::Value output);

/// The graph's own loss with rows from `validRows` on masked out, and what it
/// is without any rows (null: 0). `loss` is null where it is no sum over rows
/// of what is computed for each of them, scaled and shifted, but mixes rows in
/// an op before.
struct MaskedLoss {
  mlir::Value loss, empty;
  mlir::Operation *mixedBy;
};
MaskedLoss maskGraphLoss(ValueBuilder &b, const RowDependence &rows,
                         mlir::Value output, int64_t batch,
                         mlir::Value validRows);

} // namespace sinter::passes

#endif // SINTER_PASSES_TRAIN_TRAINING_H
