//===- PackScanWeights.cpp - weights that each trip of a scan reads -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A recurrent layer multiplies a few rows by its weights, or by the transpose
// of them, in each trip. A product of few rows reads its second operand in
// place. It does so fastest in panels, each of which is one stretch of memory:
// the rows of a panel within whole rows of the weights are a page or so apart.
// Weights that do not divide into panels are transposed if their rows are not
// contiguous. One copy before the scan costs less than each trip loses without
// it. Constants are packed at load instead. For CPUs alone: the libraries of
// other devices take either order.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_PACKSCANWEIGHTS
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t kFewestTrips = 4;
/// Fewer rows are products of vectors, which read either order; with more, a
/// panel of weights is packed for all rows (fewRows in FloatProduct.cpp).
constexpr int64_t kFewestRows = 5, kMostRows = 28;
/// The columns of a panel, and the fewest rows of a product that reads panels
/// (maxPanelColumns and fits() there). As the columns of a panel are more than
/// the panels, they stay the columns of a product.
constexpr int64_t kPanelColumns = 64, kFewestPanelRows = 16,
                  kMostPanels = kPanelColumns - 1;

/// How the trips of a scan read weights.
struct Reads {
  SmallVector<ir::DotGeneralOp> dots;
  bool areTransposed; // along the rows of the weights
  int64_t fewestRows;
};

/// The rows that `user` multiplies by `weights`, which it must only do as the
/// second operand; 0 if it reads them otherwise.
int64_t rowsOf(Operation *user, Value weights) {
  auto dot = dyn_cast<ir::DotGeneralOp>(user);
  if (!dot || dot.getRhs() != weights || dot.getLhs() == weights ||
      !dot.getRhsBatch().empty() || dot.getRhsContract().size() != 1)
    return 0;
  RankedTensorType lhs = ir::tensorType(dot.getLhs());
  if (dot.getLhsContract().front() != lhs.getRank() - 1)
    return 0;
  const int64_t depth = lhs.getShape().back();
  return depth ? lhs.getNumElements() / depth : 0;
}

/// If all trips only multiply a few rows by `weights`, in one way.
std::optional<Reads> readsOf(BlockArgument weights) {
  Reads reads{{}, false, kMostRows};
  for (Operation *user : weights.getUsers()) {
    const int64_t rows = rowsOf(user, weights);
    if (rows < kFewestRows || rows > kMostRows)
      return std::nullopt;
    auto dot = cast<ir::DotGeneralOp>(user);
    const bool isTransposed = dot.getRhsContract().front() == 1;
    if (!reads.dots.empty() && isTransposed != reads.areTransposed)
      return std::nullopt;
    reads.areTransposed = isTransposed;
    reads.fewestRows = std::min(reads.fewestRows, rows);
    reads.dots.push_back(dot);
  }
  return reads.dots.empty() ? std::nullopt : std::optional(reads);
}

/// Whether the trips read panels of the weights faster than their rows.
bool needsPanels(const Reads &reads, RankedTensorType weights) {
  const int64_t columns = weights.getDimSize(reads.areTransposed ? 0 : 1);
  return reads.fewestRows >= kFewestPanelRows && columns % kPanelColumns == 0 &&
         columns > kPanelColumns && columns <= kMostPanels * kPanelColumns;
}

/// Weights [depth, columns], or [columns, depth] if `areTransposed`, as
/// [panels, depth, kPanelColumns].
Value makePanels(OpBuilder &builder, Location location, Value weights,
                 bool areTransposed) {
  ArrayRef<int64_t> shape = ir::tensorType(weights).getShape();
  if (areTransposed)
    return ir::transposeTo(
        builder, location,
        ir::reshapeTo(builder, location, weights,
                      {shape[0] / kPanelColumns, kPanelColumns, shape[1]}),
        ArrayRef<int64_t>({0, 2, 1}));
  return ir::transposeTo(
      builder, location,
      ir::reshapeTo(builder, location, weights,
                    {shape[0], shape[1] / kPanelColumns, kPanelColumns}),
      ArrayRef<int64_t>({1, 0, 2}));
}

/// Makes `dot` read panels, whose columns become two dimensions of its result.
/// What is added to that is taken in the same shape, so that the product can
/// still do it.
void readPanels(ir::DotGeneralOp dot, int64_t panels) {
  Value result = dot.getResult();
  RankedTensorType type = ir::tensorType(result);
  SmallVector<int64_t> shape(type.getShape().drop_back());
  shape.append({panels, kPanelColumns});
  dot.setRhsContract({1});
  result.setType(RankedTensorType::get(shape, type.getElementType()));
  OpBuilder builder(dot->getContext());
  while (result.hasOneUse()) {
    auto add = dyn_cast<ir::AddOp>(*result.user_begin());
    if (!add)
      break;
    builder.setInsertionPoint(add);
    OpOperand &other = add->getOpOperand(add.getLhs() == result ? 1 : 0);
    other.set(ir::reshapeTo(builder, add.getLoc(), other.get(), shape));
    add.getResult().setType(cast<RankedTensorType>(result.getType()));
    result = add.getResult();
  }
  builder.setInsertionPointAfterValue(result);
  Value whole = ir::reshapeTo(builder, dot.getLoc(), result, type.getShape());
  result.replaceAllUsesExcept(whole, whole.getDefiningOp());
}

struct PackScanWeightsPass : impl::PackScanWeightsBase<PackScanWeightsPass> {
  void runOnOperation() override {
    // Several scans may read the same weights. By whether they are panels, and
    // whether the products are transposed.
    llvm::DenseMap<Value, Value> copies[2][2];
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
            operand.get().getDefiningOp<ir::ConstantOp>())
          continue;
        std::optional<Reads> reads = readsOf(weights);
        if (!reads)
          continue;
        const bool arePanels = needsPanels(*reads, type);
        if (!arePanels && !reads->areTransposed)
          continue;
        Value &to = copies[arePanels][reads->areTransposed][operand.get()];
        if (!to) {
          OpBuilder builder(scan);
          // Of the product: a scan has the nodes of its other ops, too.
          const Location location = reads->dots.front()->getLoc();
          to = arePanels ? makePanels(builder, location, operand.get(),
                                      reads->areTransposed)
                         : ir::transposeTo(builder, location, operand.get(),
                                           ArrayRef<int64_t>({1, 0}));
        }
        operand.set(to);
        weights.setType(to.getType());
        for (ir::DotGeneralOp dot : reads->dots)
          if (arePanels)
            readPanels(dot, ir::tensorType(to).getDimSize(0));
          else
            dot.setRhsContract({0});
        ++count;
      }
    }
    if (count)
      ir::remark("pack-scan-weights", "packed", getOperation().getLoc(), "",
                 count);
  }
};

} // namespace
} // namespace sinter::passes
