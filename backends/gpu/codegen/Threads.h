//===- Threads.h - what kernels say to the threads of a block ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_THREADS_H
#define SINTER_BACKENDS_GPU_CODEGEN_THREADS_H

#include "backends/gpu/codegen/Intrinsics.h"

namespace sinter::gpu {

/// Emits the code of a kernel's part: has its block number, the thread, and the
/// module that declares shared memory. All numbers are i32.
class Threads {
public:
  Threads(const Intrinsics &intrinsics, mlir::OpBuilder &builder,
          mlir::Location loc, mlir::LLVM::LLVMFuncOp kernel,
          int64_t blockThreads, mlir::Value block, mlir::Value thread)
      : intrinsics(intrinsics), b(builder), loc(loc),
        blockThreads(blockThreads), block(block), thread(thread),
        kernel(kernel) {}

  mlir::Value number(int64_t value);   // i32
  mlir::Value wide(mlir::Value value); // i64; `value` is not negative
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, int64_t y); // unsigned
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value isLess(mlir::Value x, int64_t y);
  mlir::Value isAtLeast(mlir::Value x, int64_t y);
  mlir::Value both(mlir::Value x, mlir::Value y); // either may be null: true
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// Emits `body` under `condition`; null: always.
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  /// All threads of the block must execute this.
  void barrier();
  /// The value in lane (lane xor mask) of the warp; all threads of the warp
  /// must execute this. For scalars of up to 64 bits and vectors of them.
  mlir::Value shuffleXor(mlir::Value value, int64_t mask);

  /// An array of `count` elements in the block's shared memory, through which
  /// threads exchange values: they write, wait at a barrier, and read. All
  /// exchanges use the same memory. A barrier comes first if threads may still
  /// read an earlier exchange, or this one of the previous round
  /// (`isRepeated`).
  mlir::Value beginExchange(mlir::Type element, int64_t count, bool isRepeated);
  /// Tells that these threads have exchanged values before.
  void afterOthers() { hadExchange = true; }
  mlir::Value elementAddress(mlir::Value array, mlir::Type element,
                             mlir::Value position);

  const Intrinsics &intrinsics;
  mlir::OpBuilder &b;
  mlir::Location loc;
  const int64_t blockThreads;
  const mlir::Value block, thread;

private:
  mlir::Value shuffleWord(mlir::Value word, int64_t mask);
  bool hadExchange = false;
  mlir::LLVM::LLVMFuncOp kernel;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_THREADS_H
