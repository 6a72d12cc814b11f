//===- SoloKernels.cpp - ops that are a kernel on their own ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

namespace sinter::ir {

KernelKind ScatterOp::getKernelKind() { return KernelKind::scatter; }
KernelKind ScatterElementsOp::getKernelKind() { return KernelKind::scatter; }
KernelKind ScatterNdOp::getKernelKind() { return KernelKind::scatter; }
KernelKind ReduceWindowGradOp::getKernelKind() {
  return KernelKind::window_grad;
}
KernelKind CumulativeOp::getKernelKind() { return KernelKind::scan; }
KernelKind CumulativePartsOp::getKernelKind() { return KernelKind::scan; }
KernelKind TopKOp::getKernelKind() { return KernelKind::sort; }

} // namespace sinter::ir
