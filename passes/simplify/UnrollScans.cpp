//===- UnrollScans.cpp - short scans become straight code -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replaces a scan by its trips, one after the other. A trip reads slices of the
// stacks; the slices of a stacked result are concatenated. Always legal. Scans
// with more trips than `max-trips` stay. What a trip repeats, and slices of
// what is concatenated, is left to the simplifier.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "ir/Rewrites.h"
#include "passes/Failure.h"
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_UNROLLSCANS
#include "passes/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kPass = "unroll-scans";
// More straight code takes too long to compile.
constexpr int64_t kMostTrips = 4096, kMostOps = 500000;

int64_t tripsOf(ScanOp scan) { return static_cast<int64_t>(scan.getTrips()); }

/// Slice `index` of `stack`, without its first dimension.
Value sliceOf(OpBuilder &b, Location loc, Value stack, int64_t index) {
  RankedTensorType type = tensorType(stack);
  return reshapeTo(b, loc, sliceAlong(b, loc, stack, 0, index, index + 1),
                   type.getShape().drop_front());
}

/// The slices as one value, with a new first dimension.
Value stackOf(OpBuilder &b, Location loc, ArrayRef<Value> slices) {
  SmallVector<Value> rows;
  for (Value slice : slices) {
    SmallVector<int64_t> shape{1};
    llvm::append_range(shape, tensorType(slice).getShape());
    rows.push_back(reshapeTo(b, loc, slice, shape));
  }
  if (rows.size() == 1)
    return rows.front();
  return b.create<ConcatOp>(loc, rows, /*axis=*/0).getResult();
}

void unroll(ScanOp scan) {
  OpBuilder b(scan);
  Block &body = scan.getBody().front();
  const unsigned carried = scan.numCarried();
  Operation *before = scan->getPrevNode();
  Rewrite rewrite("unroll scan", scan.getOperation());
  SmallVector<Value> values(scan.getInitial());
  std::vector<SmallVector<Value>> slices(scan.getStacked().size(),
                                         SmallVector<Value>(scan.getTrips()));
  for (int64_t trip = 0; trip < tripsOf(scan); ++trip) {
    const int64_t index = scan.sliceOfTrip(trip);
    IRMapping map;
    for (auto [i, stack] : llvm::enumerate(scan.getStacks()))
      map.map(body.getArgument(i), sliceOf(b, scan.getLoc(), stack, index));
    for (auto [i, value] : llvm::enumerate(values))
      map.map(body.getArgument(scan.firstCarried() + i), value);
    for (auto [i, value] : llvm::enumerate(scan.getWhole()))
      map.map(body.getArgument(scan.firstWhole() + i), value);
    for (Operation &op : body.without_terminator())
      b.clone(op, map);
    Operation *yield = body.getTerminator();
    for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
      if (i < carried)
        values[i] = map.lookup(value);
      else
        slices[i - carried][index] = map.lookup(value);
    }
  }
  for (ArrayRef<Value> stack : slices)
    values.push_back(stackOf(b, scan.getLoc(), stack));
  for (Operation *made = before ? before->getNextNode()
                                : &scan->getBlock()->front();
       made != scan; made = made->getNextNode())
    rewrite.inserted(made);
  rewrite.erased(scan);
  scan->replaceAllUsesWith(values);
  scan->erase();
}

/// Whether `scan` is in the body of one with more trips, or has a scan of at
/// least as many in its own body. Of scans in each other's bodies, only the
/// longest can stay.
bool mustUnroll(ScanOp scan) {
  for (auto outer = scan->getParentOfType<ScanOp>(); outer;
       outer = outer->getParentOfType<ScanOp>())
    if (tripsOf(outer) > tripsOf(scan))
      return true;
  return scan.getBody()
      .walk([&](ScanOp inner) {
        return tripsOf(inner) >= tripsOf(scan) ? WalkResult::interrupt()
                                               : WalkResult::advance();
      })
      .wasInterrupted();
}

class UnrollScans : public impl::UnrollScansBase<UnrollScans> {
public:
  using UnrollScansBase::UnrollScansBase;

  void runOnOperation() override {
    SmallVector<ScanOp> work;
    getOperation().walk([&](ScanOp scan) {
      if (maxTrips < 0 || tripsOf(scan) <= maxTrips || mustUnroll(scan))
        work.push_back(scan);
    });
    // The walk visits the scans in a body before the scan around it.
    int64_t made = 0;
    for (ScanOp scan : work) {
      int64_t ops = 0;
      scan.getBody().walk([&](Operation *) { ++ops; });
      made += tripsOf(scan) <= kMostTrips ? ops * tripsOf(scan) : 0;
      if (tripsOf(scan) > kMostTrips || made > kMostOps) {
        getOperation()->setAttr(
            kFailureAttr, StringAttr::get(&getContext(), kUnsupportedFailure));
        scan.emitError() << "a loop of " << tripsOf(scan)
                         << " trips cannot become straight code: at most "
                         << kMostTrips << " trips and " << kMostOps
                         << " ops can";
        return signalPassFailure();
      }
      remark(kPass, "unrolled", scan.getLoc(), "", tripsOf(scan));
      unroll(scan);
    }
    getOperation().walk([&](ScanOp scan) {
      remark(kPass, "not-unrolled", scan.getLoc(), "it has more trips",
             tripsOf(scan));
    });
  }
};

} // namespace
} // namespace sinter::passes
