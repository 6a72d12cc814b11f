//===- LoopMapping.h - kernels as loops over tiles and lanes ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The CPU's mapping for kernels of kind loop, reduce and concat. Loops that are
// not reduced are divided into tiles, which workers claim. In a tile, lanes run
// along the dimension that is contiguous in memory. All choices depend on the
// shapes and the instruction set, never on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_LOOPMAPPING_H
#define SINTER_BACKENDS_CPU_CODEGEN_LOOPMAPPING_H

#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/Nest.h"

namespace sinter::cpu {

/// The tiles, vectors and loops of a nest.
class LoopNest {
public:
  /// `lanes` is the number of float32 lanes of a vector register.
  LoopNest(codegen::Nest &nest, int64_t lanes);

  int64_t tiles() const { return numTiles; }

  /// Emits the loops for tiles [begin, end). `arguments` are the pointers of
  /// the body's block arguments, `outputs` those of the results.
  void emit(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value begin,
            mlir::Value end, mlir::ValueRange arguments,
            mlir::ValueRange outputs);

private:
  void chooseLanes(int64_t lanes);
  void chooseInterleaved();
  int64_t chooseTileOperations() const;
  void chooseTiles();
  void emitUnit(codegen::ElementEmitter &emitter, mlir::Value unit);
  void emitRemainder(codegen::ElementEmitter &emitter, mlir::Value begin,
                     mlir::Value end, int64_t count);
  void emitRow(codegen::ElementEmitter &emitter);
  void emitInterleaved(codegen::ElementEmitter &emitter);
  bool emitReductions(codegen::ElementEmitter &emitter,
                      llvm::ArrayRef<codegen::Root *> results);
  void emitColumns(codegen::ElementEmitter &emitter, unsigned level,
                   llvm::ArrayRef<codegen::Root *> results);
  void fetchAhead(codegen::ElementEmitter &emitter,
                  llvm::ArrayRef<codegen::Reduction> all,
                  llvm::ArrayRef<codegen::Root *> results);
  void storeAll(codegen::ElementEmitter &emitter,
                llvm::ArrayRef<codegen::Root *> results);

  codegen::Nest &nest;
  const ir::Domain &domain;

  unsigned laneLoop = ~0u; // lanes run along it; ~0u: scalar code
  int64_t laneCount = 1;
  unsigned interleavedLoop = ~0u; // stored as a whole with the lanes; ~0u: none
  int64_t laneBlock =
      1; // steps of the lane loop per unit, if it is not reduced
  llvm::SmallVector<unsigned>
      unitLoops; // kept loops except the lane loop, outermost first
  int64_t laneBlocks = 1;
  int64_t numUnits = 1, unitsPerTile = 1, numTiles = 1;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_LOOPMAPPING_H
