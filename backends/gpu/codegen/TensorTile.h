//===- TensorTile.h - an operand of matrix instructions ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The threads of a block copy one operand of a product, for a tile of results
// and some steps of the sum, unchanged to shared memory. The warps read it from
// there as operands of matrix instructions. Missing steps are 0; rows after the
// last repeat the last. Lines in shared memory run along the sum or along the
// rows (or columns), as in global memory. The 16-byte chunks of a line are
// permuted so that neither copies nor reads of eight neighbouring lines have
// bank conflicts.
//
// Pieces of 4, 8 and 16 bytes are copied in the background; single 16-bit
// numbers, which are not aligned for it, through registers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_TENSORTILE_H
#define SINTER_BACKENDS_GPU_CODEGEN_TENSORTILE_H

#include "backends/gpu/codegen/OperandPlace.h"

namespace sinter::gpu {

class TensorTile {
public:
  /// `outerDim` is rows or columns: the tile has `outer` of them and `depth`
  /// steps of the sum. Both are powers of two, at least 16 and 32 bytes.
  /// Elements have 16 or 32 bits.
  TensorTile(const codegen::Contraction &contraction,
             const codegen::ProductOperand &operand,
             codegen::ProductDim outerDim, int64_t outer, int64_t depth,
             int64_t threads);

  /// Whether pieces are copied in the background and must be waited for.
  bool isAsync() const { return vector * elementBytes >= 4; }
  /// Bytes of shared memory for a part of the sum.
  int64_t sharedBytes() const { return outer * depth * elementBytes; }

  /// Emits what does not change between parts. The tile begins at row (or
  /// column) `first`; `pointer` is the operand's; `batch` has the values of the
  /// batch loops. Parts are in `shared` (bytes) from `start` on.
  void begin(Threads &threads, mlir::Value shared, int64_t start,
             mlir::Value pointer, mlir::Value first,
             llvm::ArrayRef<mlir::Value> batch);
  /// The warp's results begin at row (or column) `warpStart` of the tile.
  void beginFragments(mlir::Value warpStart);

  /// Starts to copy this thread's pieces of the steps from `firstDepth` on to
  /// `place` (a byte offset, i32) if `condition` (null: always). Returns the
  /// pieces that store() must store there.
  llvm::SmallVector<mlir::Value> load(mlir::Value firstDepth, mlir::Value place,
                                      mlir::Value condition);
  void store(mlir::Value place, mlir::Value condition,
             llvm::ArrayRef<mlir::Value> pieces);

  /// The registers (i32) of block number `block` of 16 rows or columns of the
  /// warp and step number `step` of 32 bytes of the part: the four registers of
  /// a first operand, or two registers of a second operand for every eight
  /// columns.
  llvm::SmallVector<mlir::Value> fragment(mlir::Value place, int64_t block,
                                          int64_t step);

private:
  struct Piece {
    mlir::Value depth;  // where it begins in the tile
    mlir::Value offset; // in shared memory, in bytes, i32
    OperandPlace place; // without the depth
  };

  bool isFirstOperand() const { return outerDim == codegen::ProductDim::rows; }
  int64_t lineBytes() const {
    return (isAlongDepth ? depth : outer) * elementBytes;
  }
  /// Whether fragments are read one number at a time: loads of matrices can
  /// transpose only 16-bit numbers.
  bool isReadSingly() const { return elementBytes == 4 && !isAlongDepth; }
  Piece piece(int64_t number, mlir::Value first,
              llvm::ArrayRef<mlir::Value> batch);
  mlir::Value key(mlir::Value line);
  mlir::Value chunkOffset(mlir::Value chunk, mlir::Value key);
  mlir::Value sharedAddress(mlir::Value place, mlir::Value offset);
  void copy(const OperandPlace &from, mlir::Value inside, mlir::Value to);
  mlir::Value loadSingly(const OperandPlace &from, mlir::Value inside);
  llvm::SmallVector<mlir::Value> readSingly(mlir::Value place, int64_t block,
                                            int64_t step);

  const codegen::Contraction &contraction;
  const codegen::ProductOperand &operand;
  codegen::ProductDim outerDim;
  int64_t outer, depth, threads;
  int64_t elementBytes;
  bool isAlongDepth; // direction of lines and pieces
  int64_t vector;    // elements of a piece
  int64_t count;     // pieces of a thread
  bool isForAll;     // every thread has a piece

  // While code is emitted.
  Threads *t = nullptr;
  mlir::Value shared, pointer; // in their address spaces
  int64_t start = 0;
  mlir::Value hasPiece; // null: always
  std::vector<Piece> pieces;
  // The lane's position in a fragment: its line and chunk (or row, with single
  // reads) in block 0 and step 0, and the key of its line.
  mlir::Value laneLine, laneChunk, laneKey;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_TENSORTILE_H
