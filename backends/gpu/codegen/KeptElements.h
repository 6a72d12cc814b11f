//===- KeptElements.h - long rows in shared memory --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_KEPTELEMENTS_H
#define SINTER_BACKENDS_GPU_CODEGEN_KEPTELEMENTS_H

#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/Nest.h"
#include "backends/gpu/codegen/Threads.h"

namespace sinter::gpu {

/// Keeps the elements of a row that several passes over it read, in the dynamic
/// shared memory of the block. A pass consists of rounds, and in each round a
/// thread reads the same pieces of the row in each pass, so it keeps its own
/// elements. The first rounds are kept, as many as the memory holds; later
/// rounds read global memory in each pass.
class KeptElements : codegen::RowKeeper {
public:
  /// A pass has `rounds` rounds of `pieces` pieces of `vector` elements along
  /// `rowLoop`.
  KeptElements(const codegen::Nest &nest, unsigned rowLoop, int64_t rounds,
               int64_t pieces, int64_t vector);

  /// The dynamic shared memory, of at most `most` bytes, that a block of
  /// `blockThreads` threads can use.
  int64_t bytes(int64_t most, int64_t blockThreads) const;

  /// Before the first pass.
  void begin(codegen::ElementEmitter &emitter, Threads &threads);
  /// Emits the rounds of the next pass, in order. `body` emits round number
  /// `round` (a count); it takes the values that the round before returned,
  /// `start` in the first round. Returns those of the last round.
  llvm::SmallVector<mlir::Value>
  forRounds(mlir::ValueRange start,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(
                mlir::Value round, mlir::ValueRange carried)>
                body);
  /// Enclose the reads of piece number `number` of a round. `loop` has the
  /// piece's position.
  void enterPiece(unsigned loop, int64_t number) {
    pieceLoop = loop;
    piece = number;
  }
  void leavePiece() { pieceLoop = std::nullopt; }

private:
  struct Operand {
    mlir::Value tensor;
    int64_t bytes;                   // of a piece
    unsigned pass = 0;               // the first that reads it; 0: none yet
    codegen::IndexVector index = {}; // of its reads there
    mlir::Type type = {};            // of a piece
  };

  mlir::Value keep(mlir::Value tensor, llvm::ArrayRef<ir::Index> index,
                   llvm::function_ref<mlir::Value()> read) override;
  int64_t roundBytes(int64_t blockThreads) const;

  unsigned rowLoop;
  int64_t rounds, pieces;
  size_t numLoops;
  llvm::SmallVector<Operand> operands;

  // While code is emitted.
  codegen::ElementEmitter *emitter = nullptr;
  Threads *t = nullptr;
  mlir::Value memory, keptRounds, round; // counts
  bool isKept = false;                   // these rounds are
  std::optional<unsigned> pieceLoop;
  int64_t piece = 0;
  unsigned pass = 0; // from 1 on
};

/// `index` with loop `to` in place of loop `from`.
codegen::IndexVector replacedLoop(llvm::ArrayRef<ir::Index> index,
                                  unsigned from, unsigned to);

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_KEPTELEMENTS_H
