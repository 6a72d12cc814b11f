//===- QuantizedPostOps.h - what follows 8-bit contractions -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The post-ops of a contraction of 8-bit integers, which has an int32 result:
// corrections, dequantize, float32 post-ops, and quantize. Some of them stand
// for several ops.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_QUANTIZEDPOSTOPS_H
#define SINTER_PASSES_QUANTIZEDPOSTOPS_H

#include "passes/PostOps.h"

namespace sinter::passes {

/// Whether `op` is a contraction of 8-bit integers into int32.
bool multipliesBytes(mlir::Operation *op);

/// Whether the CPU has a kernel for `conv` on 8-bit integers once it is
/// channels-last: over two dimensions, without groups or with one filter for
/// each channel.
bool hasByteWindow(ir::ConvOp conv);

/// What pads the input of a convolution of 8-bit integers.
struct BytePadding {
  ir::PadOp pad; // of the spatial dimensions
  int32_t value;
};

/// The op that pads the input of `contraction`, if a call of it that has
/// dequantize can pad with the same value instead.
std::optional<BytePadding> paddingOf(mlir::Operation *contraction);

/// A post-op and the ops that it stands for.
struct QuantizedPostOp {
  PostOp postOp;
  /// In the order of the chain; the last one has the result. Constants and
  /// broadcasts among them may have other users.
  llvm::SmallVector<mlir::Operation *, 8> members;

  mlir::Value result() const { return members.back()->getResult(0); }
};

/// (codes - zero) * scale of float32.
struct CodedValue {
  mlir::Value codes; // of 8 bits
  float scale, zero;
  /// In the order of the block; they may have other users.
  llvm::SmallVector<mlir::Operation *, 8> members;
};

/// `value` taken apart if it is dequantised with one scale and one zero point.
std::optional<CodedValue> codedValueOf(mlir::Value value);

/// Codes as round(x / scale) + zero, saturated, of a float32 x.
struct QuantizedValue {
  mlir::Value x;
  float scale, zero;
  /// In the order of the block; they may have other users.
  llvm::SmallVector<mlir::Operation *, 8> members;
};

/// `codes` taken apart if they are quantised with one scale and one zero point.
/// x is not looked for beyond `begin`.
std::optional<QuantizedValue> quantizedValueOf(mlir::Value codes,
                                               mlir::Value begin = {});

/// The ops that all uses of `value`, of float32, belong to, as the post-op
/// quantize; nothing if they are something else.
std::optional<QuantizedPostOp> matchQuantize(mlir::Value value);

/// The post-op of `contraction` that all uses of `value` belong to; nothing if
/// there is none. `value` is the result of the contraction or of the post-op
/// before. What the post-op reads is a broadcast of a vector along the columns
/// or channels. `makesVectors`: a splat in its place becomes such a broadcast.
std::optional<QuantizedPostOp>
matchQuantizedPostOp(mlir::Value value, mlir::Operation *contraction,
                     bool makesVectors);

} // namespace sinter::passes

#endif // SINTER_PASSES_QUANTIZEDPOSTOPS_H
