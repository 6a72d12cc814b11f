//===- LibraryCalls.h - contractions as calls, for the plans ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_LIBRARYCALLS_H
#define SINTER_BACKENDS_CUDA_CODEGEN_LIBRARYCALLS_H

#include "passes/PostOps.h"

namespace sinter::cuda {

/// Whether the plan of cuBLASLt's call (backends/cuda/library/LtPlan.h)
/// computes `dot` with `postOps`. Operands count as dense: views of them do not
/// change the answer. `narrow`: as for Target::canFuseEpilogue.
bool canCallProduct(ir::DotGeneralOp dot,
                    llvm::ArrayRef<passes::PostOp> postOps,
                    mlir::FloatType narrow);

/// Whether the plan of cuDNN's call (backends/cuda/library/ConvPlan.h) computes
/// `conv`, a convolution or a gradient of one, with `postOps`.
bool canCallConv(mlir::Operation *conv, llvm::ArrayRef<passes::PostOp> postOps,
                 mlir::FloatType narrow);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_LIBRARYCALLS_H
