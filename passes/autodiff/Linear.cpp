//===- Linear.cpp - gradient rules of contractions ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Rules.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// One side of a contraction: its batch, free and contracted dimensions.
struct Side {
  Value value;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
};

/// Sorts pairs of dimensions: `to` in ascending order, and `from` with it.
void sortPairs(SmallVectorImpl<int64_t> &from, SmallVectorImpl<int64_t> &to) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [a, b] : llvm::zip(to, from))
    pairs.emplace_back(a, b);
  llvm::sort(pairs);
  for (auto [i, pair] : llvm::enumerate(pairs))
    std::tie(to[i], from[i]) = pair;
}

/// The cotangent of `self`. The result's cotangent g is contracted with `other`
/// over the free dimensions of `other`, which begin in g at `otherFirst`. The
/// operand order is one that needs no transpose, if there is one.
Value sideGradient(OpGradient &g, const Side &self, const Side &other,
                   int64_t otherFirst) {
  SmallVector<int64_t> gradBatch = firstDims(self.batch.size());
  SmallVector<int64_t> gradContract =
      dimRange(otherFirst, otherFirst + other.free.size());

  // The contracted dimensions of `other` are kept, in ascending order; they
  // become those that they are contracted with in `self`.
  SmallVector<int64_t> kept(self.contract), keptOther(other.contract);
  sortPairs(kept, keptOther);

  // The dimensions of `self` in the order in which the product has them.
  auto order = [&](bool gradFirst) {
    SmallVector<int64_t> dims(self.batch);
    dims.append(gradFirst ? self.free : kept);
    dims.append(gradFirst ? kept : self.free);
    return dims;
  };
  bool gradFirst =
      llvm::is_sorted(order(true)) || !llvm::is_sorted(order(false));
  Value product =
      gradFirst ? g.make<DotGeneralOp>(g.grad(), other.value, gradBatch,
                                       other.batch, gradContract, other.free)
                : g.make<DotGeneralOp>(other.value, g.grad(), other.batch,
                                       gradBatch, other.free, gradContract);
  return g.transpose(product, inversePermutation(order(gradFirst)));
}

void dotGeneralRule(DotGeneralOp op, OpGradient &g) {
  Side lhs{op.getLhs(), op.getLhsBatch(), op.getLhsContract(), op.getLhsFree()};
  Side rhs{op.getRhs(), op.getRhsBatch(), op.getRhsContract(), op.getRhsFree()};
  int64_t lhsFirst = lhs.batch.size(), rhsFirst = lhsFirst + lhs.free.size();
  if (g.wants(0))
    g.give(0, sideGradient(g, lhs, rhs, rhsFirst));
  if (g.wants(1))
    g.give(1, sideGradient(g, rhs, lhs, lhsFirst));
}

} // namespace

void addLinearRules(GradientRules &rules) {
  rules.add<DotGeneralOp>(dotGeneralRule);
}

} // namespace sinter::passes
