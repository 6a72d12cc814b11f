//===- Attention.h - what attention operators share -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// ONNX's Attention and those of ONNX Runtime (com.microsoft) differ in how they
// say what is below; the meaning is one.
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
  /// Added to the scores, each as broadcast to [B, H, T, S]: floats, or bools
  /// whose false is -inf.
  llvm::SmallVector<mlir::Value> biases;
  double scale = 1;
  /// Bounds scores softly where not 0.
  double softcap = 0;
  /// Query i has the position i + offset among the keys; null: i. An i64 tensor
  /// that broadcasts to [B, H, T, S].
  mlir::Value offset;
  /// Keys after the query's position are at -inf.
  bool isCausal = false;
  /// So are keys more than this many positions before or after it; -1: none.
  int64_t left = -1, right = -1;
};

/// The stages of the scores, numbered as ONNX does.
enum class ScoreStage { scaled, capped, biased, probabilities };

/// [B, H, T, E], and the scores of `stage` where `scores` is not null; null
/// after n.fail().
mlir::Value emitAttention(NodeImport &n, AttentionForm form,
                          ScoreStage stage = ScoreStage::scaled,
                          mlir::Value *scores = nullptr);

/// [B, T, heads * D] -> [B, heads, T, D]; a value of rank 4 is that already.
mlir::Value splitHeads(NodeImport &n, mlir::Value v, int64_t heads,
                       llvm::StringRef attribute);
/// [B, heads, T, D] -> [B, T, heads * D].
mlir::Value joinHeads(NodeImport &n, mlir::Value v);

/// Which elements of a head are rotated with which.
struct RotaryForm {
  /// [P, R / 2], rows by position, or [B, T, R / 2] where `positions` is null.
  mlir::Value cosines, sines;
  /// [B, T] or [1, T].
  mlir::Value positions;
  /// Pairs are neighbours, not halves.
  bool isInterleaved = false;
  /// R; 0: the whole head.
  int64_t dim = 0;
};

/// x [B, heads, T, D] with the first R elements of each head rotated.
mlir::Value emitRotary(NodeImport &n, mlir::Value x, const RotaryForm &form);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_ATTENTION_H
