//===- AttentionForm.h - attention as one library call ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Libraries read and write the heads of attention where a projection stores
// them: [batch, heads, rows, depth] with any strides but that of depth. The
// fuse phase asks here which ops around an attention can be expressed by such
// strides, the plan phase for the numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_ATTENTIONFORM_H
#define SINTER_PASSES_ATTENTIONFORM_H

#include "ir/Dialect.h"

#include <array>

namespace sinter::passes {

/// The position of the elements [batch, heads, rows, depth] of an operand or
/// result in the dense row-major bytes of another value, in elements. Elements
/// of a row are adjacent.
struct HeadsView {
  mlir::Value base;
  int64_t offset = 0;
  std::array<int64_t, 3> strides{}; // batch, head, row
};

struct AttentionForm {
  mlir::Operation *op = nullptr; // sinter.attention or attention_grad
  int64_t batch = 1, heads = 1, queries = 1, keys = 1, depth = 1;
  /// query, key, value; for a gradient also output and output gradient.
  llvm::SmallVector<HeadsView> operands;
  /// The mask: [batch, heads, queries, keys] in float32, with strides of 0
  /// where it repeats. The base is null if there is none.
  HeadsView mask;
  /// The output; for a gradient those of query, key and value.
  llvm::SmallVector<HeadsView> results;
  /// The ops that lead from the bases of operands to the op, the op itself, and
  /// those that lead to the bases of results, in block order.
  llvm::SmallVector<mlir::Operation *> members;

  bool isGradient() const { return results.size() == 3; }
  /// float32 [batch, heads, queries].
  mlir::Value stats() const;
  /// The distinct bases of results, then the statistics of an attention if they
  /// are used.
  llvm::SmallVector<mlir::Value> stored() const;
};

/// True for attention, or its gradient, on [batch, heads, rows, depth] or
/// [batch, rows, depth], whose values are as deep as the queries. A mask must
/// be float32, and its gradient must be unused.
bool isPlainAttention(mlir::Operation *op);

/// The alignment of rows in elements: cuDNN takes rows of 16-bit floats that
/// begin at multiples of 16 bytes.
constexpr int64_t kAttentionAlignment = 8;

/// True for plain attentions that libraries have code for, in any layout: a
/// depth of 8, 16, .. 128, and floats of 16 or 32 bits. Which of these types a
/// target takes, it says itself (Target::keepsComposite). An attention and its
/// gradient get the same answer.
bool isLibraryAttention(mlir::Operation *op);
/// True if `op` computes in 16-bit floats, or in float32 that the precision
/// policy will make `narrow`, if that is not null.
bool isNarrowAttention(mlir::Operation *op, mlir::FloatType narrow);

/// The scratch memory of a gradient whose sums have a fixed order: a float32
/// number per query, and 64 of them per block of 128 keys and query, with the
/// queries rounded up to whole blocks.
int64_t attentionScratchBytes(int64_t batch, int64_t heads, int64_t queries,
                              int64_t keys);

/// True when the mask is known to be finite, or if there is none. It is decided
/// from the ops that compute the mask, so ask before these are moved. In a row
/// that is all -inf, attention gives 0 and libraries give NaN. Finite numbers
/// that stand for -inf are low enough.
bool hasFiniteMask(mlir::Operation *op);

/// The form of `op`, a plain attention or gradient in a block. Offsets and
/// strides are multiples of `alignment` elements, as depth must be; an operand
/// or result for which that is not possible is read or written dense.
AttentionForm attentionForm(mlir::Operation *op, int64_t alignment);

} // namespace sinter::passes

#endif // SINTER_PASSES_ATTENTIONFORM_H
