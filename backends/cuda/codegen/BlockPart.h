//===- BlockPart.h - a part of a kernel, as blocks of threads ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The mappings: how the loops of a part lie on the threads of a grid. A
// kernel's blocks all have the same number of threads, the most that one of its
// parts asks for; each part then says how many such blocks it takes. What a
// part computes does not depend on that number.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_BLOCKPART_H
#define SINTER_BACKENDS_CUDA_CODEGEN_BLOCKPART_H

#include "backends/common/codegen/Contraction.h"
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/Nest.h"
#include "backends/cuda/codegen/Threads.h"

namespace sinter::cuda {

/// What every buffer's address is a multiple of.
inline constexpr int64_t kBufferAlignment = 16;

class BlockPart {
public:
  virtual ~BlockPart();
  /// Threads that its blocks have at least; a multiple of a warp's.
  virtual int64_t threads() const = 0;
  /// Blocks of `blockThreads` threads that it takes; 0 when it has nothing to
  /// do.
  virtual int64_t blocks(int64_t blockThreads) const = 0;
  /// Emits what a thread does. Every thread of its blocks gets there.
  virtual void emit(Threads &threads, llvm::ArrayRef<mlir::Value> inputs,
                    llvm::ArrayRef<mlir::Value> outputs) = 0;
};

/// Elementwise results, and reductions that one thread does alone: a thread has
/// one step, or some neighbouring ones, of the kept loops.
std::unique_ptr<BlockPart> createLoopPart(std::shared_ptr<codegen::Nest> nest);

/// True when the nest reduces along contiguous rows, which threads share.
bool hasSharedRows(const codegen::Nest &nest);
std::unique_ptr<BlockPart> createRowPart(std::shared_ptr<codegen::Nest> nest);

/// True when the nest finds extremes' positions along rows that threads share.
bool hasSharedArg(const codegen::Nest &nest);
std::unique_ptr<BlockPart> createArgPart(std::shared_ptr<codegen::Nest> nest);

/// True when results lie along another loop than what they are computed from.
bool isTransposed(const codegen::Nest &nest);
std::unique_ptr<BlockPart>
createTransposePart(std::shared_ptr<codegen::Nest> nest);

/// A contraction and what follows it; null when it cannot be read as products
/// of matrices. It has a kernel for itself.
std::unique_ptr<BlockPart>
createContractionPart(std::shared_ptr<codegen::Nest> nest);

/// True when neighbouring results share too little of what they read to bring
/// it into shared memory first: depthwise convolutions, outer products.
bool isDirect(const codegen::Contraction &contraction);
std::unique_ptr<BlockPart> createDirectPart(std::shared_ptr<codegen::Nest> nest,
                                            codegen::Contraction &&contraction);

/// True when matrix instructions compute it: operands of 16 bits, or of float32
/// where the op says that tf32 will do.
bool isForTensorCores(const codegen::Contraction &contraction);
std::unique_ptr<BlockPart> createTensorPart(std::shared_ptr<codegen::Nest> nest,
                                            codegen::Contraction &&contraction);
/// The attribute of a contraction of float32 numbers that says so.
inline constexpr llvm::StringLiteral kTf32Attr = "tf32";

/// True when the nest reduces to few columns, which threads share.
bool hasSharedColumns(const codegen::Nest &nest);
std::unique_ptr<BlockPart>
createColumnPart(std::shared_ptr<codegen::Nest> nest);

/// An op that is a kernel of its own, a thread per unit; null when there is
/// none for it.
std::unique_ptr<BlockPart> createUnitPart(mlir::Operation *op);

/// Running sums along few lines, each of which a block shares; null for other
/// ops.
std::unique_ptr<BlockPart> createScanPart(mlir::Operation *op);
/// The same for the first of lines in order, if not too many are wanted.
std::unique_ptr<BlockPart> createSortPart(mlir::Operation *op);

/// Tells `emitter` what a nest reads, and `nest` where its results lie; loops
/// of one step are at 0.
void enterNest(codegen::ElementEmitter &emitter, Threads &threads,
               codegen::Nest &nest, llvm::ArrayRef<mlir::Value> inputs,
               llvm::ArrayRef<mlir::Value> outputs);
/// Sets `loops`, outermost first, to step number `step` (i32) of them all.
void setLoopsToStep(codegen::ElementEmitter &emitter, Threads &threads,
                    llvm::ArrayRef<unsigned> loops, mlir::Value step);

/// The elements along `loop` that one thread moves together: as many as make 16
/// bytes of the widest tensor that lies contiguous along it, if all such may be
/// moved as vectors; else 1.
int64_t vectorElements(const codegen::Nest &nest, unsigned loop);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_BLOCKPART_H
