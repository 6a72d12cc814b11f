//===- VarianceForm.cpp - sums of squared deviations ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/recognize/VarianceForm.h"
#include "passes/OpClasses.h"

using namespace mlir;

namespace sinter::passes {

std::optional<SquaredDeviations> matchSquaredDeviations(ir::ReduceOp reduce) {
  auto square = reduce.getX().getDefiningOp<ir::MulOp>();
  if (reduce.getKind() != ir::ReduceKind::sum || !square ||
      square.getLhs() != square.getRhs())
    return std::nullopt;
  auto centred = square.getLhs().getDefiningOp<ir::SubOp>();
  auto spread =
      centred ? centred.getRhs().getDefiningOp<ir::BroadcastOp>() : nullptr;
  if (!spread)
    return std::nullopt;
  for (auto [dim, at] : llvm::enumerate(spread.getDims()))
    if (llvm::is_contained(reduce.getDims(), at) ||
        (dim > 0 && spread.getDims()[dim - 1] >= at))
      return std::nullopt;
  Operation *mean = spread.getX().getDefiningOp();
  if (!isa_and_nonnull<ir::MulOp, ir::DivOp>(mean) ||
      !splatNumber(mean->getOperand(1)) ||
      spread.getX().getType() != reduce.getResult().getType())
    return std::nullopt;
  auto sumOfX = mean->getOperand(0).getDefiningOp<ir::ReduceOp>();
  if (!sumOfX || sumOfX.getKind() != ir::ReduceKind::sum ||
      sumOfX.getDims() != reduce.getDims() ||
      asStored(sumOfX.getX()) != asStored(centred.getLhs()))
    return std::nullopt;
  return SquaredDeviations{sumOfX, reduce, centred.getLhs(), spread.getX()};
}

} // namespace sinter::passes
