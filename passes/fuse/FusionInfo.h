//===- FusionInfo.h - what is known of a fusion's accesses ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSIONINFO_H
#define SINTER_PASSES_FUSE_FUSIONINFO_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// How result `output` of `fusion` lies in memory. The mask of a relu that a
/// library call keeps is bits, eight to a byte, in lines of n padded to a
/// multiple of 128, which other calls alone read; all else is of its own type.
mlir::RankedTensorType storedType(ir::FusionOpInterface fusion,
                                  unsigned output);

/// True when `fusion` (a command of the graph, or the exec.kernel made of one)
/// reads every element of `input` only to compute the same element of
/// `output`, and before that is written, so that both may have the same bytes.
bool mayRunInPlace(mlir::Operation *fusion, unsigned input, unsigned output);

/// Calls `visit(input, output)` for every pair that may run in place.
void forEachInPlacePair(mlir::Operation *fusion,
                        llvm::function_ref<void(unsigned, unsigned)> visit);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSIONINFO_H
