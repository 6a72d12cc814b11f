//===- GpuTarget.h - what all GPUs answer as targets ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_GPUTARGET_H
#define SINTER_BACKENDS_GPU_CODEGEN_GPUTARGET_H

#include "passes/Target.h"

namespace sinter::gpu {

/// The placement of ops on GPUs: what no library computes, the mappings do.
class GpuTarget : public passes::Target {
public:
  passes::Implementation implementationOf(mlir::Operation *op,
                                          std::string &reason) const override;
  bool canGenerate(mlir::Operation *contraction) const override;

protected:
  /// Whether one of the vendor's libraries computes `contraction`.
  virtual bool isCalled(mlir::Operation *contraction) const = 0;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_GPUTARGET_H
