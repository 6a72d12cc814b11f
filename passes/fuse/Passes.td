//===- Passes.td - passes of the fuse phase -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_PASSES_TD
#define SINTER_PASSES_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    later than its users need it. On a target whose launches are expensive, sums join the kernel that reads the same tensors,
    too: the gradients of a normalisation's parameters that of its input.
  }];
  let constructor = "::sinter::passes::createFuseSiblings(nullptr)";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseStages : Pass<"sinter-fuse-stages", "::mlir::func::FuncOp"> {
  let summary = "Let the last block of a kernel go on with the small kernel that reads its results";
  let description = [{
    On a target whose launches are expensive, a fusion that reads little, some of it the results of another fusion,
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

#endif // SINTER_PASSES_FUSE_PASSES_TD
