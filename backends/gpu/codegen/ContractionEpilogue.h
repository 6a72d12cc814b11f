//===- ContractionEpilogue.h - what follows a contraction -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Emits the ops after a contraction: each thread applies them to its elements
// of the contraction's result and stores the results.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_CONTRACTIONEPILOGUE_H
#define SINTER_BACKENDS_GPU_CODEGEN_CONTRACTIONEPILOGUE_H

#include "backends/common/codegen/Contraction.h"
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/Nest.h"
#include "backends/gpu/codegen/BlockPart.h"
#include "backends/gpu/codegen/Threads.h"

namespace sinter::gpu {

class ContractionEpilogue {
public:
  ContractionEpilogue(std::shared_ptr<codegen::Nest> nest,
                      const codegen::Contraction &contraction);

  /// The distance, in elements, between what neighbouring steps of the
  /// innermost loop of `dim` store; 0: it is not constant.
  int64_t storedStride(codegen::ProductDim dim) const;

  /// The number of neighbouring columns that are computed together, at most
  /// `most`. They begin at a multiple of that number.
  int64_t lanes(int64_t most) const;

  /// BlockPart::blockRows, if a block computes a tile of this size; tiles of
  /// neighbouring rows belong to neighbouring blocks.
  std::optional<BlockRows> rowsOfTile(int64_t rows, int64_t columns) const;
  /// BlockPart::writesOwnRows, if there are such rows.
  bool storesRows(unsigned output) const;

  /// Sets where code is emitted and the buffers of the kernel's part. `batch`
  /// has the values of the batch loops.
  void begin(Threads &threads, llvm::ArrayRef<mlir::Value> inputs,
             llvm::ArrayRef<mlir::Value> outputs,
             llvm::ArrayRef<mlir::Value> batch);

  /// Emits all results at `row` and `count` columns from `column` on. `count`
  /// is what lanes() returned, or 1; `sum` is a scalar or a vector of `count`
  /// elements.
  void emit(llvm::ArrayRef<mlir::Value> row, llvm::ArrayRef<mlir::Value> column,
            mlir::Value sum, int64_t count);

private:
  struct StoredLoop {
    unsigned loop;
    int64_t factor; // its steps per step of the product's loop
  };
  std::optional<StoredLoop> storedLoop(codegen::ProductDim dim,
                                       unsigned loop) const;
  mlir::Value loopValue(unsigned loop,
                        llvm::ArrayRef<mlir::Value> position) const;

  std::shared_ptr<codegen::Nest> nest;
  const codegen::Contraction &contraction;
  mlir::Value result;         // of the contraction
  codegen::Index resultIndex; // its row-major position over the nest's loops

  // While code is emitted.
  Threads *t = nullptr;
  std::optional<codegen::ElementEmitter> emitter;
  llvm::SmallVector<mlir::Value> batchLoops;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_CONTRACTIONEPILOGUE_H
