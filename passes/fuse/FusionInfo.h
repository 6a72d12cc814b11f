//===- FusionInfo.h - how a fusion accesses memory --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSIONINFO_H
#define SINTER_PASSES_FUSE_FUSIONINFO_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// The type in which result `output` of `fusion` is stored. The mask of a relu
/// that a library call keeps is stored as bits, eight to a byte, in lines of n
/// bits padded to a multiple of 128; only other calls read it. All else has its
/// own type.
mlir::RankedTensorType storedType(ir::FusionOpInterface fusion,
                                  unsigned output);

/// True when `fusion` (an op of the graph, or the exec.kernel made of it) reads
/// every element of `input` only to compute the same element of `output`,
/// before it writes that element. Both may then share their bytes.
bool mayRunInPlace(mlir::Operation *fusion, unsigned input, unsigned output);

/// True when `call` is a convolution over two dimensions that only adds
/// `input`, which has the type of its one result, and for which the CPU's
/// library has code of its own. This reads an element of `input` right before
/// it stores the one of the result, or all of them before any, so both may
/// share their bytes.
bool mayAddInPlace(ir::LibraryCallOp call, unsigned input);

/// Calls `visit(input, output)` for every pair that may run in place.
void forEachInPlacePair(mlir::Operation *fusion,
                        llvm::function_ref<void(unsigned, unsigned)> visit);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSIONINFO_H
