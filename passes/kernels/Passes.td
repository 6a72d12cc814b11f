//===- Passes.td - passes that code generators run ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_KERNELS_PASSES_TD
#define SINTER_PASSES_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"sinter-expand-math"> {
  let summary = "Write exp, log, tanh, ... as arithmetic, once for all targets";
  let description = [{
    Runs on the code of kernels: `math` ops become `arith` ops and fma, the same for all targets. What is
    left in `math` has an instruction everywhere (sqrt, fma, floor, absf, ...).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // SINTER_PASSES_KERNELS_PASSES_TD
