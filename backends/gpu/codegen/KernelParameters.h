//===- KernelParameters.h - the buffers that blocks work on -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A part of a kernel that occurs several times, on different buffers, has its
// code once; its blocks choose their buffers by the number of the occurrence.
// If it occurs many times, the kernel's parameters are one array that is
// indexed, so that the code does not grow with their number.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_KERNELPARAMETERS_H
#define SINTER_BACKENDS_GPU_CODEGEN_KERNELPARAMETERS_H

#include "backends/common/codegen/Nest.h"
#include "backends/gpu/codegen/Intrinsics.h"
#include "ir/exec/Exec.h"

namespace sinter::gpu {

/// A part that occurs more often than this reads its buffers from an array.
/// Otherwise it chooses among parameters, whose aliasing LLVM knows.
inline constexpr int64_t kMostChosen = 8;

/// The inputs, with the ticket counter after them if the kernel has stages, and
/// then the outputs: a pointer each, or one array of all.
class KernelParameters {
public:
  KernelParameters(exec::KernelOp kernel, bool isArray);

  /// Builds the kernel's function at the builder's insertion point, without a
  /// body.
  mlir::LLVM::LLVMFuncOp buildFunction(mlir::OpBuilder &builder,
                                       exec::KernelOp kernel,
                                       const Intrinsics &intrinsics,
                                       int64_t blockThreads) const;

  /// In the body of `function`: the address of the ticket counter.
  mlir::Value ticket(mlir::OpBuilder &b, mlir::Location loc,
                     mlir::LLVM::LLVMFuncOp function) const;
  /// The addresses of the buffers of occurrence number `time` (i32; null if
  /// there is one) of a part: inputs, then outputs.
  llvm::SmallVector<mlir::Value> buffersAt(
      mlir::OpBuilder &b, mlir::Location loc, mlir::LLVM::LLVMFuncOp function,
      llvm::ArrayRef<codegen::PartBuffers> occurrences, mlir::Value time) const;

private:
  friend class BufferChoice;

  unsigned count() const { return numRead + numOutputs; }
  /// The position of buffer number `buffer`; outputs follow the inputs.
  unsigned placeOf(unsigned buffer) const {
    return buffer < numInputs ? buffer : buffer - numInputs + numRead;
  }
  void describePointers(mlir::OpBuilder &builder, exec::KernelOp kernel,
                        mlir::LLVM::LLVMFuncOp function) const;
  void describeArray(const Intrinsics &intrinsics, mlir::OpBuilder &builder,
                     mlir::LLVM::LLVMFuncOp function) const;

  unsigned numInputs, numRead, numOutputs; // numRead: inputs and the ticket
  bool isArray;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_KERNELPARAMETERS_H
