//===- IndexMap.h - which element an element is made from -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The affine part of "your value at this index, from your operands at these
// indices". The fuse phase decides with it what may become one kernel; code
// generators build addresses from it. Ops answer by IndexMapOpInterface.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_INDEXMAP_H
#define SINTER_IR_INDEXMAP_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// The index of `operand`'s value that its op reads to compute its result at
/// `index`; nullopt when that is not one affine element (pad, concat, gather,
/// windows, a reshape that joins dimensions) or is not known. For reductions
/// `reducedLoops` gives the loop of each reduced dimension, in order.
std::optional<IndexVector> mapIndex(mlir::OpOperand &operand,
                                    llvm::ArrayRef<Index> index,
                                    llvm::ArrayRef<unsigned> reducedLoops = {});

/// True when `op` only inserts or removes dimensions of size 1.
bool isUnitReshape(ReshapeOp op);
/// True when each of the operand's dimensions becomes one or more of the
/// result's; others of size 1 may be between.
bool isSplitReshape(ReshapeOp op);

/// The index of every value in `body`, block arguments included, that computing
/// `roots` at their indices reads at one affine index only; the others are
/// absent. What `opaque` reads does not count.
llvm::DenseMap<mlir::Value, IndexVector>
traceIndices(mlir::Block &body,
             llvm::ArrayRef<std::pair<mlir::Value, IndexVector>> roots,
             llvm::ArrayRef<unsigned> reducedLoops,
             mlir::Operation *opaque = nullptr);

} // namespace sinter::ir

#endif // SINTER_IR_INDEXMAP_H
