//===- Passes.td - every pass and its options -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One entry = passes/<Name>.cpp = --sinter-<name> = test/passes/<name>.mlir.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PASSES_TD
#define SINTER_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def AlignContractions : Pass<"sinter-align-contractions", "::mlir::func::FuncOp"> {
  let summary = "transpose operands of contractions that no library call takes as they lie";
  let description = [{
    A library takes one stride for each of m, n and k. Contractions whose dimension numbers do not allow
    that get their operands as [batch.., m.., k..] and [batch.., k.., n..]. On a GPU, products of 16-bit floats and
    of tf32 are padded to lines of 16 bytes where that saves more time than the copies take: zeros behind the
    operands, of the result the first part.
  }];
}

def AssignLayouts : Pass<"sinter-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "make convolutions and the ops around them channels-last where that saves copies";
  let description = [{
    Values between ops that work in either layout form an area. An area with convolutions becomes
    channels-last when the library's calls then copy more bytes less than the transposes at the area's
    borders move. What crosses the function's border, and filters, keep their layout.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def AssignPrecision : Pass<"sinter-assign-precision", "::mlir::ModuleOp"> {
  let summary = "Round what contractions multiply, and what lies between them, to 16 bits";
  let description = [{
    bf16 and fp16: operands of contractions are rounded, and so are values that are stored between them;
    arithmetic is float32 everywhere. States, loss, statistics, long sums and the results of the output layer
    stay float32. tf32 marks contractions. The module's attribute `sinter.precision` has one reason per op.
  }];
  let constructor = "::sinter::passes::createAssignPrecision(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"policy", "policy", "std::string", "\"fp32\"", "fp32, tf32, bf16 or fp16">,
    Option<"keepFp32", "keep-fp32", "std::string", "\"\"", "regular expression of nodes that stay float32">,
    ListOption<"overrides", "overrides", "std::string", "FUNCTION/NODE/OP/NUMBER=PRECISION, as a plan has them">,
  ];
}

def BucketCollectives : Pass<"sinter-bucket-collectives", "::mlir::func::FuncOp"> {
  let summary = "join all_reduces that need not wait for each other into messages of some size";
  let description = [{
    Buckets fill up in the order in which operands become known, so that a message leaves while the
    backward pass goes on. An all_reduce whose operand depends on another one's result is in a later
    message; element types are not mixed.
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "25 << 20",
           "a message is full when it has this many bytes">,
  ];
}

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

def DecomposeComposites : Pass<"sinter-decompose-composites", "::mlir::ModuleOp"> {
  let summary = "Replace composites by what they are composed of";
  let description = [{
    Softmax, normalisations, gelu, attention, losses and update rules become ops of the
    compact set, except where the target keeps them whole.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of ops, without dialect, that stay">,
  ];
}

def FoldConstants : Pass<"sinter-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Compute ops whose operands are all constants";
  let description = [{
    One walk in program order with a budget of bytes. Broadcasts and iotas of more than 1 KiB
    stay ops, and so do values that would only make the constants larger.
  }];
  let options = [
    Option<"maxOpBytes", "max-op-bytes", "int64_t", "64 << 20", "largest result of one op">,
    Option<"maxTotalBytes", "max-total-bytes", "int64_t", "256 << 20", "bound of all results together">,
  ];
}

def RecognizeComposites : Pass<"sinter-recognize-composites", "::mlir::ModuleOp"> {
  let summary = "Find softmax, layer_norm, group_norm, gelu and attention in small ops";
  let description = [{
    Fires where no intermediate value has another user. Expects the forms that
    SimplifyAlgebra leads to.
  }];
}

def SimplifyAlgebra : Pass<"sinter-simplify-algebra", "::mlir::ModuleOp"> {
  let summary = "Cheaper ops of the same value, equal ops once, dead ops gone";
  let description = [{
    Every folder and canonicalizer of the dialect, patterns on numbers, shapes and
    contractions, and common subexpressions, to a fixpoint. Node names are merged.
    What is differentiated later keeps its derivatives with `keep-derivatives`: max(x, 0) has the value of
    relu(x), but at 0 the one has the derivative 1/2 and the other 0.
  }];
  let options = [
    Option<"keepDerivatives", "keep-derivatives", "bool", "false",
           "only rewrites that have the derivative of what they replace, too">,
  ];
}

def ExpandMath : Pass<"sinter-expand-math"> {
  let summary = "Write exp, log, tanh, ... as arithmetic, once for all targets";
  let description = [{
    Runs on the code of kernels: `math` ops become `arith` ops and fma, the same for all targets. What is
    left in `math` has an instruction everywhere (sqrt, fma, floor, absf, ...).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def FuseAttention : Pass<"sinter-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Wrap attention, with the moves of its operands and results";
  let description = [{
    Each `sinter.attention` and `sinter.attention_grad` that is still there, in 16-bit floats and without a mask,
    becomes a `sinter.fusion` of kind attention, which is one library call. Transposes, slices, reshapes and the
    concatenation of gradients join it where strides can say them.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseCasts : Pass<"sinter-fuse-casts", "::mlir::func::FuncOp"> {
  let summary = "Merge the kernels that only cast arguments into one";
  let description = [{
    With 16-bit contractions each weight is rounded once per step. All of that becomes one fusion of kind multi
    at the head of the function.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def SplitContractions : Pass<"sinter-split-contractions", "::mlir::func::FuncOp"> {
  let summary = "Long sums of products with few results become several, so that there is work for all blocks";
  let description = [{
    Stretches of the contracted dimension become a batch of products in float32, which a reduction adds up. How
    many depends on the shape alone. Only contractions that the target makes kernels of: tools that have a target
    register the pass with it; without one nothing is split.
  }];
  let constructor = "::sinter::passes::createSplitContractions(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseEpilogues : Pass<"sinter-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Wrap contractions, with the ops that can be applied to their result";
  let description = [{
    Each contraction or convolution becomes a `sinter.fusion` of kind matmul or conv. For a library call it has
    the chain of single-user ops after it that the library applies before storing: bias, addition, activation.
    Where the target's library has them, it also keeps the mask of a relu and what a GELU is applied to, applies their
    gradients, and has the sums over rows that are gradients of biases as further results. Where the target generates the contraction, all elementwise ops that lead from it to one value join, and the
    fusion gets a domain. Needs a target: tools that have one register the pass with it; without one all
    contractions are library calls.
  }];
  let constructor = "::sinter::passes::createFuseEpilogues(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseLoops : Pass<"sinter-fuse-loops", "::mlir::func::FuncOp"> {
  let summary = "Group elementwise, reduction and index ops into kernels";
  let description = [{
    Every op that is neither a library call nor free joins a `sinter.fusion`, from results to inputs:
    an op joins its users when each of its elements is then computed about once. Fusions over the same
    loops that use the same elements then become one.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseOutputs : Pass<"sinter-fuse-outputs", "::mlir::func::FuncOp"> {
  let summary = "Merge the kernels that end the function into one";
  let description = [{
    Fusions whose results are only new values of state, and small ones whose results only leave the function
    (a loss, counts), become one fusion of kind multi: one launch, the whole optimizer.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseSiblings : Pass<"sinter-fuse-siblings", "::mlir::func::FuncOp"> {
  let summary = "Merge small kernels with others that run in the same stretch of the program";
  let description = [{
    A fusion that reads and writes little joins the smallest fusion between the last of its operands and the first
    of its users: both become parts of one of kind multi. Nothing is computed earlier than its operands or
    later than its users need it. On a target whose launches are dear, sums join the kernel that reads the same tensors,
    too: the gradients of a normalisation's parameters that of its input.
  }];
  let constructor = "::sinter::passes::createFuseSiblings(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseStages : Pass<"sinter-fuse-stages", "::mlir::func::FuncOp"> {
  let summary = "Let the last block of a kernel go on with the small kernel that reads its results";
  let description = [{
    On a target whose launches are dear, a fusion that reads little, some of it the results of another fusion,
    becomes a stage behind that one, in one of kind staged: the norm of all gradients behind their sums of
    squares, a mean behind the sums of its rows.
  }];
  let constructor = "::sinter::passes::createFuseStages(nullptr, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def ShareKernels : Pass<"sinter-share-kernels", "::mlir::ModuleOp"> {
  let summary = "Let kernels that differ in scalars alone be one";
  let description = [{
    Fusions over loops that are equal but for constants of one value (the number of a dropout's random stream)
    take those as scalar operands, so that one kernel is made for all of them.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def MergeContractions : Pass<"sinter-merge-contractions", "::mlir::func::FuncOp"> {
  let summary = "Products of the same rows with several weights become one call, on a GPU";
  let description = [{
    Queries, keys and values, with their biases and roundings: the weights lie side by side, and who reads the heads finds
    them by strides. Weights that are trained in 16 bits are rounded to one place, where an attention is one call;
    in float32 they stay apart: putting them together would be a copy in each step.
  }];
}

def PlaceCasts : Pass<"sinter-place-casts", "::mlir::func::FuncOp"> {
  let summary = "Let casts between 16-bit floats and float32 lie beside what computes";
  let description = [{
    Widening casts go behind views (transpose, reshape, slice, broadcast), narrowing ones before them, so that
    views move 16-bit elements and contractions see what they multiply.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def PlaceOps : Pass<"sinter-place-ops", "::mlir::ModuleOp"> {
  let summary = "give every op a device; decompose the composites that its target does not keep";
  let description = [{
    Needs targets: tools that have them register the pass with the devices that a program may span. Nodes go
    where a rule says, where they are supported and fit, and else to the first device, or to that of their
    neighbours when this saves copies. Gradients follow their nodes, updates their parameters. Data crosses
    by `sinter.copy`. What a target does not support is one error with every op, its nodes and the reason.
  }];
  let constructor = "::sinter::passes::createPlaceOps({}, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    ListOption<"rules", "rule", "std::string", "REGEX=DEVICE: nodes whose name matches run there; the last rule counts">,
    Option<"allowCpu", "allow-cpu", "std::string", "\"\"",
           "regular expression of nodes that may run on the CPU when their device cannot">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0",
           "bytes that a GPU may hold; 0: any number">,
    ListOption<"memoryReserves", "memory-reserve", "int64_t",
               "bytes of these, by device, that are kept for what the estimate of values leaves out">,
    Option<"log", "log", "bool", "false", "keep the regions in the module for a single device, too">,
    Option<"policy", "policy", "std::string", "\"fp32\"",
           "of the precision phase: composites that will have 16-bit operands are kept for it">,
    Option<"onOneDevice", "on-one-device", "std::string", "\"\"",
           "the flag that only a program on one device can have: spanning several is an error">,
  ];
}

def PlanMemory : Pass<"sinter-plan-memory", "::mlir::ModuleOp"> {
  let summary = "order of commands, place of every buffer: functions of fusions become exec programs";
  let description = [{
    Takes the order with least live memory of several, lets results take the place of operands, writes
    new values of states onto the old ones where no reader comes later, and shares one arena among
    the rest. Equal fusions become one `exec.kernel`, equal constants one `exec.constant`.
  }];
  let dependentDialects = ["::sinter::exec::ExecDialect"];
}

def Rematerialize : Pass<"sinter-rematerialize", "::mlir::ModuleOp"> {
  let summary = "compute values again instead of keeping them, until the arena fits into a limit";
  let description = [{
    Clones fusions whose results wait over the place where most memory is live, right before the results
    are read again; updates of states are divided so that gradients die early. Cheap fusions first, then
    contractions within ever longer segments of the forward pass, and never more than fits the limit.
    Before that, and without a limit, a training step may be given a share of its time: what saves most
    memory in it is computed again. Results have the same bits.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::exec::ExecDialect"];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", "0", "bytes that a program may take on its device; 0: any number">,
    Option<"workspaceBytes", "workspace", "int64_t", "0", "how many of these library calls may take">,
    Option<"hasOwnMemory", "own-memory", "bool", "false", "inputs are copied to the device">,
    Option<"spareTime", "spare-time", "double", "0", "share of a training step's time for what no limit demands">,
  ];
}

def SplitDevices : Pass<"sinter-split-devices", "::mlir::ModuleOp"> {
  let summary = "Give each part of a program that runs on one device a function of its own";
  let description = [{
    A program whose values are on several devices becomes calls and `sinter.copy`s: the ops of one device
    between two copies are a private function, with the number of its device. Nothing for programs on one
    device.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def SplitReductions : Pass<"sinter-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Long reductions to few results become two, so that there is work for all threads";
  let description = [{
    The first keeps the outermost of the reduced dimensions, the second reduces them. Which ones depends
    on the shape alone. A very long dimension is cut into equal parts; what is left over where no good
    number divides it is a short reduction of its own.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def SplitScans : Pass<"sinter-split-scans", "::mlir::func::FuncOp"> {
  let summary = "Long running sums of few lines are computed in parts, so that there is work for all threads";
  let description = [{
    What the parts of a line come to, the running sum of that, and then the parts side by side, each from
    what is before it. How many depends on the shape alone.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

#endif // SINTER_PASSES_PASSES_TD
