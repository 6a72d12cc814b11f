//===- OperandTile.h - an operand's part of a step, shared ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The threads of a block read one operand of a product for a tile of results
// and some steps of the sum, and put it into shared memory, where it lies with
// the rows (or columns) contiguous. What lies outside of the operand is 0. A
// thread moves 16 bytes at a time where they lie together in global memory.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_OPERANDTILE_H
#define SINTER_BACKENDS_CUDA_CODEGEN_OPERANDTILE_H

#include "backends/common/codegen/ElementEmitter.h"
#include "backends/cuda/codegen/OperandPlace.h"

namespace sinter::cuda {

class OperandTile {
public:
  /// `outerDim` is rows or columns: the tile has `outer` of them and `depth`
  /// steps of the sum. All three numbers are powers of two.
  OperandTile(const codegen::Contraction &contraction,
              const codegen::ProductOperand &operand,
              codegen::ProductDim outerDim, int64_t outer, int64_t depth,
              int64_t threads);

  /// Elements from one step of the sum to the next in shared memory.
  int64_t pitch() const;
  /// Elements in shared memory.
  int64_t sharedElements() const { return depth * pitch(); }

  /// Emits what does not change from step to step. The tile begins at row (or
  /// column) `first`; `pointer` is the operand's; `batch` are the values of the
  /// batch's loops.
  void begin(Threads &threads, codegen::ElementEmitter &emitter,
             mlir::Value pointer, mlir::Value first,
             llvm::ArrayRef<mlir::Value> batch);

  /// This thread's pieces of `count` steps of the sum from `firstDepth` on, the
  /// rest being 0.
  llvm::SmallVector<mlir::Value> load(mlir::Value firstDepth, int64_t count);
  /// Puts them into `array` from element `start` on.
  void store(mlir::Value array, mlir::Value start,
             llvm::ArrayRef<mlir::Value> pieces);

private:
  /// What a thread moves at once in a step.
  struct Piece {
    mlir::Value outer, depth; // where it begins in the tile
    mlir::Value inside; // its rows or columns are the operand's; null: yes
    OperandPlace place; // without the depth
  };

  Piece piece(int64_t number, mlir::Value first,
              llvm::ArrayRef<mlir::Value> batch);

  const codegen::Contraction &contraction;
  const codegen::ProductOperand &operand;
  codegen::ProductDim outerDim;
  int64_t outer, depth, threads;
  mlir::Type element;
  bool isAlongDepth; // pieces
  int64_t vector;    // elements of a piece
  int64_t count;     // pieces of a thread
  bool isForAll;     // every thread has one

  // While code is emitted.
  Threads *t = nullptr;
  codegen::ElementEmitter *emitter = nullptr;
  mlir::Value pointer;
  mlir::Value hasPiece; // null: always
  std::vector<Piece> pieces;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_OPERANDTILE_H
