//===- OperandTile.h - an operand's part of a step, shared ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The threads of a block copy one operand of a product, for a tile of results
// and some steps of the sum, to shared memory, where the rows (or columns) are
// contiguous. Elements outside the operand are 0. A thread moves 16 bytes at a
// time if they are contiguous in global memory.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_OPERANDTILE_H
#define SINTER_BACKENDS_GPU_CODEGEN_OPERANDTILE_H

#include "backends/common/codegen/ElementEmitter.h"
#include "backends/gpu/codegen/OperandPlace.h"

namespace sinter::gpu {

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

  /// Emits what does not change between steps. The tile begins at row (or
  /// column) `first`; `pointer` is the operand's; `batch` has the values of the
  /// batch loops.
  void begin(Threads &threads, codegen::ElementEmitter &emitter,
             mlir::Value pointer, mlir::Value first,
             llvm::ArrayRef<mlir::Value> batch);

  /// Loads this thread's pieces of `count` steps of the sum from `firstDepth`
  /// on; steps beyond `count` are 0.
  llvm::SmallVector<mlir::Value> load(mlir::Value firstDepth, int64_t count);
  /// Stores the pieces to `array` from element `start` on.
  void store(mlir::Value array, mlir::Value start,
             llvm::ArrayRef<mlir::Value> pieces);

private:
  /// The elements that a thread moves at once.
  struct Piece {
    mlir::Value outer, depth; // where it begins in the tile
    mlir::Value inside; // its rows or columns are in the operand; null: yes
    OperandPlace place; // without the depth
  };

  Piece piece(int64_t number, mlir::Value first,
              llvm::ArrayRef<mlir::Value> batch);

  const codegen::Contraction &contraction;
  const codegen::ProductOperand &operand;
  codegen::ProductDim outerDim;
  int64_t outer, depth, threads;
  mlir::Type element;
  bool isAlongDepth; // direction of pieces
  int64_t vector;    // elements of a piece
  int64_t count;     // pieces of a thread
  bool isForAll;     // every thread has a piece

  // While code is emitted.
  Threads *t = nullptr;
  codegen::ElementEmitter *emitter = nullptr;
  mlir::Value pointer;
  mlir::Value hasPiece; // null: always
  std::vector<Piece> pieces;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_OPERANDTILE_H
