//===- Passes.td - passes of the layout phase -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_PASSES_TD
#define SINTER_PASSES_LAYOUT_PASSES_TD

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

#endif // SINTER_PASSES_LAYOUT_PASSES_TD
