//===- SoloKernels.h - ops that are a kernel of their own -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Scatter, window gradients, running sums and sorting: each element of the
// result depends on many others in an order, so each op has its own loops
// instead of a place in a fusion.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_SOLOKERNELS_H
#define SINTER_BACKENDS_CPU_CODEGEN_SOLOKERNELS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

#include <memory>

namespace sinter::cpu {

/// Element operations that are worth a tile of their own: some microseconds of
/// work.
inline constexpr int64_t kTileOperations = 1 << 16;

class SoloKernel {
public:
  virtual ~SoloKernel() = default;
  /// The kernel of `op`, or nullptr when there is none for it.
  /// `lanes` is the number of float32 lanes of a vector register.
  static std::unique_ptr<SoloKernel> create(mlir::Operation *op, int64_t lanes);

  virtual int64_t tiles() const = 0;
  /// Emits tiles [begin, end). Pointers of the op's operands and results, in
  /// their order.
  virtual void emit(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value begin, mlir::Value end,
                    llvm::ArrayRef<mlir::Value> operands,
                    llvm::ArrayRef<mlir::Value> results) = 0;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_SOLOKERNELS_H
