//===- CausalMask.h - recognition of causal masks ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A mask is causal if a key counts exactly where its position is not beyond
// that of the query. The mask depends on no input. It is a constant or, if it
// is large, computed from positions: FoldConstants leaves it so, since
// comparing positions is cheaper than storing the result. Used by
// RecognizeAttention.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_CAUSALMASK_H
#define SINTER_PASSES_RECOGNIZE_CAUSALMASK_H

#include "mlir/IR/Value.h"

namespace sinter::passes {

/// A value up to this stands for -inf in a mask, as exporters write it: beside
/// scores of ordinary size its weight in a softmax is exactly 0.
constexpr double kMasked = -1e4;

/// Whether `mask`, which is added to the scores, is causal: 0 where the key
/// counts, -inf or a value that stands for it elsewhere. Its last two
/// dimensions are queries and keys.
bool isCausalMask(mlir::Value mask);

/// Whether `condition`, which is true where a score counts, is causal.
bool isCausalCondition(mlir::Value condition);

} // namespace sinter::passes

#endif // SINTER_PASSES_RECOGNIZE_CAUSALMASK_H
