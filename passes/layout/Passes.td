//===- Passes.td - passes of the layout phase -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_PASSES_TD
#define SINTER_PASSES_LAYOUT_PASSES_TD

include "mlir/Pass/PassBase.td"

def AlignContractions : Pass<"sinter-align-contractions", "::mlir::func::FuncOp"> {
  let summary = "Give contractions operands that a library call can take, and aligned sizes on a GPU";
  let description = [{
    A library's matrix product takes one stride for each of m, n and k. If the dimension numbers of a
    contraction do not allow that, its operands are transposed to [batch.., m.., k..] and
    [batch.., k.., n..]. On a GPU, products of 16-bit floats and of tf32 are also padded to lines of
    16 bytes, if that saves more time than the copies take: zeros are appended to the operands, and the
    result is cut to its size. So are the input channels of convolutions that a library computes, and of the
    gradients of their filters.
  }];
}

def AssignLayouts : Pass<"sinter-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Make convolutions and the ops around them channels-last where that saves copies";
  let description = [{
    An *area* is a set of values that must have the same layout, because they are connected by ops that
    work in either layout. An area with convolutions becomes channels-last if that saves the library
    calls at least as many copied bytes as the transposes at the border of the area move. Arguments and
    results of the function, and filters, keep their layout.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def KeepRounded : Pass<"sinter-keep-rounded", "::mlir::ModuleOp"> {
  let summary = "Keep weights that are rounded to 16 bits from step to step, on a GPU";
  let description = [{
    Each cast of a float32 parameter to 16 bits becomes a state of role rounded. Functions read the state. A
    function that computes a new value of the parameter also computes the new value of the state, which is one
    more result of the update's kernel. So no step begins by rounding all weights. The function @refresh computes
    these states from the parameters, for use after anything but a run has written a parameter.

    Where all readers append rows of zeros, the state has these rows. Parameters that are only concatenated are
    left alone, and so is a module that has a function @refresh of its own. On a CPU, a rounded weight that is kept
    saves little, so that this is done only if replicas divide the float32 weights (sinter-divide-weights).
  }];
  let options = [
    Option<"alsoOnHost", "also-on-host", "bool", "false", "whether to keep the weights of CPUs, too">,
  ];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def MaskPadding : Pass<"sinter-mask-padding", "::mlir::func::FuncOp"> {
  let summary = "Compute on the padded result of a product instead of cutting it";
  let description = [{
    The result of a padded product is cut to its columns, and what is computed from it is often padded again. Here
    everything in between is computed on all columns. Reductions over the columns read their neutral element in
    those that do not count, and padding becomes a choice between the result and the padding value. Results that
    are needed without padding are cut; nothing is done if that copies more than is saved.
  }];
}

def MergeContractions : Pass<"sinter-merge-contractions", "::mlir::func::FuncOp"> {
  let summary = "Merge products of the same rows with several weights into one call, on a GPU";
  let description = [{
    Typical are the projections to queries, keys and values: their weights are concatenated, one call
    computes all three with their biases and roundings, and the readers of the heads address their part
    of the result by strides. Before differentiation, weights that are trained in 16 bits are merged if
    the attention that reads the heads is one library call: they are rounded in each step anyway, and
    then are written side by side. Weights that are trained in float32 are not merged, since that would
    cost a copy in each step.
  }];
}

def PackScanWeights : Pass<"sinter-pack-scan-weights", "::mlir::func::FuncOp"> {
  let summary = "Copy weights that the trips of a scan multiply a few rows by";
  let description = [{
    A whole operand of a scan of 4 trips or more that its body reads in products of 5 to 28 rows is copied before the scan
    into the order in which these read it: panels of 64 columns if there are 16 rows or more and the columns are 2 to 63
    whole panels, else rows, if the products contract the last dimension. Constants stay as they are.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def PlaceCasts : Pass<"sinter-place-casts", "::mlir::func::FuncOp"> {
  let summary = "Move casts between 16-bit floats and float32 next to the ops that compute";
  let description = [{
    Widening casts are moved behind views (transpose, reshape, slice, broadcast) and concats, and
    narrowing ones before views. So views move 16-bit elements, and a contraction finds its 16-bit
    operands right behind a cast.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

#endif // SINTER_PASSES_LAYOUT_PASSES_TD
