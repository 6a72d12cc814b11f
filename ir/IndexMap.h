//===- IndexMap.h - indices at which ops read -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For affine cases, the map from the index of a result to the indices of the
// operands that it is computed from. The fuse phase uses it to decide what can
// be one kernel, and code generators compute addresses from it. Ops answer by
// IndexMapOpInterface.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_INDEXMAP_H
#define SINTER_IR_INDEXMAP_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// The index at which the op of `operand` reads it to compute its result at
/// `index`; nullopt if that is not one affine index (pad, concat, gather,
/// windows, a reshape that joins dimensions) or is not known. For reductions
/// `reducedLoops` gives the loop of each reduced dimension, in order.
std::optional<IndexVector> mapIndex(mlir::OpOperand &operand,
                                    llvm::ArrayRef<Index> index,
                                    llvm::ArrayRef<unsigned> reducedLoops = {});

/// True when `op` only inserts or removes dimensions of size 1.
bool isUnitReshape(ReshapeOp op);
/// True when each dimension of the operand becomes one or more of the result;
/// others of size 1 may be between.
bool isSplitReshape(ReshapeOp op);

/// For each value in `body`, including block arguments, the single affine index
/// at which it is read when `roots` are computed at their indices. Values
/// without a single index are absent. Reads by `opaque` do not count.
llvm::DenseMap<mlir::Value, IndexVector>
traceIndices(mlir::Block &body,
             llvm::ArrayRef<std::pair<mlir::Value, IndexVector>> roots,
             llvm::ArrayRef<unsigned> reducedLoops,
             mlir::Operation *opaque = nullptr);

} // namespace sinter::ir

#endif // SINTER_IR_INDEXMAP_H
