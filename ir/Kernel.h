//===- Kernel.h - iteration domains, and what kernels must be ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The contract between the fuse phase and the code generators.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_KERNEL_H
#define SINTER_IR_KERNEL_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// The loops of a kernel and how its results lie in them: a DomainAttr that can
/// be changed.
struct Domain {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<unsigned> reduced;
  llvm::SmallVector<IndexVector> views; // one per result

  Domain() = default;
  /// Of a kernel; empty where it has no domain.
  explicit Domain(DomainAttr attr);
  DomainAttr toAttr(mlir::MLIRContext *context) const;

  bool isReduced(unsigned loop) const {
    return llvm::is_contained(reduced, loop);
  }
  /// traceIndices from the body's results.
  llvm::DenseMap<mlir::Value, IndexVector> trace(mlir::Block &body) const;
};

/// Whether kernels of this kind say how their loops lie.
bool hasDomain(KernelKind kind);

/// Checks what code generators rely on, the constraints C3 to C10 of
/// `sinter.kernel`, for one or for the `exec.kernel` made of it. Reports the
/// first that does not hold as an error on the op.
mlir::LogicalResult verifyKernel(KernelOpInterface kernel);

} // namespace sinter::ir

#endif // SINTER_IR_KERNEL_H
