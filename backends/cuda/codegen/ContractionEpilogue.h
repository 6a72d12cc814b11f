//===- ContractionEpilogue.h - what follows a contraction -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A thread that has an element of a contraction's result, or some neighbouring
// ones, computes and stores there what the fusion makes of it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_CONTRACTIONEPILOGUE_H
#define SINTER_BACKENDS_CUDA_CODEGEN_CONTRACTIONEPILOGUE_H

#include "backends/common/codegen/Contraction.h"
#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/Nest.h"
#include "backends/cuda/codegen/Threads.h"

namespace sinter::cuda {

class ContractionEpilogue {
public:
  ContractionEpilogue(std::shared_ptr<codegen::Nest> nest,
                      const codegen::Contraction &contraction);

  /// The distance of what the steps of the innermost loop of `dim` store, in
  /// elements; 0: there is no one distance.
  int64_t storedStride(codegen::ProductDim dim) const;

  /// Neighbouring columns, beginning at a multiple of that number, that are
  /// computed together when there are at most `most`.
  int64_t lanes(int64_t most) const;

  /// Where code is emitted and what the kernel's part reads and writes;
  /// `batch` are the values of the batch's loops.
  void begin(Threads &threads, llvm::ArrayRef<mlir::Value> inputs,
             llvm::ArrayRef<mlir::Value> outputs,
             llvm::ArrayRef<mlir::Value> batch);

  /// Emits all results at a row and `count` columns (a number that lanes()
  /// gave, or 1) from the first on; `sum` is a scalar or a vector of `count`
  /// elements.
  void emit(llvm::ArrayRef<mlir::Value> row, llvm::ArrayRef<mlir::Value> column,
            mlir::Value sum, int64_t count);

private:
  struct StoredLoop {
    unsigned loop;
    int64_t factor; // steps of it per step of the product's loop
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

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_CONTRACTIONEPILOGUE_H
