//===- CausalMask.h - masks that leave out later keys -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Whether the value of a mask, which depends on no input, is "a key counts
// where its position is not beyond the query's". It may be a constant, or
// computed from positions, as large masks stay: comparing them is cheaper than
// storing the result.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_CAUSALMASK_H
#define SINTER_PASSES_RECOGNIZE_CAUSALMASK_H

#include "mlir/IR/Value.h"

namespace sinter::passes {

/// What exporters write for "masked": in a softmax next to scores of any use it
/// weighs exactly 0, like -inf.
constexpr double kMasked = -1e4;

/// A mask that is added: 0 where the key counts, else -inf or what stands for
/// it. Its last two dimensions are queries and keys.
bool isCausalMask(mlir::Value mask);

/// The same as the condition under which a score counts.
bool isCausalCondition(mlir::Value condition);

} // namespace sinter::passes

#endif // SINTER_PASSES_RECOGNIZE_CAUSALMASK_H
