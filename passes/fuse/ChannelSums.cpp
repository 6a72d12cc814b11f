//===- ChannelSums.cpp - a variance by sums of a call ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/ChannelSums.h"
#include "ir/Build.h"
#include "passes/OpClasses.h"
#include "passes/PostOps.h"

using namespace mlir;

namespace sinter::passes {

std::optional<SquaredDeviations> channelDeviations(Value stored) {
  for (Operation *cast : stored.getUsers()) {
    if (cast->getNumResults() != 1 || widened(cast->getResult(0)) != stored)
      continue;
    for (Operation *centred : cast->getUsers()) {
      if (!isa<ir::SubOp>(centred))
        continue;
      for (Operation *square : centred->getUsers()) {
        if (!square->hasOneUse())
          continue;
        auto sum = dyn_cast<ir::ReduceOp>(*square->user_begin());
        std::optional<SquaredDeviations> found =
            sum ? matchSquaredDeviations(sum) : std::nullopt;
        if (found && found->x == cast->getResult(0) &&
            channelSumKind(found->sumOfX, stored))
          return found;
      }
    }
  }
  return std::nullopt;
}

ChannelSums sumChannels(Value stored, SquaredDeviations squares) {
  OpBuilder b(stored.getContext());
  b.setInsertionPointAfterValue(stored);
  Location loc = squares.sum.getLoc();
  Value wide = b.create<ir::CastOp>(loc, squares.x.getType(), stored);
  auto sumOf = [&](Value x) {
    return ir::reduceOver(b, loc, ir::ReduceKind::sum, x,
                          squares.sum.getDims());
  };
  Value sum = sumOf(wide), square = b.create<ir::MulOp>(loc, wide, wide),
        sumOfSquares = sumOf(square);
  b.setInsertionPoint(squares.sum);
  Value ofMean = b.create<ir::MulOp>(loc, sum, squares.mean),
        deviations = b.create<ir::SubOp>(loc, sumOfSquares, ofMean);
  squares.sum.replaceAllUsesWith(
      b.create<ir::MaxOp>(loc, deviations, ir::splatLike(b, loc, deviations, 0))
          .getResult());
  Operation *deviation = squares.sum.getX().getDefiningOp();
  squares.sum.erase();
  deviation->erase();
  squares.sumOfX.replaceAllUsesWith(sum);
  squares.sumOfX.erase();
  return {{wide.getDefiningOp(), sum.getDefiningOp(), square.getDefiningOp(),
           sumOfSquares.getDefiningOp()},
          sum,
          sumOfSquares};
}

} // namespace sinter::passes
