//===- Intrinsics.h - what one vendor's GPUs do for kernels -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The mappings emit arith, math, vector, scf and LLVM ops. Whatever these
// dialects do not have, they ask for here: the numbers of threads, what the
// threads of a block or a warp do together, matrix instructions, copies that
// run in the background, and the numbers of address spaces. A vendor's code
// generator implements this class. Functions such as exp need no intrinsics:
// passes expand them to arithmetic, the same for all targets.
//
// What must stay true: an intrinsic computes what its comment says, to the bit.
// The results of a kernel do not depend on the vendor.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_INTRINSICS_H
#define SINTER_BACKENDS_GPU_CODEGEN_INTRINSICS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace sinter::gpu {

/// Threads of a warp: they execute together and exchange values without memory.
inline constexpr int64_t kWarpThreads = 32;
inline constexpr int64_t kMaxBlockThreads = 1024;

/// A matrix instruction of a warp adds to kMatrixOuter x kMatrixColumns sums
/// the products of kMatrixBytes of each operand along the sum.
inline constexpr int64_t kMatrixOuter = 16;
inline constexpr int64_t kMatrixColumns = 8;
inline constexpr int64_t kMatrixBytes = 32;
/// The sums that each lane has.
inline constexpr int64_t kMatrixSums = 4;

/// What matrix instructions multiply. Tf32 numbers are float32 numbers that
/// are rounded to a mantissa of 10 bits.
enum class MatrixElement { Float16, Bfloat16, Tf32 };

class Intrinsics {
public:
  virtual ~Intrinsics();

  //===--------------------------------------------------------------------===//
  // Kernels and memory
  //===--------------------------------------------------------------------===//

  /// Sets the attributes that make `function` a kernel for blocks of
  /// `blockThreads` threads.
  virtual void describeKernel(mlir::LLVM::LLVMFuncOp function,
                              int64_t blockThreads) const = 0;
  /// Adapts the attributes of a parameter that is an array, passed by value,
  /// and is the same for the whole grid.
  virtual void describeArray(mlir::NamedAttrList &attributes,
                             mlir::MLIRContext *context) const = 0;

  /// The address space of memory that all blocks share.
  virtual unsigned globalSpace() const = 0;
  /// The address space of memory that the threads of a block share.
  virtual unsigned sharedSpace() const = 0;

  //===--------------------------------------------------------------------===//
  // Threads
  //===--------------------------------------------------------------------===//

  /// The number of the block in the grid, and of the thread in its block: i32.
  virtual mlir::Value blockId(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  virtual mlir::Value threadId(mlir::OpBuilder &b,
                               mlir::Location loc) const = 0;
  /// The number of blocks of the grid: i32.
  virtual mlir::Value gridBlocks(mlir::OpBuilder &b,
                                 mlir::Location loc) const = 0;
  /// The bytes of the block's dynamic shared memory: i32. A device with less
  /// than the kernel can use gives less.
  virtual mlir::Value dynamicSharedBytes(mlir::OpBuilder &b,
                                         mlir::Location loc) const = 0;
  /// The most bytes of shared memory that a block can have, on any device.
  virtual int64_t mostSharedBytes() const = 0;
  /// Waits for all threads of the block, and shows them what each has written.
  virtual void barrier(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  /// The same for the first `threads` threads of the block, whole warps.
  virtual void partialBarrier(mlir::OpBuilder &b, mlir::Location loc,
                              int64_t threads) const = 0;
  /// Orders the thread's accesses to global memory, before and after, for the
  /// whole device.
  virtual void deviceFence(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  /// Emitted at a kernel's beginning, where the vendor's devices can begin a
  /// launch before those before it on its stream have ended. Waits for their
  /// end, sees what they have written, and lets the next launch begin. Returns
  /// whether it emitted that; then every kernel must access global memory only
  /// after it.
  virtual bool waitForLaunches(mlir::OpBuilder &b,
                               mlir::Location loc) const = 0;
  /// `word` (32 bits) of lane (lane xor mask) of the warp, whose threads all
  /// execute this.
  virtual mlir::Value shuffleXor(mlir::OpBuilder &b, mlir::Location loc,
                                 mlir::Value word, int64_t mask) const = 0;

  //===--------------------------------------------------------------------===//
  // 16-bit floats
  //===--------------------------------------------------------------------===//

  /// Whether there is an instruction for roundPair; if not, numbers are rounded
  /// by integer arithmetic.
  virtual bool roundsPairs() const = 0;
  /// As NarrowInstructions::roundPair.
  virtual mlir::Value roundPair(mlir::OpBuilder &b, mlir::Location loc,
                                mlir::Type element, mlir::Value low,
                                mlir::Value high) const = 0;

  //===--------------------------------------------------------------------===//
  // Copies in the background
  //===--------------------------------------------------------------------===//

  /// Begins to copy `bytes` (4, 8 or 16, aligned) from global to shared memory.
  /// Only the first `available` bytes (i32) are read, the rest become 0; null:
  /// all are.
  virtual void copyAsync(mlir::OpBuilder &b, mlir::Location loc, mlir::Value to,
                         mlir::Value from, int64_t bytes,
                         mlir::Value available) const = 0;
  /// Makes a group of the thread's copies since its last group.
  virtual void endCopyGroup(mlir::OpBuilder &b, mlir::Location loc) const = 0;
  /// Waits until all but the thread's latest `pending` groups are complete.
  virtual void waitForCopies(mlir::OpBuilder &b, mlir::Location loc,
                             int64_t pending) const = 0;

  //===--------------------------------------------------------------------===//
  // Matrices
  //===--------------------------------------------------------------------===//

  /// Whether there are matrix instructions for `element`, as described below.
  /// If not, such products are computed without, and neither the rest of this
  /// section nor copies in the background are called.
  virtual bool hasMatrices(MatrixElement element) const = 0;
  /// Reads four matrices of 8 lines of 16 bytes from shared memory: lane 8 i +
  /// r has the `address` of line r of matrix i. Register i (i32) of lane 4 g +
  /// q is word q of line g of matrix i. `isTransposed`: it is the 16-bit
  /// numbers g of lines 2 q and 2 q + 1.
  virtual llvm::SmallVector<mlir::Value>
  loadMatrices(mlir::OpBuilder &b, mlir::Location loc, mlir::Value address,
               bool isTransposed) const = 0;
  /// Such a register, or a float32 number (as i32), as an operand of
  /// multiplyAdd. Rounds to tf32, ties away from 0.
  virtual mlir::Value matrixOperand(mlir::OpBuilder &b, mlir::Location loc,
                                    MatrixElement element,
                                    mlir::Value word) const = 0;
  /// Adds the product of `rows` (16 rows) and `columns` (8 columns) to `sums`
  /// (float32). With lane 4 g + q, the four registers of `rows` are word q of
  /// rows g and g + 8 in the first 16 bytes along the sum, then in the second;
  /// the two of `columns` are word q of column g in the first 16 bytes, then in
  /// the second. The sums are columns 2 q and 2 q + 1 of row g, then of g + 8.
  virtual void multiplyAdd(mlir::OpBuilder &b, mlir::Location loc,
                           MatrixElement element,
                           llvm::ArrayRef<mlir::Value> rows,
                           llvm::ArrayRef<mlir::Value> columns,
                           llvm::MutableArrayRef<mlir::Value> sums) const = 0;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_INTRINSICS_H
