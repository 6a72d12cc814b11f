//===- KernelPool.h - one exec.kernel per distinct fusion -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_KERNELPOOL_H
#define SINTER_PASSES_PLAN_KERNELPOOL_H

#include "ir/exec/Exec.h"

namespace sinter::passes::plan {

/// The kernels of a module while they are collected. Fusions with equal
/// attributes and bodies share one; locations may differ.
class KernelPool {
public:
  /// Creates kernels at the insertion point of the builder, with names that are
  /// free in `symbols`.
  KernelPool(mlir::OpBuilder builder, mlir::SymbolTable &symbols)
      : builder(builder), symbols(symbols) {}

  /// The kernel for `fusion`.
  exec::KernelOp get(ir::KernelOp fusion);

  unsigned size() const { return count; }

private:
  mlir::OpBuilder builder;
  mlir::SymbolTable &symbols;
  llvm::DenseMap<size_t, llvm::SmallVector<exec::KernelOp, 1>> byHash;
  unsigned count = 0;
};

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_KERNELPOOL_H
