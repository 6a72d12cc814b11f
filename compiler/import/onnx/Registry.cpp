//===- Registry.cpp - the supported ONNX operators ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/GraphCheck.h"

#include "llvm/ADT/StringSwitch.h"

namespace sinter::compiler {

/// The operators of one domain; "" is ONNX's own.
struct Domain {
  llvm::StringLiteral name;
  int64_t newest;
  llvm::SmallVector<llvm::ArrayRef<OpRow>> families;
};

static llvm::ArrayRef<Domain> domains() {
  static const Domain table[] = {
      {"", 27, {activationOps(), attentionOps(), controlOps(),
                convOps(),       einsumOps(),    elementwiseOps(),
                gridSampleOps(), indexOps(),     linearAttentionOps(),
                linearOps(),     loopOps(),      lossOps(),
                normOps(),       padOps(),       poolOps(),
                quantizeOps(),   recurrentOps(), reduceOps(),
                resizeOps(),     sequenceOps(),  shapeOps(),
                signalOps()}},
      // Operators that ONNX Runtime's optimizer and quantizer write.
      {"com.microsoft",
       1,
       {microsoftAttentionOps(), microsoftFusedOps(), microsoftNormOps(),
        microsoftQLinearOps(), microsoftQuantizeOps()}},
  };
  return table;
}

std::optional<int64_t> newestOpset(llvm::StringRef domain) {
  for (const Domain &known : domains())
    if (known.name == domain)
      return known.newest;
  return std::nullopt;
}

bool isMadeOfSeveral(llvm::StringRef domain, llvm::StringRef name) {
  if (!domain.empty())
    return llvm::StringSwitch<bool>(name)
        .Cases("BiasGelu", "BiasSoftmax", "BiasSplitGelu", "QuickGelu", true)
        .Cases("FusedConv", "FusedGemm", "FusedMatMul", "MatMulNBits", true)
        .Cases("MatMulIntegerToFloat", "TransposeMatMul", true)
        .Cases("RotaryEmbedding", "SkipLayerNormalization", true)
        .Default(false);
  return llvm::StringSwitch<bool>(name)
      .Cases("AveragePool", "GlobalAveragePool", "LpPool", "GlobalLpPool", true)
      .Cases("Acosh", "Asinh", "Celu", "Elu", true)
      .Cases("HardSigmoid", "HardSwish", "Mish", "Selu", true)
      .Cases("Conv", "Einsum", "Gemm", true)
      .Cases("DequantizeLinear", "NegativeLogLikelihoodLoss", true)
      .Cases("GroupNormalization", "InstanceNormalization", true)
      .Cases("LayerNormalization", "SoftmaxCrossEntropyLoss", true)
      .Cases("Shrink", "Softplus", "Softsign", "Swish", true)
      .Cases("GridSample", "Resize", "Upsample", "RotaryEmbedding", true)
      .Cases("LRN", "LpNormalization", "MeanVarianceNormalization", true)
      .Cases("Mean", "Sum", true)
      .Cases("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", true)
      .Cases("ReduceMean", "ReduceSumSquare", true)
      .Default(false);
}

Registry::Registry() {
  for (const Domain &domain : domains())
    for (llvm::ArrayRef<OpRow> family : domain.families)
      for (const OpRow &row : family)
        rows_.try_emplace(functionKey(domain.name, row.name), &row);
  for (const OpRow &row : openOps())
    openRows_.try_emplace(row.name, &row);
}

const OpRow *Registry::find(llvm::StringRef domain,
                            llvm::StringRef name) const {
  return rows_.lookup(functionKey(domain, name));
}

void Registry::forEach(
    llvm::function_ref<void(llvm::StringRef, const OpRow &)> visit) const {
  for (const Domain &domain : domains())
    for (llvm::ArrayRef<OpRow> family : domain.families)
      for (const OpRow &row : family)
        visit(domain.name, row);
}

const OpRow *Registry::findOpen(llvm::StringRef name) const {
  return openRows_.lookup(name);
}

} // namespace sinter::compiler
