//===- IndexMap.h - which element an element is made from -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The affine part of "your value at this index, from your operands at these
// indices". The fuse phase decides with it what may become one kernel; code
// generators build addresses from it. Loops are numbered; an index is an affine
// form over them.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_INDEXMAP_H
#define SINTER_PASSES_INDEXMAP_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// constant + sum of coefficient * loop, for the index along one dimension.
struct Index {
  int64_t constant = 0;
  /// Ascending by loop; no zero coefficients.
  llvm::SmallVector<std::pair<unsigned, int64_t>, 1> terms;

  static Index loop(unsigned number) { return {0, {{number, 1}}}; }
  static Index fixed(int64_t value) { return {value, {}}; }

  /// The coefficient of `loop`, 0 if it does not occur.
  int64_t coefficient(unsigned loop) const;
  /// The loop, if the index is just that loop.
  std::optional<unsigned> asLoop() const;
  Index scaled(int64_t factor) const;
  Index plus(int64_t value) const;
  friend Index operator+(const Index &a, const Index &b);
  bool operator==(const Index &other) const {
    return constant == other.constant && terms == other.terms;
  }
};
using IndexVector = llvm::SmallVector<Index, 4>;

/// The index of `operand`'s value that its op reads to compute its result at
/// `index`; nullopt when that is not one affine element (pad, concat, gather,
/// windows, a reshape that joins dimensions). For reductions `reducedLoops`
/// gives the loop of each reduced dimension, in order.
std::optional<IndexVector> mapIndex(mlir::OpOperand &operand,
                                    llvm::ArrayRef<Index> index,
                                    llvm::ArrayRef<unsigned> reducedLoops = {});

/// True when `op` only inserts or removes dimensions of size 1.
bool isUnitReshape(ir::ReshapeOp op);
/// True when each of the operand's dimensions becomes one or more of the
/// result's; others of size 1 may be between.
bool isSplitReshape(ir::ReshapeOp op);

/// The loops of a fusion and how its results lie in them: the attributes
/// `domain` (sizes), `reduced` (numbers of the loops that reductions run over)
/// and `views` (per result, the loop of each dimension, -1 for size 1).
struct FusionDomain {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<unsigned> reduced;
  llvm::SmallVector<IndexVector> views;

  bool isReduced(unsigned loop) const {
    return llvm::is_contained(reduced, loop);
  }
  /// Of a sinter.fusion, or of the exec.kernel made of it.
  static FusionDomain read(mlir::Operation *fusion);
  void write(ir::FusionOp fusion) const;

  /// traceIndices from the body's results.
  llvm::DenseMap<mlir::Value, IndexVector> trace(mlir::Block &body) const;
};

/// The index of every value in `body`, block arguments included, that computing
/// `roots` at their indices reads at one affine index only; the others are
/// absent. What `opaque` reads does not count.
llvm::DenseMap<mlir::Value, IndexVector>
traceIndices(mlir::Block &body,
             llvm::ArrayRef<std::pair<mlir::Value, IndexVector>> roots,
             llvm::ArrayRef<unsigned> reducedLoops,
             mlir::Operation *opaque = nullptr);

} // namespace sinter::passes

#endif // SINTER_PASSES_INDEXMAP_H
