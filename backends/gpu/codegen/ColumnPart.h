//===- ColumnPart.h - threads that share columns ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Reductions whose results are contiguous along the rows: gradients of biases,
// statistics of a batch norm. A block has some neighbouring columns. A thread
// has a vector of them, and several threads have the same. These share the
// terms of the sum over the outermost reduced loop (ReductionTree.h: its
// chunks, or its steps if they are few). The terms are collected in shared
// memory, and one thread for each column adds them in order. Reductions that do
// not depend on each other read their operands together. Results with an
// element for each step that need no sum of the last such group are stored
// while its operands are read.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_COLUMNPART_H
#define SINTER_BACKENDS_GPU_CODEGEN_COLUMNPART_H

#include "backends/common/codegen/ElementEmitter.h"
#include "backends/common/codegen/Nest.h"
#include "backends/gpu/codegen/BlockPart.h"

#include <memory>
#include <vector>

namespace sinter::gpu {

/// A reduction, and where it reads its operand.
struct ColumnSum {
  ir::ReduceOp op;
  ir::IndexVector input;
  ir::ReduceKind kind;
  mlir::Type element, compute,
      memory;    // of the result, a term, one in shared memory
  int64_t bytes; // of a term in shared memory
};

class ColumnPart : public BlockPart, codegen::LaneReducer {
public:
  explicit ColumnPart(std::shared_ptr<codegen::Nest> nest);

  int64_t threads() const override {
    return llvm::alignTo(columnThreads * sharers, kWarpThreads);
  }
  int64_t workers(int64_t) const override { return threads(); }
  int64_t blocks(int64_t) const override { return columnBlocks * outerSteps; }
  int64_t reach() const override { return reachOf(*nest); }
  void emit(Threads &threads, llvm::ArrayRef<mlir::Value> inputs,
            llvm::ArrayRef<mlir::Value> outputs) override;
  mlir::Value reduce(codegen::ElementEmitter &emitter, ir::ReduceOp op,
                     llvm::ArrayRef<ir::Index> input, unsigned level) override;

private:
  ColumnSum sumOf(codegen::ElementEmitter &emitter, ir::ReduceOp op,
                  ir::IndexVector input) const;
  void forTerms(codegen::ElementEmitter &emitter, mlir::Value first,
                int64_t count, llvm::function_ref<void(mlir::Value term)> body);
  llvm::SmallVector<mlir::Value> values(codegen::ElementEmitter &emitter,
                                        llvm::ArrayRef<ColumnSum> sums);
  bool areStoredEarly(llvm::ArrayRef<codegen::Root *> results,
                      llvm::ArrayRef<ir::ReduceOp> last) const;
  void storeEarly(codegen::ElementEmitter &emitter,
                  llvm::ArrayRef<mlir::Value> values);
  int64_t stepsTogether() const;
  llvm::SmallVector<mlir::Value> chunk(codegen::ElementEmitter &emitter,
                                       llvm::ArrayRef<ColumnSum> sums,
                                       mlir::Value from, int64_t steps);
  llvm::SmallVector<mlir::Value> term(codegen::ElementEmitter &emitter,
                                      llvm::ArrayRef<ColumnSum> sums,
                                      mlir::Value number);
  llvm::SmallVector<mlir::Value>
  reduceTogether(codegen::ElementEmitter &emitter,
                 llvm::ArrayRef<ColumnSum> sums);
  llvm::SmallVector<mlir::Value> addRound(codegen::ElementEmitter &emitter,
                                          llvm::ArrayRef<ColumnSum> sums,
                                          mlir::Value first, int64_t count,
                                          int64_t perRound,
                                          mlir::ValueRange before);
  int64_t sharedBytes(llvm::ArrayRef<ColumnSum> sums, int64_t perRound) const;
  mlir::Value slot(llvm::ArrayRef<ColumnSum> sums, size_t which,
                   int64_t perRound, mlir::Value number, mlir::Value position);
  void emitSteps(codegen::ElementEmitter &emitter,
                 llvm::ArrayRef<unsigned> loops,
                 llvm::ArrayRef<codegen::Root *> results);
  void storeAll(codegen::ElementEmitter &emitter,
                llvm::ArrayRef<codegen::Root *> results, mlir::Value condition);

  std::shared_ptr<codegen::Nest> nest;
  const ir::Domain &domain;
  unsigned sumLoop;          // threads share its terms
  unsigned sumLevel;         // its number among the reduced loops
  int64_t size;              // steps of it
  int64_t termSteps, terms;  // steps of a term
  unsigned columnLoop = ~0u; // ~0u: there is one column
  int64_t columns = 1;       // of a block
  int64_t columnBlocks = 1;
  int64_t vector = 1;                     // columns of a thread
  int64_t columnThreads = 1;              // of a block, for all its columns
  int64_t sharers = 1;                    // threads that have the same columns
  llvm::SmallVector<unsigned> outerLoops; // other kept loops, outermost first
  int64_t outerSteps = 1;

  // While code is emitted.
  Threads *t = nullptr;
  mlir::Value column,
      sharer;           // the first column of this thread in its block; counts
  mlir::Value isActive; // this thread has columns of its own; null: always
  mlir::Value exchange; // the terms and whole sums in shared memory
  bool isShown;         // threads need sums that others have added
  /// What is stored while the operands of the sums are read.
  llvm::SmallVector<codegen::Root *> early;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_COLUMNPART_H
