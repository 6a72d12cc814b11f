//===- Attention.h - the common part of attention operators -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The common form of ONNX's Attention and of ONNX Runtime's attention operators
// (com.microsoft). They differ only in how they express it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_ATTENTION_H
#define SINTER_COMPILER_IMPORT_ONNX_ATTENTION_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

/// softmax(cap(query * key^T * scale) + biases) * value.
struct AttentionForm {
  /// [B, H, T, D], [B, K, S, D] and [B, K, S, E]; K divides H.
  mlir::Value query, key, value;
  /// Added to the scores, each broadcast to [B, H, T, S]: floats, or bools
  /// where false stands for -inf.
  llvm::SmallVector<mlir::Value> biases;
  double scale = 1;
  /// The soft bound of the scores; 0: none.
  double softcap = 0;
  /// Query i is at position i + offset among the keys; null: at i. An i64
  /// tensor that broadcasts to [B, H, T, S].
  mlir::Value offset;
  /// Scores of keys after the query's position are -inf.
  bool isCausal = false;
  /// So are scores of keys more than this many positions before or after the
  /// query; -1: no limit.
  int64_t left = -1, right = -1;
};

/// The stages of the scores, with ONNX's numbers.
enum class ScoreStage { scaled, capped, biased, probabilities };

/// Returns the result [B, H, T, E], and in `scores`, if it is not null, the
/// scores of `stage`. Returns null after n.fail().
mlir::Value emitAttention(NodeImport &n, AttentionForm form,
                          ScoreStage stage = ScoreStage::scaled,
                          mlir::Value *scores = nullptr);

/// [B, T, heads * D] -> [B, heads, T, D]; a value of rank 4 is returned as is.
mlir::Value splitHeads(NodeImport &n, mlir::Value v, int64_t heads,
                       llvm::StringRef attribute);
/// [B, heads, T, D] -> [B, T, heads * D].
mlir::Value joinHeads(NodeImport &n, mlir::Value v);

/// How the elements of a head are paired and rotated.
struct RotaryForm {
  /// [P, R / 2], rows by position, or [B, T, R / 2] where `positions` is null.
  mlir::Value cosines, sines;
  /// [B, T] or [1, T].
  mlir::Value positions;
  /// A pair is two adjacent elements, not one from each half.
  bool isInterleaved = false;
  /// R; 0: the whole head.
  int64_t dim = 0;
};

/// x [B, heads, T, D] with the first R elements of each head rotated.
mlir::Value emitRotary(NodeImport &n, mlir::Value x, const RotaryForm &form);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_ATTENTION_H
