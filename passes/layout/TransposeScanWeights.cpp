//===- TransposeScanWeights.cpp - weights that each trip of a scan reads --===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A recurrent layer multiplies a few rows by the transpose of its weights in
// each trip. A product of few rows reads its second operand in place, and rows
// of that are contiguous only if the weights are transposed. One transpose
// before the scan takes less time than what each trip loses. Constants are
// packed at load instead. For CPUs alone: the libraries of other devices take
// either order.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_TRANSPOSESCANWEIGHTS
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t kFewestTrips = 4;
/// Fewer rows are products of vectors, which read either order; with more, a
/// panel of weights is packed for all rows (fewRows in FloatProduct.cpp).
constexpr int64_t kFewestRows = 5, kMostRows = 28;

/// Whether `user` multiplies a few rows by the transpose of `weights`.
bool readsTransposed(Operation *user, Value weights) {
  auto dot = dyn_cast<ir::DotGeneralOp>(user);
  if (!dot || dot.getRhs() != weights || dot.getLhs() == weights ||
      !dot.getRhsBatch().empty() ||
      dot.getRhsContract() != ArrayRef<int64_t>({1}))
    return false;
  RankedTensorType lhs = ir::tensorType(dot.getLhs());
  if (dot.getLhsContract().front() != lhs.getRank() - 1)
    return false;
  const int64_t depth = lhs.getShape().back();
  const int64_t rows = depth ? lhs.getNumElements() / depth : 0;
  return rows >= kFewestRows && rows <= kMostRows;
}

struct TransposeScanWeightsPass
    : impl::TransposeScanWeightsBase<TransposeScanWeightsPass> {
  void runOnOperation() override {
    llvm::DenseMap<Value, Value> transposes;
    int64_t count = 0;
    for (auto scan : getOperation().getOps<ir::ScanOp>()) {
      if (static_cast<int64_t>(scan.getTrips()) < kFewestTrips)
        continue;
      Block &body = scan.getBody().front();
      const unsigned first = body.getNumArguments() - scan.getWhole().size();
      for (OpOperand &operand : scan.getWholeMutable()) {
        const unsigned number =
            operand.getOperandNumber() - scan.getWhole().getBeginOperandIndex();
        BlockArgument weights = body.getArgument(first + number);
        RankedTensorType type = ir::tensorType(weights);
        if (type.getRank() != 2 || !type.getElementType().isF32() ||
            weights.use_empty() ||
            operand.get().getDefiningOp<ir::ConstantOp>() ||
            !llvm::all_of(weights.getUsers(), [&](Operation *user) {
              return readsTransposed(user, weights);
            }))
          continue;
        Value &transposed = transposes[operand.get()];
        if (!transposed) {
          OpBuilder builder(scan);
          // Of the product: a scan has the nodes of its other ops, too.
          Location location = (*weights.user_begin())->getLoc();
          transposed = ir::transposeTo(builder, location, operand.get(),
                                       ArrayRef<int64_t>({1, 0}));
        }
        for (Operation *user : weights.getUsers())
          cast<ir::DotGeneralOp>(user).setRhsContract({0});
        operand.set(transposed);
        weights.setType(transposed.getType());
        ++count;
      }
    }
    if (count)
      ir::remark("transpose-scan-weights", "transposed",
                 getOperation().getLoc(), "", count);
  }
};

} // namespace
} // namespace sinter::passes
