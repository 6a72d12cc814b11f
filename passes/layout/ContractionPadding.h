//===- ContractionPadding.h - sizes that tensor cores like ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_CONTRACTIONPADDING_H
#define SINTER_PASSES_LAYOUT_CONTRACTIONPADDING_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// What is added at the end of each dimension of a product.
struct ContractionPadding {
  llvm::SmallVector<int64_t> lhs, rhs, result;
};

/// Elements in 16 bytes of what a product on tensor cores multiplies; 1 for
/// other products.
int64_t tensorCoreAlignment(ir::DotGeneralOp dot);

/// The padding that makes the lines of all three matrices multiples of 16
/// bytes, when by estimate it saves more time than its copies take.
std::optional<ContractionPadding> worthwhilePadding(ir::DotGeneralOp dot);

/// Replaces `dot` by a product of operands with zeros behind them, of whose
/// result the first part is taken: the values are the same.
void padContraction(ir::DotGeneralOp dot, const ContractionPadding &padding);

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_CONTRACTIONPADDING_H
