//===- BlockPart.h - a part of a kernel, as blocks of threads ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The mappings: they assign the loops of a part to the threads of a grid. All
// blocks of a kernel have the same number of threads, the largest that one of
// its parts needs; each part then says how many such blocks it needs. The
// results of a part do not depend on that number.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_BLOCKPART_H
#define SINTER_BACKENDS_GPU_CODEGEN_BLOCKPART_H

#include "backends/common/codegen/Contraction.h"
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/Nest.h"
#include "backends/gpu/codegen/Threads.h"

namespace sinter::gpu {

/// The address of every buffer is a multiple of this.
inline constexpr int64_t kBufferAlignment = 16;

/// How the blocks of a part share the rows of its results: block i has
/// `perBlock` rows from i * `perBlock` on, of `count`. The rows of a tensor are
/// equal, consecutive stretches of its elements.
struct BlockRows {
  int64_t count, perBlock;
};

class BlockPart {
public:
  virtual ~BlockPart();
  /// The least number of threads of its blocks; a multiple of a warp's.
  virtual int64_t threads() const = 0;
  /// The threads that work on the part, the first of a block of `blockThreads`
  /// threads; whole warps.
  virtual int64_t workers(int64_t blockThreads) const { return blockThreads; }
  /// The number of blocks of `blockThreads` threads that it needs; 0 if it has
  /// nothing to do.
  virtual int64_t blocks(int64_t blockThreads) const = 0;
  /// How far its counts go, but for small factors; from kFar on they have 64
  /// bits. 0: 32 bits are always enough.
  virtual int64_t reach() const = 0;
  /// The rows of a block of `blockThreads` threads, which may be fewer than
  /// `threads`. None: they are not consecutive rows, or the threads too few.
  virtual std::optional<BlockRows> blockRows(int64_t blockThreads) const {
    return std::nullopt;
  }
  /// Whether, of input number `input`, a block reads only its rows; whether it
  /// writes the same rows of result number `output`. Only for parts with rows.
  virtual bool readsOwnRows(unsigned input) const { return false; }
  virtual bool writesOwnRows(unsigned output) const { return false; }
  /// The bytes of dynamic shared memory of a block of `blockThreads` threads
  /// that it can use. It works with less, and asks how many the block has.
  virtual int64_t dynamicBytes(const Intrinsics &intrinsics,
                               int64_t blockThreads) const {
    return 0;
  }
  /// Emits the code of a thread. All workers of its blocks execute it.
  virtual void emit(Threads &threads, llvm::ArrayRef<mlir::Value> inputs,
                    llvm::ArrayRef<mlir::Value> outputs) = 0;
};

/// Elementwise results, and reductions that one thread computes alone: a thread
/// has one step of the kept loops, or some neighbouring steps.
std::unique_ptr<BlockPart> createLoopPart(std::shared_ptr<codegen::Nest> nest);

/// Whether the nest reduces along contiguous rows, which threads share.
bool hasSharedRows(const codegen::Nest &nest);
/// `isAlone`: each row has a block of its own.
std::unique_ptr<BlockPart> createRowPart(std::shared_ptr<codegen::Nest> nest,
                                         bool isAlone = false);

/// Whether the nest finds the positions of extremes along rows that threads
/// share.
bool hasSharedArg(const codegen::Nest &nest);
std::unique_ptr<BlockPart> createArgPart(std::shared_ptr<codegen::Nest> nest);

/// Whether results are contiguous along another loop than their operands.
bool isTransposed(const codegen::Nest &nest);
std::unique_ptr<BlockPart>
createTransposePart(std::shared_ptr<codegen::Nest> nest);

/// A contraction and the ops after it; null if it cannot be read as products of
/// matrices.
std::unique_ptr<BlockPart>
createContractionPart(std::shared_ptr<codegen::Nest> nest,
                      const Intrinsics &intrinsics);

/// Whether it is the product of a vector and a matrix, or a batch of them, and
/// the matrix is contiguous along its sums or along its results.
bool isOfVector(const codegen::Contraction &contraction);
std::unique_ptr<BlockPart> createVectorPart(std::shared_ptr<codegen::Nest> nest,
                                            codegen::Contraction &&contraction);

/// The blocks of a part that computes rows, one each.
struct RowBlocks {
  int64_t rows, threads;
};
/// The product of a vector and a matrix, or a batch of them, of which each
/// block computes a row: whole products of the batch, or a stretch of one.
std::unique_ptr<BlockPart>
createVectorRowPart(std::shared_ptr<codegen::Nest> nest, RowBlocks blocks);

/// The kernels of a kernel of kind rows: products of vectors, and reductions
/// along contiguous rows; null if another one is among them. A block computes a
/// row of one after the other, and what only they read stays in its shared
/// memory.
std::unique_ptr<BlockPart> createRowsPart(const codegen::KernelPart &part);

/// Whether neighbouring results share too few operands to be worth shared
/// memory: depthwise convolutions, outer products.
bool isDirect(const codegen::Contraction &contraction);
std::unique_ptr<BlockPart> createDirectPart(std::shared_ptr<codegen::Nest> nest,
                                            codegen::Contraction &&contraction);

/// What matrix instructions multiply to compute it: operands have 16 bits, or
/// are float32 and the op allows tf32. Nothing for other contractions.
std::optional<MatrixElement>
matrixElement(const codegen::Contraction &contraction);
std::unique_ptr<BlockPart> createTensorPart(std::shared_ptr<codegen::Nest> nest,
                                            codegen::Contraction &&contraction);
/// The attribute of a float32 contraction that allows tf32.
inline constexpr llvm::StringLiteral kTf32Attr = "tf32";

/// Whether the nest reduces to few columns, which threads share.
bool hasSharedColumns(const codegen::Nest &nest);
std::unique_ptr<BlockPart>
createColumnPart(std::shared_ptr<codegen::Nest> nest);

/// The kernel of a single op, with a thread per unit; null if there is none for
/// it.
std::unique_ptr<BlockPart> createUnitPart(mlir::Operation *op);

/// Running sums along few lines, with a block per line; null for other ops.
std::unique_ptr<BlockPart> createScanPart(mlir::Operation *op);
/// top_k with a block per line, if k is not too large; null for other ops.
std::unique_ptr<BlockPart> createSortPart(mlir::Operation *op);
/// reduce_window_grad, with a thread per element of the result or per window;
/// null for other ops.
std::unique_ptr<BlockPart> createWindowPart(mlir::Operation *op);

/// Below this, neither an element's number nor the number of a thread leaves 32
/// bits; threads after the last element are few.
inline constexpr int64_t kFar = int64_t(1) << 31;
/// The elements of its largest tensor, or its steps of the kept loops.
int64_t reachOf(const codegen::Nest &nest);

/// BlockPart::readsOwnRows and writesOwnRows, if row i belongs to step i of
/// `loops`, the kept loops, outermost first.
bool readsRowsOf(const codegen::Nest &nest, llvm::ArrayRef<unsigned> loops,
                 unsigned input);
bool writesRowsOf(const codegen::Nest &nest, llvm::ArrayRef<unsigned> loops,
                  unsigned output);

/// Sets the buffers of the nest's arguments in `emitter` and the pointers of
/// its results in `nest`; sets loops of one step to 0.
void enterNest(codegen::ElementEmitter &emitter, Threads &threads,
               codegen::Nest &nest, llvm::ArrayRef<mlir::Value> inputs,
               llvm::ArrayRef<mlir::Value> outputs);
/// Sets `loops`, outermost first, to step number `step` (a count) of the whole
/// nest.
void setLoopsToStep(codegen::ElementEmitter &emitter, Threads &threads,
                    llvm::ArrayRef<unsigned> loops, mlir::Value step);

/// The number of elements along `loop` that one thread moves together: 16 bytes
/// of the widest tensor that is contiguous along it, if all such tensors may be
/// moved as vectors; else 1.
int64_t vectorElements(const codegen::Nest &nest, unsigned loop);

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_BLOCKPART_H
