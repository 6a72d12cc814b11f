//===- Loss.cpp - losses as operators of the graph ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"

#include <numeric>

using namespace mlir;

namespace sinter::compiler {

namespace {
enum class Reduction { None, Mean, Sum };
struct LossOptions {
  Reduction reduction;
  std::optional<int64_t> ignoreIndex;
};
} // namespace

/// Reads the attributes and checks the shapes: scores [N, C, d..], labels
/// [N, d..], weights [C].
static std::optional<LossOptions> readLoss(NodeImport &n) {
  std::string name = n.attrString("reduction", "mean");
  LossOptions options{Reduction::Mean, n.attrInt("ignore_index")};
  if (n.failed())
    return std::nullopt;
  if (name == "none")
    options.reduction = Reduction::None;
  else if (name == "sum")
    options.reduction = Reduction::Sum;
  else if (name != "mean") {
    n.fail("attribute 'reduction' is " + quoted(name) +
           "; it must be 'none', 'mean' or 'sum'");
    return std::nullopt;
  }
  if (!n.requireFloat() || !n.requireRank(0, 2))
    return std::nullopt;
  Ints scores = n.shapeOf(n.in(0));
  if (Shape(n.shapeOf(n.in(1))) != ir::dropDims(scores, {1})) {
    n.fail("labels have shape " + shownShape(n.shapeOf(n.in(1))) +
           "; it must be " + shownShape(ir::dropDims(scores, {1})));
    return std::nullopt;
  }
  if (n.has(2) && n.shapeOf(n.in(2)) != Ints({scores[1]})) {
    n.fail("weights have shape " + shownShape(n.shapeOf(n.in(2))) +
           "; it must be " + shownShape({scores[1]}));
    return std::nullopt;
  }
  Value labels = n.in(1);
  if (options.ignoreIndex) {
    Value ignored = n.splatLike(labels, double(*options.ignoreIndex));
    labels = n.where(n.compare(ir::CompareKind::eq, labels, ignored),
                     n.splatLike(labels, 0), labels);
  }
  if (!n.checkIndices(labels, 0, scores[1]))
    return std::nullopt;
  return options;
}

static Value sumAll(NodeImport &n, Value x) {
  Shape dims(n.rankOf(x));
  std::iota(dims.begin(), dims.end(), 0);
  return n.reduce(ir::ReduceKind::sum, x, dims, /*keep=*/false);
}

/// 1 where the label counts, else 0, in the scores' type; null if all count.
static Value emitCounted(NodeImport &n, const LossOptions &options) {
  if (!options.ignoreIndex)
    return {};
  Value labels = n.in(1);
  Value ignored = n.splatLike(labels, double(*options.ignoreIndex));
  return n.cast(n.compare(ir::CompareKind::ne, labels, ignored),
                n.elementOf(n.in(0)));
}

/// -logProbability[label] * weight[label], reduced.
static Value emitNegativeLogLikelihood(NodeImport &n, Value logProbability,
                                       const LossOptions &options) {
  Value labels = n.in(1), counted = emitCounted(n, options);
  labels = n.cast(labels, n.i64());
  if (counted) // a label that does not count may be out of range
    labels = n.where(n.cast(counted, n.i1()), labels, n.splatLike(labels, 0));
  Value picked = n.gatherElements(logProbability, n.expandDims(labels, {1}), 1);
  Value losses = n.unary<ir::NegOp>(n.squeeze(picked, {1}));
  Value weights = n.has(2) ? n.gather(n.in(2), labels, 0) : Value();
  if (counted)
    weights = weights ? n.mul(weights, counted) : counted;
  if (weights)
    losses = n.mul(losses, weights);
  if (options.reduction == Reduction::None)
    return losses;
  Value total = sumAll(n, losses);
  if (options.reduction == Reduction::Sum || !total)
    return total;
  if (weights)
    return n.div(total, sumAll(n, weights));
  return n.div(total, double(ir::tensorType(labels).getNumElements()));
}

static void importNegativeLogLikelihoodLoss(NodeImport &n) {
  if (std::optional<LossOptions> options = readLoss(n))
    n.out(emitNegativeLogLikelihood(n, n.in(0), *options));
}

static void importSoftmaxCrossEntropyLoss(NodeImport &n) {
  std::optional<LossOptions> options = readLoss(n);
  if (!options)
    return;
  Value scores = n.in(0);
  if (n.has(2) || n.wants(1)) {
    Value logProbability = n.logSoftmax(scores, 1);
    n.out(0, emitNegativeLogLikelihood(n, logProbability, *options));
    n.out(1, logProbability);
    return;
  }
  auto type = RankedTensorType::get(n.shapeOf(n.in(1)), n.elementOf(scores));
  IntegerAttr ignored = options->ignoreIndex
                            ? n.b.getI64IntegerAttr(*options->ignoreIndex)
                            : IntegerAttr();
  Value losses = n.b.create<ir::SoftmaxCrossEntropyOp>(
      n.loc, type, scores, n.in(1), /*axis=*/1, ignored, llvm::APFloat(0.0));
  if (options->reduction == Reduction::None) {
    n.out(losses);
    return;
  }
  Value total = sumAll(n, losses), counted = emitCounted(n, *options);
  if (options->reduction == Reduction::Mean)
    total = counted ? n.div(total, sumAll(n, counted))
                    : n.div(total, double(type.getNumElements()));
  n.out(total);
}

llvm::ArrayRef<OpRow> lossOps() {
  static constexpr OpRow rows[] = {
      {"NegativeLogLikelihoodLoss", importNegativeLogLikelihoodLoss, 2, 3, 1,
       12},
      {"SoftmaxCrossEntropyLoss", importSoftmaxCrossEntropyLoss, 2, 3, 2, 12},
  };
  return rows;
}

} // namespace sinter::compiler
