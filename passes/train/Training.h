//===- Training.h - the parts of the train phase ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Used by BuildTraining.cpp, which puts the parts together. Each part has its
// own source file, Training*.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_TRAIN_TRAINING_H
#define SINTER_PASSES_TRAIN_TRAINING_H

#include "passes/Passes.h"
#include "passes/RowDependence.h"
#include "passes/ValueBuilder.h"
#include "passes/train/TrainingWords.h"

#include "sinter/program_names.h"

#include <string>

namespace sinter::passes {

/// The pass name in the remarks of the train phase.
inline constexpr llvm::StringLiteral kTrainRemarks = "build-training";

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

/// What the loss reads, decided from @main and the options before anything is
/// built.
struct LossPlan {
  /// Never SoftCrossEntropy: that is CrossEntropy with hasSoftLabels.
  LossKind kind = LossKind::CrossEntropy;
  unsigned output = 0;    // index of the result of @main that it reads
  int64_t axis = 0;       // cross-entropy: the class axis
  int64_t batch = 0;      // leading dimension of the inputs; 0: they have none
  int64_t numClasses = 0; // 0: labels are not class numbers
  bool hasSoftLabels = false; // labels are probabilities over the classes
  std::string labelsName;     // of the input for the labels
  mlir::RankedTensorType labelsType; // null: the loss takes no labels
  std::optional<unsigned>
      labelsArgument; // of @main, if the graph has them as an input
};

/// Fails with one error on `main` that names the wrong option or output.
mlir::FailureOr<LossPlan> planLoss(mlir::func::FuncOp main,
                                   const BuildTrainingOptions &options);

/// The value that the loss reads: the input of a final softmax or log_softmax
/// (cross-entropy) or sigmoid (bce), otherwise `output` itself.
mlir::Value logitsOf(mlir::Value output, const LossPlan &plan);

struct StepLoss {
  mlir::Value loss; // tensor<f32>, the mean over the elements that count
  mlir::Value root; // the value to differentiate, and
  mlir::Value seed; // its cotangent; null: ones
  /// With micro-batches or shards, loss and seed are divided by `elements`, the
  /// number of elements of the whole step. If only some of them count, `count`
  /// is how many of this part of the batch do (tensor<f32>; null: all).
  mlir::Value count;
  double elements = 0;
  /// An op that mixes rows before the loss of each row is known; null: none.
  mlir::Operation *mixedBy = nullptr;
};
/// `output` is the value in `step` that @main returns for the plan's output.
/// `labels` is null if the loss takes none. With `validRows` (a tensor<i64>;
/// may be null) the loss is that of the rows below `validRows`; then it fails
/// with an error on an op that mixes rows.
mlir::FailureOr<StepLoss>
buildStepLoss(mlir::OpBuilder &builder, mlir::func::FuncOp step,
              const LossPlan &plan, const BuildTrainingOptions &options,
              mlir::Value output, mlir::Value labels, mlir::Value validRows);

/// The sum over `batch` rows from which `value` is computed without a division
/// by their number, or a multiple of it; null if there is none.
mlir::Operation *findRowSum(mlir::Value value, int64_t batch);

struct TrainedState;

/// Divides the loss and the gradients by `count` (tensor<f32>), the number of
/// elements of the step that count, instead of by all of them.
void divideByCount(ValueBuilder &b, mlir::Value count, StepLoss &stepLoss,
                   llvm::MutableArrayRef<TrainedState> states);

/// The results of @eval by name, each tensor<f32>: sums over the rows below
/// `validRows` (a tensor<i64>).
struct EvalSums {
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> sums;
  /// The op that mixes rows, so that only whole batches can be counted; null if
  /// any number of rows can.
  mlir::Operation *mixedBy = nullptr;
};
/// Fails with an error if rows cannot be masked out of a loss that takes
/// labels. `output` and `labels` are values of `eval`.
mlir::FailureOr<EvalSums>
buildEvalSums(mlir::OpBuilder &builder, mlir::func::FuncOp eval,
              const LossPlan &plan, const BuildTrainingOptions &options,
              mlir::Value output, mlir::Value labels, mlir::Value validRows);

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// The name by which users know a state.
llvm::StringRef userName(ir::StateOp state);

/// Which states are trained and which decay, by the regular expressions of the
/// options over their names.
class StateSelection {
public:
  /// Fails with an error at `loc` if an expression does not parse.
  static mlir::FailureOr<StateSelection>
  create(mlir::Location loc, const BuildTrainingOptions &options);
  /// Why `state` must not be trained; empty if it may be.
  std::string refusal(ir::StateOp state) const;
  /// Whether weight decay applies to `state`.
  bool decays(ir::StateOp state) const;

private:
  std::string trainable, freeze, noDecay;
};

/// The state whose value an argument of a function is; null for other
/// arguments.
ir::StateOp stateOf(mlir::BlockArgument argument);

/// The new value of each state that a step changes, in the order in which they
/// were first added.
using StateUpdates = llvm::MapVector<mlir::Operation *, mlir::Value>;

/// A builder for ops of the update that belong to no node. They are placed on
/// the device of their operands.
ValueBuilder optimizerBuilder(mlir::OpBuilder &builder);

/// Replaces every batch_norm whose running statistics are states by
/// batch_norm_training, and adds the new values of the statistics to `updates`.
/// Fails with an error on an op for which a batch has no (unbiased) variance.
mlir::LogicalResult useBatchStatistics(mlir::func::FuncOp step, bool unbiased,
                                       StateUpdates &updates);

/// Checks whether gradients are missing, for a step that cannot be built for
/// another reason. Differentiates a copy of @main by the parameters that
/// `selection` does not refuse (null: by all). Fails with the errors of
/// gradients() if it fails for every float output.
mlir::LogicalResult checkGradients(mlir::func::FuncOp main,
                                   const StateSelection *selection);

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

/// A trained parameter: the argument of @step, its state and its gradient.
struct TrainedState {
  mlir::Value value;
  ir::StateOp state;
  mlir::Value gradient;
  bool isMatrix = false; // has two dimensions and is not a lookup table
  /// Each replica updates a part of it. `gradient` is this replica's part of
  /// the sum from Sharding::sumPart() on, and `part` that of the value, once
  /// the update begins.
  bool isDivided = false;
  mlir::Value part;

  /// What the update changes.
  mlir::Value updated() const { return part ? part : value; }
};

/// Fails with one error at `loc` if the options name an unknown optimizer, or
/// contradict it.
mlir::LogicalResult checkOptimizer(mlir::Location loc,
                                   const BuildTrainingOptions &options);
/// The learning rate and weight decay if the options name none: PyTorch's.
double defaultLearningRate(const BuildTrainingOptions &options);
double defaultWeightDecay(const BuildTrainingOptions &options);
/// The other parameters that the optimizer takes, for example "beta1", with
/// their values.
llvm::SmallVector<std::pair<llvm::StringRef, double>>
optimizerValues(const BuildTrainingOptions &options);
/// What changes the numbers of a run: the options as TrainingOptions.def says,
/// and the numbers of `optimizerValues`.
mlir::DictionaryAttr recipeOf(mlir::MLIRContext *context,
                              const BuildTrainingOptions &options);

/// Reduces all `tensors` to one number. `map` maps the elements to float32.
/// Each tensor is reduced in rows; the results are one vector, which is reduced
/// in turn. One kernel computes all of it.
mlir::Value reduceAll(mlir::OpBuilder &builder, mlir::Location loc,
                      ir::ReduceKind kind, llvm::ArrayRef<mlir::Value> tensors,
                      llvm::function_ref<mlir::Value(mlir::Value)> map);
class LossScaling;

/// The states that replicas divide: each has one part, of equal size, of the
/// elements of a weight in their order, padded with zeros. See
/// TrainingShards.cpp.
class Sharding {
public:
  /// Fails with one error at `loc` if the options cannot be combined.
  static mlir::FailureOr<Sharding> create(mlir::Location loc,
                                          const BuildTrainingOptions &options);
  /// Sets isDivided.
  void choose(llvm::MutableArrayRef<TrainedState> states) const;
  /// Whether sums over micro-batches are divided, too.
  bool dividesSumsOfMicroBatches() const { return dividesSums; }

  /// The type of a part of a tensor of type `whole`.
  mlir::RankedTensorType partType(mlir::RankedTensorType whole) const;
  /// This replica's part of the sum of `gradient` over all replicas.
  mlir::Value sumPart(ValueBuilder &b, mlir::Value gradient) const;
  /// This replica's part of a value that all have; `replica` is its number (a
  /// tensor<i64>).
  mlir::Value partOf(ValueBuilder &b, mlir::Value whole,
                     mlir::Value replica) const;
  /// The whole, from the part of each replica.
  mlir::Value gather(ValueBuilder &b, mlir::Value part,
                     mlir::RankedTensorType whole) const;

  /// The sum of all elements of `get(state)`, which is a part of those states
  /// that are divided, mapped to float32.
  mlir::Value
  sumOverParts(mlir::OpBuilder &builder, mlir::Location loc,
               llvm::ArrayRef<TrainedState> states,
               llvm::function_ref<mlir::Value(const TrainedState &)> get,
               llvm::function_ref<mlir::Value(mlir::Value)> map) const;
  /// Whether all gradients are finite on all replicas (tensor<i1>).
  mlir::Value allFinite(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<TrainedState> states) const;

private:
  mlir::Value padded(ValueBuilder &b, mlir::Value whole) const;

  bool isUsed = false, dividesSums = false;
  int64_t replicas = 1;
};

/// The L2 norm of the trained weights before the update, which has begun
/// (tensor<f32>).
mlir::Value weightNorm(mlir::OpBuilder &builder, const Sharding &sharding,
                       llvm::ArrayRef<TrainedState> states);

/// Unscales gradients and clips them as the options say: first the elements,
/// then the norm of all together, by the control `clipNorm` (tensor<f32>; null:
/// no bound). Returns that norm (L2, tensor<f32>) as it is before it is
/// limited, like PyTorch's clip_grad_norm_; null if nothing needs it: neither
/// `clipNorm` nor --log-norms.
mlir::Value clipGradients(mlir::OpBuilder &builder,
                          const BuildTrainingOptions &options,
                          mlir::Value clipNorm, const LossScaling &scaling,
                          const Sharding &sharding,
                          llvm::MutableArrayRef<TrainedState> states);

/// Declares the optimizer's slots after the states of the module, adds them as
/// arguments of `step`, and builds the updates at the builder's insertion
/// point.
void buildUpdates(mlir::OpBuilder &builder, mlir::func::FuncOp step,
                  const BuildTrainingOptions &options,
                  const StateSelection &selection,
                  llvm::ArrayRef<TrainedState> states, mlir::Value lr,
                  mlir::Value weightDecay, StateUpdates &updates);

/// Averages of the new values of the parameters, in slots "ema" that start at
/// the initial weights: ema' = decay ema + (1 - decay) param'. By parameter.
using Averages = llvm::MapVector<mlir::Operation *, ir::StateOp>;
/// Those of divided parameters are divided, too, by `partOf`; their parts
/// before the step are added to `parts`.
Averages buildAverages(mlir::OpBuilder &builder, mlir::func::FuncOp step,
                       double decay, llvm::ArrayRef<TrainedState> states,
                       llvm::function_ref<mlir::Value(mlir::Value)> partOf,
                       StateUpdates &parts, StateUpdates &updates);

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// The slot of the state in which @grad adds up the loss; more levels of it
/// have this name and a number.
inline constexpr llvm::StringLiteral kLossSumSlot = SINTER_OUTPUT_LOSS_SUM;

/// Sums over the micro-batches of a step, in states of role accum.
///
/// In order: a sum starts at zero, and @apply resets it to zero. Pairwise: a
/// binary tree over micro-batches 0 .. N-1 (N is a power of two), which adds
/// neighbours, then neighbouring sums, and so on. It has one state per level,
/// as a binary counter has digits; between two steps their values are
/// meaningless.
class Accumulation {
public:
  Accumulation(const BuildTrainingOptions &options, const Sharding &sharding);
  /// Whether there is more than one micro-batch.
  bool isUsed() const { return numParts > 1; }

  /// Declares the states and adds the loss, count and gradients of this
  /// micro-batch to them. `microBatch` is its number, a tensor<i64>.
  void add(mlir::OpBuilder &builder, mlir::func::FuncOp grad,
           const StepLoss &loss, llvm::ArrayRef<TrainedState> states,
           mlir::Value microBatch, StateUpdates &updates);
  /// Replaces the loss and the gradients by their sums over micro-batches and
  /// replicas, normalised to the number of elements that count.
  void take(mlir::OpBuilder &builder, mlir::func::FuncOp apply, StepLoss &loss,
            llvm::MutableArrayRef<TrainedState> states, StateUpdates &updates);

private:
  using Levels = llvm::SmallVector<ir::StateOp, 1>;
  /// The sum over the micro-batches of this replica.
  mlir::Value takeOwn(mlir::OpBuilder &builder, mlir::func::FuncOp apply,
                      const Levels &levels, StateUpdates &updates);
  mlir::Value takeOne(mlir::OpBuilder &builder, mlir::func::FuncOp apply,
                      const Levels &levels, StateUpdates &updates);

  int64_t numParts, replicas;
  bool pairwise;
  Sharding sharding;
  Levels loss, count;
  llvm::SmallVector<Levels> gradients;
};

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The checks of indices of @main, as part of a step: if one of them finds an
/// index out of range, no state changes. With micro-batches the first fault of
/// the step is kept in a state of role accum, with its position counted over
/// all micro-batches.
class IndexChecks {
public:
  /// The number of the result of `main` that holds what its checks find;
  /// nothing if it has no checks.
  static std::optional<unsigned> resultOf(mlir::func::FuncOp main);
  /// `batch`: LossPlan::batch.
  IndexChecks(mlir::func::FuncOp main, int64_t batch,
              const BuildTrainingOptions &options);

  bool any() const { return !checks.empty(); }
  /// SinterDialect::kIndexChecksAttr of a function that checks `parts`
  /// micro-batches one after the other.
  mlir::DictionaryAttr attribute(int64_t parts) const;

  /// For micro-batches. In @grad, records in the state what this one found
  /// (tensor<k x 2 x i64>); in @apply, reads and resets the state.
  void add(mlir::OpBuilder &builder, mlir::func::FuncOp grad, mlir::Value found,
           mlir::Value microBatch, StateUpdates &updates);
  mlir::Value take(mlir::OpBuilder &builder, mlir::func::FuncOp apply,
                   StateUpdates &updates) const;
  /// Whether no replica found an index out of range (tensor<i1>); `found` is
  /// the result of this one.
  mlir::Value areInRange(mlir::OpBuilder &builder, mlir::Value found) const;

private:
  /// Position p of the indices of a check belongs to row (p / stride) % rows of
  /// a micro-batch. `rows` is 0 if the row is not known.
  struct Check {
    mlir::DictionaryAttr attribute;
    int64_t elements, rows, stride;
  };
  llvm::SmallVector<Check> checks;
  int64_t replicas;
  ir::StateOp state; // with micro-batches: the first fault of the step
};

//===----------------------------------------------------------------------===//
// Loss scaling
//===----------------------------------------------------------------------===//

/// Differentiates the loss times a scale, so that few gradients vanish in 16
/// bits, and divides the gradients by the scale again. With `dynamic`, the
/// scale is a state that follows PyTorch's GradScaler: a step whose gradients
/// are not all finite changes no parameter and no state of the optimizer, and
/// halves the scale. The scale doubles after 2000 good steps in a row.
class LossScaling {
public:
  /// Fails with one error at `loc` if the option is not a valid scale.
  static mlir::FailureOr<LossScaling>
  create(mlir::Location loc, const BuildTrainingOptions &options);

  /// `seed`, the cotangent of `root` (null: ones), times the scale; `seed`
  /// itself if nothing is scaled. Declares the states and adds the scale to the
  /// arguments of `step`.
  mlir::Value scaleSeed(mlir::OpBuilder &builder, mlir::func::FuncOp step,
                        mlir::Value root, mlir::Value seed);
  /// Adds to the arguments of `step` the states that the functions below need;
  /// they build in this function. `isOther`: it is not the function of
  /// scaleSeed().
  void enter(mlir::func::FuncOp step, bool isOther);
  /// With dynamic scaling, computes whether all gradients are finite.
  void check(mlir::OpBuilder &builder, const Sharding &sharding,
             llvm::ArrayRef<TrainedState> states);
  /// A gradient, or elements of it, divided by the scale. Call check() first.
  mlir::Value unscaled(mlir::OpBuilder &builder, mlir::Value gradient) const;
  /// Lets a step that is skipped keep the states in `updates` that are not in
  /// `others`; adds the new values of the states of the scale. `parts`: see
  /// keepUnless().
  void finish(mlir::OpBuilder &builder, mlir::func::FuncOp step,
              const StateUpdates &parts, const StateUpdates &others,
              StateUpdates &updates);
  /// Whether finish() skips steps, depending on the gradients.
  bool skipsSteps() const { return isDynamic; }
  /// The outputs of the step about the scale, each tensor<f32>, by name.
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

/// Whether a step may change states (tensor<i1>): its indices are in range and
/// its `loss` is finite. With dynamic scaling, the loss is not checked; scaling
/// checks the gradients. Null: it always may. `indexFaults` is null if `checks`
/// is empty.
mlir::Value mayChangeStates(mlir::OpBuilder &builder, mlir::Value loss,
                            const LossScaling &scaling,
                            const IndexChecks &checks, mlir::Value indexFaults);

/// Keeps the states in `updates` that are not in `others` at their values
/// before `step`, unless `condition` (tensor<i1>) holds. `parts` has those
/// before `step` of states of which `updates` has a part.
void keepUnless(mlir::OpBuilder &builder, mlir::Value condition,
                mlir::func::FuncOp step, const StateUpdates &parts,
                const StateUpdates &others, StateUpdates &updates);

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

/// The sum over replicas; `value` itself if there is only one.
mlir::Value sumOverReplicas(ValueBuilder &b, mlir::Value value,
                            int64_t replicas);

/// Replaces gradients by their sums over replicas, or this replica's parts of
/// these. They are the gradients of the whole batch, since losses are
/// normalised over the whole batch.
void sumGradients(mlir::OpBuilder &builder, int64_t replicas,
                  const Sharding &sharding,
                  llvm::MutableArrayRef<TrainedState> states);

/// Replaces new running statistics, which each replica computes from its own
/// rows, by their means over replicas, and warns of that.
void averageStatistics(mlir::OpBuilder &builder, int64_t replicas,
                       StateUpdates &updates);

/// Makes dropouts draw by the number of an element in the whole batch: the
/// first element of a part has the number `part()` times the elements of a
/// part. Micro-batches and replicas divide a batch into parts; `part` inserts
/// at the begin of the function. Warns of dropouts whose leading dimension is
/// not the batch.
void numberDropouts(mlir::func::FuncOp step, int64_t batch,
                    llvm::function_ref<mlir::Value()> part);

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// A mask of `shape`: whether the row of each element is below `validRows` (a
/// tensor<i64>). `rows` says where the `batch` rows lie in `shape`.
mlir::Value validMask(ValueBuilder &b, llvm::ArrayRef<int64_t> shape,
                      const RowDim &rows, int64_t batch, mlir::Value validRows);

/// Fails, with an error on the op, if a row of `output` depends on other rows
/// of the batch: then rows beyond the valid ones cannot be masked out.
mlir::LogicalResult checkRowsIndependent(const RowDependence &rows,
                                         mlir::Value output);

/// The loss that the graph itself computes, with rows from `validRows` on
/// masked out, and its value without any rows (null: 0). `loss` is null if it
/// is not a sum over rows, scaled and shifted, but `mixedBy` mixes rows before
/// the sum.
struct MaskedLoss {
  mlir::Value loss, empty;
  mlir::Operation *mixedBy;
};
MaskedLoss maskGraphLoss(ValueBuilder &b, const RowDependence &rows,
                         mlir::Value output, int64_t batch,
                         mlir::Value validRows);

} // namespace sinter::passes

#endif // SINTER_PASSES_TRAIN_TRAINING_H
