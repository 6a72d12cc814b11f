//===- Passes.td - passes of the train phase -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_TRAIN_PASSES_TD
#define SINTER_PASSES_TRAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildTraining : Pass<"sinter-build-training", "::mlir::ModuleOp"> {
  let summary = "Replace @main by @step and @eval: loss, gradients, optimizer";
  let description = [{
    @step computes the loss of a batch, its gradients by the trainable states and their new
    values; with micro-batches @grad adds up losses and gradients and @apply uses the sums. @eval sums loss and correct answers over the rows that count. States of the
    optimizer are declared. See docs/training.md.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"cross-entropy\"",
           "cross-entropy, bce, mse, l1, huber or none">,
    Option<"logits", "logits", "std::string", "\"\"", "output that the loss reads; empty: the only float one">,
    Option<"labels", "labels", "std::string", "\"\"", "name of the labels' input; empty: labels">,
    Option<"axis", "axis", "int64_t", "std::numeric_limits<int64_t>::min()",
           "class axis of the logits; the least number: chosen by their rank">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "std::numeric_limits<int64_t>::min()",
           "label of examples that do not count; the least number: none">,
    Option<"labelSmoothing", "label-smoothing", "double", "0", "share of the target spread over all classes">,
    Option<"optimizer", "optimizer", "std::string", "\"sgd\"",
           "sgd, adam, adamw, lamb, lion, adagrad, rmsprop or muon">,
    Option<"lr", "lr", "double", "-1", "default learning rate; negative: the optimizer's">,
    Option<"momentum", "momentum", "double", "-1",
           "of sgd, rmsprop and muon; 0: no velocity is kept; negative: the optimizer's">,
    Option<"nesterov", "nesterov", "bool", "false", "Nesterov momentum of sgd">,
    Option<"weightDecay", "weight-decay", "double", "-1",
           "default weight decay; negative: the optimizer's">,
    Option<"noDecay", "no-decay", "std::string", "\"\"", "regular expression of states without weight decay">,
    Option<"beta1", "beta1", "double", "-1", "of adam, lamb and lion; negative: the optimizer's">,
    Option<"beta2", "beta2", "double", "-1",
           "of adam, lamb, lion, and rmsprop's alpha; negative: the optimizer's">,
    Option<"eps", "eps", "double", "-1", "of adam, lamb, adagrad and rmsprop; negative: the optimizer's">,
    Option<"trainable", "trainable", "std::string", "\"\"", "regular expression of the only states to train">,
    Option<"freeze", "freeze", "std::string", "\"\"", "regular expression of states not to train">,
    Option<"padLastBatch", "pad-last-batch", "bool", "false",
           "a step may have fewer valid rows than the batch: the others count nothing">,
    Option<"freezeBatchNorm", "freeze-bn", "bool", "false", "keep the running statistics and use them">,
    Option<"runningVariance", "bn-running-var", "std::string", "\"onnx\"",
           "onnx (biased) or unbiased (PyTorch's)">,
    Option<"lossScale", "loss-scale", "std::string", "\"none\"",
           "none, dynamic (PyTorch's GradScaler) or a number">,
    Option<"clipNorm", "clip-norm", "double", "0", "bound of the norm of all gradients together; 0: none">,
    Option<"clipValue", "clip-value", "double", "0", "bound of each element of a gradient; 0: none">,
    Option<"replicas", "replicas", "int64_t", "1",
           "copies of the program that share the work of a step: its batch is the part of one">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "micro-batches of a step: @grad for each and one @apply in the place of @step">,
    Option<"pairwise", "pairwise", "bool", "false",
           "sum micro-batches in a binary tree; their number is a power of two">,
    Option<"ema", "ema", "double", "0",
           "decay of the average of the weights that @eval and the export use; 0: none">,
  ];
}

#endif // SINTER_PASSES_TRAIN_PASSES_TD
