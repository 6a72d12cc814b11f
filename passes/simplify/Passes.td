//===- Passes.td - passes of the simplify phase --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_PASSES_TD
#define SINTER_PASSES_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // SINTER_PASSES_SIMPLIFY_PASSES_TD
