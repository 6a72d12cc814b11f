//===- SplitScans.cpp - long running sums of few lines --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One worker walks along a line, so a few long lines leave the others idle.
// Here lines are cut into parts. A reduction computes the totals of all parts
// but the last, a short running sum of the totals is what precedes each part,
// and each part continues from that. The input is read twice. The number of
// parts depends on the shape alone, as the tree of a sum does. The last part is
// shorter if the length is not a multiple.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/Remarks.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_SPLITSCANS
#include "passes/Passes.h.inc"

namespace {

/// The number of elements of a part; 0 if splitting does not pay.
int64_t partOf(ir::CumulativeOp op) {
  // Parts end where the pieces of a kernel end (ReductionTree.h).
  constexpr int64_t leastPart = 1 << 14, mostWorkers = 1 << 9, leastParts = 4,
                    piece = 1 << 10;
  int64_t size = op.getType().getDimSize(op.getAxis());
  int64_t elements = op.getType().getNumElements();
  if (elements == 0)
    return 0;
  int64_t parts = std::min(size / leastPart, mostWorkers / (elements / size));
  if (parts < leastParts)
    return 0;
  return llvm::alignTo(llvm::divideCeil(size, parts), piece);
}

// Pattern: cumulative(x)
//   -> cumulative_parts(x, cumulative(reduce(x in parts but the last)))
void split(ir::CumulativeOp op, int64_t part) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  RankedTensorType type = op.getType();
  int64_t axis = op.getAxis(), size = type.getDimSize(axis);
  int64_t count = (size - 1) / part; // of parts that another one follows
  SmallVector<int64_t> cut(type.getShape());
  cut[axis] = part;
  cut.insert(cut.begin() + axis, count);
  Value sums = op.getReverse() ? ir::sliceAlong(builder, loc, op.getX(), axis,
                                                size - count * part, size)
                               : ir::sliceAlong(builder, loc, op.getX(), axis,
                                                0, count * part);
  sums = ir::reshapeTo(builder, loc, sums, cut);
  Type element = type.getElementType();
  if (element.isF16() || element.isBF16()) // not rounded on the way
    sums = ir::castTo(builder, loc, sums, builder.getF32Type());
  sums = ir::reduceOver(builder, loc, op.getKind(), sums, {axis + 1});
  sums = builder.create<ir::CumulativeOp>(loc, sums.getType(), op.getKind(),
                                          sums, axis, /*exclusive=*/false,
                                          op.getReverse());
  op.replaceAllUsesWith(builder
                            .create<ir::CumulativePartsOp>(
                                loc, type, op.getKind(), op.getX(), sums, axis,
                                part, op.getExclusive(), op.getReverse())
                            .getResult());
  op.erase();
}

struct SplitScansPass : impl::SplitScansBase<SplitScansPass> {
  void runOnOperation() override {
    SmallVector<ir::CumulativeOp> worthIt;
    getOperation().walk([&](ir::CumulativeOp op) {
      if (partOf(op) > 0)
        worthIt.push_back(op);
    });
    for (ir::CumulativeOp op : worthIt)
      split(op, partOf(op));
    if (!worthIt.empty())
      ir::remark("split-scans", "split", getOperation().getLoc(), "",
                 static_cast<int64_t>(worthIt.size()));
  }
};

} // namespace
} // namespace sinter::passes
