//===- ContractionPadding.h - aligned sizes for tensor cores ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_CONTRACTIONPADDING_H
#define SINTER_PASSES_LAYOUT_CONTRACTIONPADDING_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// How many elements are appended to each dimension of a product.
struct ContractionPadding {
  llvm::SmallVector<int64_t> lhs, rhs, result;
};

/// The number of operand elements in 16 bytes if the product runs on tensor
/// cores; 1 for other products.
int64_t tensorCoreAlignment(ir::DotGeneralOp dot);

/// The padding that makes the lines of all three matrices multiples of 16
/// bytes. Nothing unless by estimate it saves more time than its copies take.
std::optional<ContractionPadding> worthwhilePadding(ir::DotGeneralOp dot);

/// Replaces `dot` by a product of zero-padded operands, whose result is cut to
/// the size of the original. The values are the same.
void padContraction(ir::DotGeneralOp dot, const ContractionPadding &padding);

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_CONTRACTIONPADDING_H
