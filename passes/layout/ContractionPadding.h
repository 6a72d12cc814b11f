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

/// The multiply-adds in 16 bits that the assumed GPU does in the time in which
/// it moves a byte.
inline constexpr double kMultiplyAddsPerByte = 150;

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

/// Appends zeros to `stored`, `high[d]` of them to dimension d, and casts the
/// result to the element type of `operand`; `operand` if nothing is appended.
mlir::Value padWithZeros(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value operand, mlir::Value stored,
                         llvm::ArrayRef<int64_t> high);

/// Replaces the result of `op` by the first elements of `whole`, which computes
/// it with padding, and erases `op`. A result that is only cast to 16 bits is
/// cast before it is cut, so that a library can store it so.
void replaceByPart(mlir::OpBuilder &builder, mlir::Operation *op,
                   mlir::Value whole);

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_CONTRACTIONPADDING_H
