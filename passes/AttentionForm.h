//===- AttentionForm.h - attention as one library call ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Libraries read and write the heads of attention where a projection keeps
// them: [batch, heads, rows, depth] with any strides but that of depth. The
// fuse phase asks here which ops around an attention are only such strides, the
// plan phase for the numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_ATTENTIONFORM_H
#define SINTER_PASSES_ATTENTIONFORM_H

#include "ir/Dialect.h"

#include <array>

namespace sinter::passes {

/// Where the elements [batch, heads, rows, depth] of an operand or result lie
/// in the dense row-major bytes of another value, in elements. Those of a row
/// are adjacent.
struct HeadsView {
  mlir::Value base;
  int64_t offset = 0;
  std::array<int64_t, 3> strides{}; // batch, head, row
};

struct AttentionForm {
  mlir::Operation *op = nullptr; // sinter.attention or attention_grad
  int64_t batch = 1, heads = 1, queries = 1, keys = 1, depth = 1;
  /// query, key, value; of a gradient also output and output gradient.
  llvm::SmallVector<HeadsView> operands;
  /// Where the mask lies, [batch, heads, queries, keys] in float32 with strides
  /// of 0 where it repeats; null base: there is none.
  HeadsView mask;
  /// Output; of a gradient those of query, key and value.
  llvm::SmallVector<HeadsView> results;
  /// The ops that lead from the bases of operands to the op, the op itself, and
  /// those that lead to the bases of results; in the order of the block.
  llvm::SmallVector<mlir::Operation *> members;

  bool isGradient() const { return results.size() == 3; }
  /// float32 [batch, heads, queries].
  mlir::Value stats() const;
  /// Distinct bases of results, then the statistics where an attention's are
  /// used.
  llvm::SmallVector<mlir::Value> stored() const;
};

/// True for attention, or its gradient, on [batch, heads, rows, depth] or
/// [batch, rows, depth], with values as deep as queries. A mask, if there
/// is one, is float32, and nobody wants its gradient.
bool isPlainAttention(mlir::Operation *op);

/// Rows that libraries read begin at multiples of 16 bytes; they take 16-bit
/// floats only.
constexpr int64_t kAttentionAlignment = 8;

/// What libraries have code for among plain attentions, in whatever layout:
/// 16-bit floats (or float32 that the precision policy makes `narrow`, if that
/// is not null) and a depth of 8, 16, .. 128. An attention and its gradient get
/// the same answer.
bool isLibraryAttention(mlir::Operation *op, mlir::FloatType narrow = {});

/// Scratch that they take for a gradient whose sums have one order: a number in
/// float32 for each query, and a share of 64 for each block of 128 keys of each
/// query of whole blocks.
int64_t attentionScratchBytes(int64_t batch, int64_t heads, int64_t queries,
                              int64_t keys);

/// Whether what the mask adds is finite, as far as is seen before ops move:
/// where all of a row is -inf, an attention gives 0 and libraries give NaN.
/// What stands for -inf elsewhere is low enough. True without a mask.
bool hasFiniteMask(mlir::Operation *op);

/// The form of `op`, a plain attention or gradient in a block. Offsets and
/// strides are multiples of `alignment` elements, as depth must be: what lies
/// otherwise is read and written dense.
AttentionForm attentionForm(mlir::Operation *op, int64_t alignment);

} // namespace sinter::passes

#endif // SINTER_PASSES_ATTENTIONFORM_H
