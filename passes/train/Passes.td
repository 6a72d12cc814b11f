//===- Passes.td - passes of the train phase ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_TRAIN_PASSES_TD
#define SINTER_PASSES_TRAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildTraining : Pass<"sinter-build-training", "::mlir::ModuleOp"> {
  let dependentDialects = ["::sinter::exec::ExecDialect"];
  let summary = "Replace @main by @step and @eval: loss, gradients, optimizer";
  let description = [{
    @step computes the loss of a batch, the gradients of the trained states and the new values of all
    states that change. With micro-batches, @grad and @apply replace it: @grad adds up losses and
    gradients in states, and @apply updates from the sums. @eval sums losses and correct answers over
    the valid rows. The pass also declares the optimizer's states. See docs/training.md.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"cross-entropy\"",
           "cross-entropy, soft-cross-entropy, bce, mse, l1, huber or none">,
    Option<"logits", "logits", "std::string", "\"\"", "output that the loss reads; empty: the only float output">,
    Option<"labels", "labels", "std::string", "\"\"", "name of the input for the labels; empty: labels">,
    Option<"axis", "axis", "int64_t", "std::numeric_limits<int64_t>::min()",
           "class axis of the logits; smallest number: chosen by the shapes of logits and labels">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "std::numeric_limits<int64_t>::min()",
           "label of examples that do not count; smallest number: none">,
    Option<"labelSmoothing", "label-smoothing", "double", "0",
           "share of the target that is spread over all classes">,
    Option<"optimizer", "optimizer", "std::string", "\"sgd\"",
           "sgd, adam, adamw, lamb, lion, adagrad, rmsprop or muon">,
    Option<"lr", "lr", "double", "-1", "default learning rate; negative: the optimizer's own">,
    Option<"momentum", "momentum", "double", "-1",
           "momentum of sgd, rmsprop and muon; 0: no velocity is kept; negative: the optimizer's own">,
    Option<"nesterov", "nesterov", "bool", "false", "use Nesterov momentum in sgd; muon always does">,
    Option<"weightDecay", "weight-decay", "double", "-1",
           "default weight decay; negative: the optimizer's own">,
    Option<"noDecay", "no-decay", "std::string", "\"\"",
           "regular expression for the names of states without weight decay">,
    Option<"beta1", "beta1", "double", "-1",
           "beta1 of adam, adamw, lamb, lion and muon's adamw; negative: the optimizer's own">,
    Option<"beta2", "beta2", "double", "-1",
           "beta2 of adam, adamw, lamb, lion and muon's adamw, alpha of rmsprop; negative: the optimizer's own">,
    Option<"eps", "eps", "double", "-1",
           "epsilon of adam, adamw, lamb, adagrad, rmsprop and muon's adamw; negative: the optimizer's own">,
    Option<"trainable", "trainable", "std::string", "\"\"",
           "regular expression for the names of states; if given, only these are trained">,
    Option<"freeze", "freeze", "std::string", "\"\"",
           "regular expression for the names of states that are not trained">,
    Option<"padLastBatch", "pad-last-batch", "bool", "false",
           "let a step have fewer valid rows than the batch; the other rows do not count">,
    Option<"freezeBatchNorm", "freeze-bn", "bool", "false",
           "normalise with the running statistics, and do not change them">,
    Option<"runningVariance", "bn-running-var", "std::string", "\"onnx\"",
           "running variance: onnx (biased) or unbiased (as in PyTorch)">,
    Option<"lossScale", "loss-scale", "std::string", "\"none\"",
           "none, dynamic (as PyTorch's GradScaler) or a number">,
    Option<"clipNorm", "clip-norm", "double", "0", "bound for the norm of all gradients together; 0: none">,
    Option<"clipValue", "clip-value", "double", "0", "bound for each element of a gradient; 0: none">,
    Option<"replicas", "replicas", "int64_t", "1",
           "copies of the program that share a step; the program's batch is the part of one copy">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "micro-batches of a step; more than 1: @grad for each and one @apply replace @step">,
    Option<"pairwise", "pairwise", "bool", "false",
           "sum micro-batches in a binary tree; their number must be a power of two">,
    Option<"shard", "shard", "std::string", "\"\"",
           "what replicas divide: optimizer (its states), gradients (the sums over micro-batches, too); empty: nothing">,
    Option<"ema", "ema", "double", "0",
           "decay of the average of the weights that @eval and the export use; 0: no average">,
    Option<"logNorms", "log-norms", "bool", "false",
           "return the norms of the gradient and of the trained weights from @step">,
  ];
}

#endif // SINTER_PASSES_TRAIN_PASSES_TD
