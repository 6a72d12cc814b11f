//===- Passes.td - recognition of composites ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_PASSES_TD
#define SINTER_PASSES_RECOGNIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecognizeComposites : Pass<"sinter-recognize-composites", "::mlir::ModuleOp"> {
  let summary = "Replace small ops by the softmax, layer_norm, group_norm, gelu or attention that they form";
  let description = [{
    A composite is recognised only if no intermediate value has a user outside of it. Logarithms of
    softmax, of sigmoid and of a sum of two exponentials get numerically stable forms. Expects the
    form that SimplifyAlgebra produces.

    A scale of queries or keys that is between 2^-16 and 2^16 is applied to their products instead. With
    `keep-scales` it stays where it is: an unscaled query or key may be out of the range of float16.
  }];
  let options = [Option<"keepScales", "keep-scales", "bool", "false",
                        "leave the scales of queries and keys where they are">];
}

#endif // SINTER_PASSES_RECOGNIZE_PASSES_TD
