//===- DerivativeLists.h - exceptions of the table --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_OPS_DERIVATIVELISTS_H
#define SINTER_TEST_OPS_DERIVATIVELISTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace sinter::test {

/// Operators, separated by blanks, that have no points of their own.
struct OperatorReason {
  const char *reason;
  llvm::StringRef operators;
};
inline llvm::ArrayRef<OperatorReason> operatorsWithoutRows() {
  static const OperatorReason rows[] = {
      {"moves elements, or sums them with weights: linear",
       "AffineGrid CastLike CenterCropPad Col2Im Compress CausalConvWithState "
       "DFT GridSample MaxUnpool Resize ReverseSequence RotaryEmbedding STFT "
       "Upsample Dropout"},
      {"gives integers, truth values or constants",
       "And ArgMax ArgMin BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr "
       "BitwiseXor BlackmanWindow Constant ConstantOfShape Equal EyeLike "
       "Greater GreaterOrEqual HammingWindow HannWindow Hardmax IsInf IsNaN "
       "Less LessOrEqual NonZero Not OneHot Or Range Shape Size Xor"},
      {"quantised", "ConvInteger DequantizeLinear DynamicQuantizeLinear "
                    "MatMulInteger QLinearConv QLinearMatMul QuantizeLinear"},
      {"of other operators, which have rows",
       "SimplifiedLayerNormalization GRU If LSTM LinearAttention Loop RNN Scan "
       "SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
       "SequenceInsert "
       "SequenceLength ConcatFromSequence SplitToSequence SequenceMap "
       "Optional OptionalGetElement OptionalHasElement"},
      {"ties have a table of their own, scatter-reduce.json",
       "Scatter ScatterElements ScatterND TensorScatter"},
  };
  return rows;
}

/// Numbers of the table that a file cannot contain or ONNX defines differently.
struct DerivativeReason {
  const char *name, *key, *reason;
  bool isEverywhere = true; // evaluated and compiled
};
inline llvm::ArrayRef<DerivativeReason> derivativeReasons() {
  static const DerivativeReason rows[] = {
      {"Sign", "y", "of NaN it is NaN, not 0"},
      {"sign.both", "y", "of NaN it is NaN, not 0"},
      {"Shrink", "y", "of NaN ONNX has 0"},
      {"hardshrink.script", "y", "of NaN the exporter has 0"},
      {"softshrink.script", "y", "of NaN the exporter has 0"},
      {"bce-logits.script", "y", "of -inf it is inf, not NaN"},
      {"xlogy-0.dynamo", "d0", "the exporter chooses x itself where it is 0"},
      {"adaptive-max-pool.dynamo", "d0", "the exporter writes amax"},
      {"max-dim.script", "d0", "the file does not tell it from amax"},
      {"min-dim.script", "d0", "the file does not tell it from amin"},
      {"ReduceLogSumExp", "d0", "PyTorch loses log(2) next to 1e30"},
      {"logsumexp.both", "d0", "PyTorch loses log(2) next to 1e30"},
      {"logsumexp.script", "d0", "PyTorch loses log(2) next to 1e30"},
      {"logsumexp.dynamo", "d0", "PyTorch loses log(2) next to 1e30"},
      {"logsumexp-keep.script", "d0", "PyTorch loses log(2) next to 1e30"},
      {"logsumexp-keep.dynamo", "d0", "PyTorch loses log(2) next to 1e30"},
      {"cosine-similarity.script", "d0",
       "the exporter bounds the product of the norms, not each"},
      {"pairwise-distance.script", "y", "the exporter leaves out the epsilon"},
      {"pairwise-distance.script", "d0", "the exporter leaves out the epsilon"},
      {"pairwise-distance.script", "d1", "the exporter leaves out the epsilon"},
  };
  return rows;
}

} // namespace sinter::test

#endif // SINTER_TEST_OPS_DERIVATIVELISTS_H
