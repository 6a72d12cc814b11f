//===- MicrosoftNorm.cpp - normalisations that ORT fuses ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Operators of the domain com.microsoft that fuse a normalisation with the sum
// or the look-ups before it.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Norm.h"
#include "compiler/import/onnx/Registry.h"

using namespace mlir;

namespace sinter::compiler {

/// input + skip + bias, which is also output 3.
static Value emitSkip(NodeImport &n, Value bias) {
  if (!n.requireFloat() || !n.requireRank(0, 1))
    return {};
  Value x = n.in(0);
  Value sum = n.add(x, n.broadcast(n.in(1), n.shapeOf(x)));
  if (bias)
    sum = n.add(sum, n.broadcast(bias, n.shapeOf(x)));
  n.out(3, sum);
  return sum;
}

static void importSkipLayerNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-12f);
  if (Value sum = emitSkip(n, n.in(4)))
    n.out(emitLayerNorm(n, sum, n.in(2), n.in(3), n.rankOf(sum) - 1, epsilon));
}

static void importSkipSimplifiedLayerNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-12f);
  if (Value sum = emitSkip(n, n.in(3)))
    n.out(emitRmsNorm(n, sum, n.in(2), n.rankOf(sum) - 1, epsilon));
}

/// Normalises the sum of the embeddings of words, positions and segments.
static void importEmbedLayerNorm(NodeImport &n) {
  double epsilon = n.attrFloat("epsilon", 1e-12f);
  n.ignoreAttr("mask_index_type"); // concerns output 1's shape
  for (size_t i : {2, 3, 5, 6})
    if (!n.has(i)) {
      n.fail("required input " + std::to_string(i) + " is missing");
      return;
    }
  Value words = n.in(0), table = n.in(2);
  if (!n.requireFloat(2) || n.failed())
    return;
  if (n.rankOf(words) != 2 || n.rankOf(table) != 2 || n.rankOf(n.in(3)) != 2) {
    n.fail("input_ids and the embeddings must be matrices");
    return;
  }
  int64_t batch = n.shapeOf(words)[0], steps = n.shapeOf(words)[1];
  if (n.has(1) != n.has(4)) {
    n.fail("segment_ids and segment_embedding must be given together");
    return;
  }
  auto lookUp = [&](Value rows, Value index) {
    int64_t size = n.shapeOf(rows)[0];
    return n.checkIndices(index, -size, size) ? n.gather(rows, index, 0)
                                              : Value();
  };
  Value sum = lookUp(table, words);
  if (!n.has(8) && steps > n.shapeOf(n.in(3))[0]) {
    n.fail("there are embeddings of " + std::to_string(n.shapeOf(n.in(3))[0]) +
           " positions; the input has " + std::to_string(steps));
    return;
  }
  sum = n.add(sum, n.has(8) ? lookUp(n.in(3), n.in(8))
                            : n.sliceDim(n.in(3), 0, 0, steps));
  if (n.has(1))
    sum = n.add(sum, lookUp(n.in(4), n.in(1)));
  n.out(emitLayerNorm(n, sum, n.in(5), n.in(6), 2, epsilon));
  Type i32 = n.b.getI32Type();
  // The number of words whose mask is 1.
  auto isOne = [&] {
    Value mask = n.in(7);
    return n.cast(n.compare(ir::CompareKind::eq, mask, n.splatLike(mask, 1)),
                  i32);
  };
  n.out(1, n.has(7) ? n.reduce(ir::ReduceKind::sum, isOne(), {1}, false)
                    : n.splat({batch}, i32, 0));
  n.out(2, sum);
}

llvm::ArrayRef<OpRow> microsoftNormOps() {
  static constexpr OpRow rows[] = {
      {"EmbedLayerNormalization", importEmbedLayerNorm, 1, 9, 3},
      {"SimplifiedLayerNormalization", importSimplifiedLayerNorm, 2, 2, 2},
      {"SkipLayerNormalization", importSkipLayerNorm, 3, 5, 4},
      {"SkipSimplifiedLayerNormalization", importSkipSimplifiedLayerNorm, 3, 4,
       4},
  };
  return rows;
}

} // namespace sinter::compiler
