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
/// module that declares shared memory. Counts are i32, or i64 in a part that
/// counts further.
class Threads {
public:
  /// `block` and `thread` are i32; `isWide`: counts are i64. `isPartOfBlock`:
  /// only the first `blockThreads` threads of each block execute the code.
  Threads(const Intrinsics &intrinsics, mlir::OpBuilder &builder,
          mlir::Location loc, mlir::LLVM::LLVMFuncOp kernel,
          int64_t blockThreads, mlir::Value block, mlir::Value thread,
          bool isWide = false, bool isPartOfBlock = false);

  /// The type of counts.
  mlir::Type countType() const {
    return isWide ? b.getI64Type() : b.getI32Type();
  }
  mlir::Value number(int64_t value);     // a count
  mlir::Value wide(mlir::Value value);   // i64; `value` is not negative
  mlir::Value narrow(mlir::Value value); // a count, of an i64
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, int64_t y); // unsigned
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value isLess(mlir::Value x, int64_t y);
  mlir::Value isAtLeast(mlir::Value x, int64_t y);
  mlir::Value both(mlir::Value x, mlir::Value y); // either may be null: true
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// x * y + sum and x + y of elements in the compute type, scalars or vectors:
  /// floats by one fused multiply-add.
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value addElements(mlir::Value x, mlir::Value y);
  /// Emits `body` under `condition`; null: always.
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  /// All threads of the part must execute this.
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
  /// Array number `number` of `count` elements in the block's shared memory,
  /// which no exchange uses.
  mlir::Value keptArray(unsigned number, mlir::Type element, int64_t count);
  /// Tells that these threads have exchanged values before.
  void afterOthers() { hadExchange = true; }
  mlir::Value elementAddress(mlir::Value array, mlir::Type element,
                             mlir::Value position);
  /// The block's dynamic shared memory, aligned to 16 bytes. A barrier comes
  /// first if threads may still use it.
  mlir::Value beginDynamic();
  /// Move elements of type `type`, scalars or vectors, to and from an exchange.
  /// Booleans are bytes there (exchanged type). Vectors are aligned to their
  /// size, but at most to 16 bytes.
  static mlir::Type exchangedType(mlir::Type type);
  mlir::Value load(mlir::Type type, mlir::Value address);
  void store(mlir::Value value, mlir::Value address);

  const Intrinsics &intrinsics;
  mlir::OpBuilder &b;
  mlir::Location loc;
  const int64_t blockThreads;
  const bool isWide;
  const mlir::Value block, thread; // counts

private:
  mlir::Value count(mlir::Value i32);
  mlir::Value sharedArray(llvm::StringRef suffix, mlir::Type element,
                          int64_t count);
  mlir::Value shuffleWord(mlir::Value word, int64_t mask);
  mlir::Value addressOf(mlir::LLVM::GlobalOp global);
  bool hadExchange = false, isPartOfBlock;
  mlir::LLVM::LLVMFuncOp kernel;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_THREADS_H
