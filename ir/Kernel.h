//===- Kernel.h - iteration domains and kernel checks -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The interface between the fuse phase and the code generators.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_KERNEL_H
#define SINTER_IR_KERNEL_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// The loops of a kernel and the positions of its results in them: a mutable
/// DomainAttr.
struct Domain {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<unsigned> reduced;
  llvm::SmallVector<IndexVector> views; // one per result

  Domain() = default;
  /// The domain of a kernel; empty if it has none.
  explicit Domain(DomainAttr attr);
  DomainAttr toAttr(mlir::MLIRContext *context) const;

  bool isReduced(unsigned loop) const {
    return llvm::is_contained(reduced, loop);
  }
  /// traceIndices from the results of the body.
  llvm::DenseMap<mlir::Value, IndexVector> trace(mlir::Block &body) const;
};

/// True when kernels of this kind have a domain.
bool hasDomain(KernelKind kind);
/// True when kernels of this kind consist of kernels that run in order.
bool hasStages(KernelKind kind);

/// Checks what code generators rely on: the constraints C3 to C11 of
/// `sinter.kernel`, also for the `exec.kernel` made of one. Reports the first
/// violation as an error on the op.
mlir::LogicalResult verifyKernel(KernelOpInterface kernel);

} // namespace sinter::ir

#endif // SINTER_IR_KERNEL_H
