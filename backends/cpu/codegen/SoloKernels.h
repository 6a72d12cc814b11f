//===- SoloKernels.h - kernels of single ops --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Scatter, window gradients, running sums and sorting. Each element of their
// results depends on many others in a certain order, so each op has its own
// loops and is not fused with others.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_SOLOKERNELS_H
#define SINTER_BACKENDS_CPU_CODEGEN_SOLOKERNELS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

#include <memory>

namespace sinter::cpu {

/// Element operations in a tile: some microseconds of work.
inline constexpr int64_t kTileOperations = 1 << 16;

class SoloKernel {
public:
  virtual ~SoloKernel() = default;
  /// The kernel of `op`, or nullptr if there is none. `lanes` is the number of
  /// float32 lanes of a vector register.
  static std::unique_ptr<SoloKernel> create(mlir::Operation *op, int64_t lanes);

  virtual int64_t tiles() const = 0;
  /// Emits tiles [begin, end). `operands` and `results` are pointers, in the
  /// op's order.
  virtual void emit(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value begin, mlir::Value end,
                    llvm::ArrayRef<mlir::Value> operands,
                    llvm::ArrayRef<mlir::Value> results) = 0;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_SOLOKERNELS_H
