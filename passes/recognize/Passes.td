//===- Passes.td - recognition of composites -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_PASSES_TD
#define SINTER_PASSES_RECOGNIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecognizeComposites : Pass<"sinter-recognize-composites", "::mlir::ModuleOp"> {
  let summary = "Find softmax, layer_norm, group_norm, gelu and attention in small ops";
  let description = [{
    Fires where no intermediate value has another user. Expects the forms that
    SimplifyAlgebra leads to.
  }];
}

#endif // SINTER_PASSES_RECOGNIZE_PASSES_TD
