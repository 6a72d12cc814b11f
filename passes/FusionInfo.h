//===- FusionInfo.h - what is known of a fusion's accesses ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSIONINFO_H
#define SINTER_PASSES_FUSIONINFO_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// Kinds of `sinter.fusion` (its `kind` attribute).
namespace fusion_kind {
inline constexpr llvm::StringLiteral kLoop =
    "loop"; // elementwise and index maps
inline constexpr llvm::StringLiteral kReduce =
    "reduce"; // reductions, and values that use them
inline constexpr llvm::StringLiteral kConcat =
    "concat"; // one part of the result per operand
inline constexpr llvm::StringLiteral kScatter = "scatter";
inline constexpr llvm::StringLiteral kWindowGrad = "window_grad";
inline constexpr llvm::StringLiteral kScan =
    "scan"; // cumulative, cumulative_parts
inline constexpr llvm::StringLiteral kSort = "sort"; // top_k
inline constexpr llvm::StringLiteral kMulti =
    "multi"; // independent fusions in one kernel
inline constexpr llvm::StringLiteral kStaged =
    "staged"; // fusions that read what those before compute
inline constexpr llvm::StringLiteral kMatmul =
    "matmul"; // dot_general and its epilogue
inline constexpr llvm::StringLiteral kConv =
    "conv"; // conv, its gradients, and an epilogue
inline constexpr llvm::StringLiteral kAttention =
    "attention"; // attention or its gradient, a library call
} // namespace fusion_kind

/// True for a fusion that becomes a library call: attention, or a contraction
/// that the target does not generate. Generated ones say how their loops lie
/// (FusionDomain).
bool isLibraryCall(ir::FusionOp fusion);

/// How result `output` of `fusion` lies in memory. The mask of a relu that a
/// library call keeps is bits, eight to a byte, in lines of n padded to a
/// multiple of 128, which other calls alone read; all else is of its own type.
mlir::RankedTensorType storedType(ir::FusionOp fusion, unsigned output);

/// True when the kernel of `fusion` (a sinter.fusion, or the exec.kernel made
/// of it) reads every element of `input` only to compute the same element of
/// `output`, and before that is written, so that both may have the same bytes.
bool mayRunInPlace(mlir::Operation *fusion, unsigned input, unsigned output);

/// Calls `visit(input, output)` for every pair that may run in place.
void forEachInPlacePair(mlir::Operation *fusion,
                        llvm::function_ref<void(unsigned, unsigned)> visit);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSIONINFO_H
