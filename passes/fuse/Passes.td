//===- Passes.td - passes of the fuse phase -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_PASSES_TD
#define SINTER_PASSES_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineScans : Pass<"sinter-outline-scans", "::mlir::ModuleOp"> {
  let summary = "Make private functions of the bodies of scans";
  let description = [{
    Each `sinter.scan` becomes a `sinter.scan_call` of a new private function, which later passes fuse and plan like
    other functions. A last value that is also stacked is read from the stack. Scans in bodies of scans
    and in programs on several devices are errors.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseAttention : Pass<"sinter-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Make attention a library call, with the moves of its operands and results";
  let description = [{
    Each `sinter.attention` and `sinter.attention_grad` that the target kept whole becomes
    a `sinter.library_call` of kind attention. Transposes, slices and reshapes of its operands and results,
    and the concatenation of its gradients, become part of the call if its strides can express them.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseCasts : Pass<"sinter-fuse-casts", "::mlir::func::FuncOp"> {
  let summary = "Merge the kernels that only cast arguments into one";
  let description = [{
    With 16-bit contractions each weight is rounded once per step. These casts become one kernel of kind
    multi at the head of the function.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def ChunkRows : Pass<"sinter-chunk-rows", "::mlir::func::FuncOp"> {
  let summary = "Compute the logits of a large vocabulary in chunks of rows";
  let description = [{
    A product whose result is much larger than what it is computed from, and all that is computed from it
    (the loss, its gradient, and the products with that gradient), become the same ops for a few chunks of
    rows. Results with rows are concatenated, sums over rows are added up. So the large values never exist as a
    whole. The number of chunks depends on the shapes and on the kind of device, and is so low that
    reading the weights and writing the sums for each chunk takes little time.
  }];
  let constructor = "::sinter::passes::createChunkRows(nullptr, {})";
  let options = [
    Option<"leastBytes", "least-bytes", "int64_t", "32 << 20",
           "the size of the product's result below which it is left whole">,
    Option<"mostChunks", "most-chunks", "int64_t", "16", "the most chunks">
  ];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def ChooseCalls : Pass<"sinter-choose-calls", "::mlir::func::FuncOp"> {
  let summary = "Mark contractions that become kernels although a library could compute them";
  let description = [{
    The rule of the target marks nothing: what a library computes is a call of it. A lock file can decide
    otherwise for each contraction for which the target also generates kernels (`--lockfile`, `--tune`).
    Tools that have a target register the pass with it; without one nothing is marked.
  }];
  let constructor = "::sinter::passes::createChooseCalls(nullptr, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def SplitAttention : Pass<"sinter-split-attention", "::mlir::func::FuncOp"> {
  let summary = "Split the keys of attention with one query, so that all blocks have work";
  let description = [{
    A softmax between a product of vectors and another one is cut into stretches of keys. Each has a maximum,
    a sum, and a product with its values, in float32; these are combined at the end. The number of stretches
    depends on the shape alone. Only for targets whose launches are expensive: tools that have a
    target register the pass with it; without one nothing is split.
  }];
  let constructor = "::sinter::passes::createSplitAttention(nullptr, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def SplitContractions : Pass<"sinter-split-contractions", "::mlir::func::FuncOp"> {
  let summary = "Split long sums of products with few results, so that all blocks have work";
  let description = [{
    The contracted dimension is cut into stretches. They become a batch of products in float32, whose
    results a reduction adds up. The number of stretches depends on the shape alone. Only contractions for
    which the target generates kernels are split: tools that have a target register the pass with it;
    without one nothing is split.
  }];
  let constructor = "::sinter::passes::createSplitContractions(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseEpilogues : Pass<"sinter-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Wrap contractions, with the ops that can be applied to their result";
  let description = [{
    A contraction or convolution that a library computes becomes a `sinter.library_call` of kind matmul or
    conv, with the chain of single-user ops that the library applies to the result before storing it:
    bias, addition, activation. Where the target's library can do that, the call also keeps the mask of a
    relu or the operand of a GELU for the gradient, applies the gradients of both, and computes the sums
    over rows that are gradients of biases.

    A contraction that the target generates becomes a `sinter.kernel` of kind matmul or conv, with a
    domain. All elementwise ops that lead from the contraction to one value become part of it, and also
    those that lead to several values which are stored anyway: the update of a weight joins the product that
    computes its gradient.

    Needs a target: tools that have one register the pass with it; without one all contractions are
    library calls.
  }];
  let constructor = "::sinter::passes::createFuseEpilogues(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseLoops : Pass<"sinter-fuse-loops", "::mlir::func::FuncOp"> {
  let summary = "Group elementwise, reduction and index ops into kernels";
  let description = [{
    Every op that is neither a library call nor free becomes part of a `sinter.kernel`. The ops are
    visited from results to inputs: an op joins the kernel of its users if each of its elements is then
    computed about once. Afterwards kernels over the same loops that use the same elements are merged.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def ExplainFusion : Pass<"sinter-explain-fusion", "::mlir::func::FuncOp"> {
  let summary = "Report why neighbours that are not both made of loops are several kernels";
  let description = [{
    Changes nothing. For each pair of kernels and library calls of which one reads a result of the other, or
    which read a common value, reports why they are not one kernel, if the kinds of the two decide that. The
    other passes of the phase report the rest where they decide it. Does nothing unless a tool wants details.
  }];
}

def FuseOutputs : Pass<"sinter-fuse-outputs", "::mlir::func::FuncOp"> {
  let summary = "Merge the kernels that end the function into one";
  let description = [{
    Kernels whose results are only new values of states, and small ones whose results only leave the
    function (a loss, counts), become one kernel of kind multi: the whole optimizer is one launch.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseSiblings : Pass<"sinter-fuse-siblings", "::mlir::func::FuncOp"> {
  let summary = "Merge small kernels with others that run in the same stretch of the program";
  let description = [{
    A kernel that reads and writes few elements is merged with the smallest kernel between the last of its
    operands and the first of its users: both become parts of one kernel of kind multi. Nothing is computed
    earlier than its operands are there, or later than its users need it.
    On a target whose launches are expensive, sums are also merged with the kernel that reads the same
    tensors: the gradients of a normalisation's parameters with that of its input.
  }];
  let constructor = "::sinter::passes::createFuseSiblings(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseRows : Pass<"sinter-fuse-rows", "::mlir::func::FuncOp"> {
  let summary = "Make one kernel of the products and the softmax of an attention with one query";
  let description = [{
    A product of vectors, a reduction along the rows of its result, and a product of vectors with the rows
    that the reduction computes become one kernel of kind rows. Only for targets whose launches are expensive:
    tools that have a target register the pass with it; without one nothing is done.
  }];
  let constructor = "::sinter::passes::createFuseRows(nullptr, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseStages : Pass<"sinter-fuse-stages", "::mlir::func::FuncOp"> {
  let summary = "Let the last block of a kernel also run the small kernel that reads its results";
  let description = [{
    On a target whose launches are expensive, a small kernel that reads the results of another kernel
    becomes a stage after that one, in one kernel of kind staged. Examples are the norm of all gradients
    after their sums of squares, and a mean after the sums of its rows.
  }];
  let constructor = "::sinter::passes::createFuseStages(nullptr, {})";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def ChoosePersistent : Pass<"sinter-choose-persistent", "::mlir::ModuleOp"> {
  let summary = "Choose the functions that become one kernel";
  let description = [{
    On a GPU, the launches of a small program take longer than its work. Functions that are small and
    possible as one kernel get the attribute `sinter.persistent`: the code generator computes all their
    contractions, and `sinter-fuse-persistent` makes the kernel. A function on several devices, with sums over
    replicas or with attention that a library computes, cannot be one kernel.
  }];
  let constructor = "::sinter::passes::createChoosePersistent(nullptr, {}, \"auto\")";
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"",
           "off: none; auto: small functions; on: all, or an error">
  ];
}

def FusePersistent : Pass<"sinter-fuse-persistent", "::mlir::func::FuncOp"> {
  let summary = "Make one kernel of all kernels of a function";
  let description = [{
    In a function with the attribute `sinter.persistent`, all kernels become stages of one kernel of kind
    persistent, as few stages as their operands allow: kernels that do not depend on each other share a
    stage. The new value of a state is computed in a later stage than all reads of the old one, if possible,
    so that it can take its place.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def ShareKernels : Pass<"sinter-share-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn constants that differ between equal kernels into operands";
  let description = [{
    If kernels over loops are equal except for constants of one value (such as the number of a dropout's
    random stream), these become scalar operands, so that one kernel is generated for all of them.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def SplitReductions : Pass<"sinter-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Split long reductions to few results into two, so that all threads have work";
  let description = [{
    The first reduction keeps the outermost of the reduced dimensions, the second one reduces them. The
    choice depends on the shape. A very long single dimension is cut into equal parts; if no suitable
    number divides it, a short third reduction takes the rest. The rows of a large matrix are cut unless
    values would be stored for it that otherwise are not.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def SplitScans : Pass<"sinter-split-scans", "::mlir::func::FuncOp"> {
  let summary = "Compute long running sums of few lines in parts, so that all threads have work";
  let description = [{
    The totals of the parts of a line are computed first, then the running sum of the totals, and then all
    parts side by side, each starting from the sum of those before it. The number of parts depends on the
    shape alone.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

#endif // SINTER_PASSES_FUSE_PASSES_TD
