//===- SplitReductions.cpp - long reductions to few results, in two -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A kernel gives each of its results to one worker, so a long reduction to few
// results would leave the others idle: statistics of a batch norm, the gradient
// of a bias. Here the outermost of the reduced dimensions are kept at first and
// reduced by a second, short reduction. The choice depends on the shape alone,
// as the tree of a sum does. Reductions over one dimension are left as they
// are.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/Remarks.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "passes/Passes.h.inc"

namespace {

/// Fewer elements than this are one worker's affair.
constexpr int64_t kLeastElements = 1 << 15;
/// With as many results there is work for everybody.
constexpr int64_t kManyResults = 1 << 12;
/// Parts that are worth having, and what is worth a part.
constexpr int64_t kEnoughParts = 16, kLeastPerPart = 16;

/// How many of the reduced dimensions, from the outermost, the first reduction
/// keeps; 0: it is not worth splitting.
size_t keptDims(ir::ReduceOp reduce) {
  RankedTensorType type = ir::tensorType(reduce.getX());
  int64_t results = ir::tensorType(reduce.getResult()).getNumElements();
  if (type.getNumElements() < kLeastElements || results == 0 ||
      results >= kManyResults)
    return 0;
  int64_t parts = 1, length = type.getNumElements() / results;
  size_t count = 0;
  for (int64_t dim : reduce.getDims().drop_back()) {
    int64_t size = type.getDimSize(dim);
    if (length / (parts * size) < kLeastPerPart)
      break;
    parts *= size;
    ++count;
    if (parts >= kEnoughParts)
      break;
  }
  return parts > 1 ? count : 0;
}

struct SplitReductionsPass : impl::SplitReductionsBase<SplitReductionsPass> {
  void runOnOperation() override {
    int64_t split = 0;
    getOperation().walk([&](ir::ReduceOp reduce) {
      if (isa<ir::FusionOp>(reduce->getParentOp()))
        return; // part of a library call
      if (size_t kept = keptDims(reduce)) {
        splitAfter(reduce, kept);
        ++split;
      }
    });
    if (split)
      ir::remark("split-reductions", "split", getOperation().getLoc(), "",
                 split);
  }

  // Pattern: reduce(x) over a, b -> reduce(reduce(x) over b) over a
  static void splitAfter(ir::ReduceOp reduce, size_t kept) {
    OpBuilder builder(reduce);
    ArrayRef<int64_t> outer = reduce.getDims().take_front(kept),
                      inner = reduce.getDims().drop_front(kept);
    Value parts = ir::reduceOver(builder, reduce.getLoc(), reduce.getKind(),
                                 reduce.getX(), inner);
    // What lies before them stays, so the outer dimensions keep their numbers.
    Value result = ir::reduceOver(builder, reduce.getLoc(), reduce.getKind(),
                                  parts, outer);
    reduce.replaceAllUsesWith(result);
    reduce.erase();
  }
};

} // namespace
} // namespace sinter::passes
