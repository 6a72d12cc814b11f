//===- Passes.td - passes that code generators run ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_KERNELS_PASSES_TD
#define SINTER_PASSES_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"sinter-expand-math"> {
  let summary = "Expand exp, log, tanh, ... into arithmetic, in the same way for all targets";
  let description = [{
    Runs on the code of kernels. Mathematical functions become `arith` ops and fma, the same for all
    targets, so that results have the same bits. The `math` ops that remain have an instruction on every
    target (sqrt, fma, floor, absf, ...).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // SINTER_PASSES_KERNELS_PASSES_TD
