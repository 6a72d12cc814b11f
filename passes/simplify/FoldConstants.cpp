//===- FoldConstants.cpp - evaluate ops of constants at compile time ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Walks forward in program order and replaces ops of constants by their values
// while the budget lasts; then removes dead ops. Ops that only fill memory (a
// broadcast, an iota, and what is computed from them alone) stay ops. They are
// evaluated when a user that folds needs their values. So folding makes a
// program's constants larger by at most 1 KiB per op, except for ops whose
// operands are constants themselves. A cast of a weight to a float type that is
// not wider is always folded, even if the weight has other users and stays:
// otherwise every run would repeat the cast. Constants with the attribute
// `sinter.unfolded` are not known to this pass.
//
//===----------------------------------------------------------------------===//
#include "ir/Locations.h"
#include "ir/Remarks.h"
#include "ir/Rewrites.h"
#include "ir/eval/Evaluate.h"
#include "passes/CodedWeights.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/simplify/ConstantSources.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t kSmallBytes = 1024;
// Products of one contraction; the evaluator takes about 1 ns for each.
constexpr int64_t kMaxProducts = int64_t(1) << 30;
constexpr llvm::StringLiteral kPass = "fold-constants";

int64_t sizeBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * elementSizeBytes(tensor.getElementType());
}

/// The number of products that a contraction sums, or of those that take as
/// long as all trips of a scan, saturated; 0 for other ops.
int64_t countProducts(Operation *op) {
  // An element that is computed otherwise takes as long as some products.
  constexpr double kPerElement = 32;
  if (auto scan = dyn_cast<ScanOp>(op)) {
    double perTrip = 0;
    for (Operation &inner : scan.getBody().front().without_terminator()) {
      perTrip += static_cast<double>(countProducts(&inner));
      for (Type type : inner.getResultTypes())
        perTrip += kPerElement * (1 + static_cast<double>(sizeBytes(type)));
    }
    return static_cast<int64_t>(
        std::min(perTrip * static_cast<double>(scan.getTrips()), 0x1p62));
  }
  double perElement = 0;
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    perElement = 1;
    for (int64_t dim : dot.getLhsContract())
      perElement *=
          static_cast<double>(tensorType(dot.getLhs()).getDimSize(dim));
  } else if (isContraction(op)) {
    perElement =
        static_cast<double>(tensorType(op->getOperand(1)).getNumElements());
  }
  double count =
      perElement *
      static_cast<double>(tensorType(op->getResult(0)).getNumElements());
  return static_cast<int64_t>(std::min(count, 0x1p62));
}

/// Whether `op` widens 8-bit integers for a contraction.
bool widensFactor(Operation *op) {
  return widenedBytes(op->getResult(0)) &&
         llvm::any_of(op->getUsers(), isContraction);
}

/// What is known about a value that is computed from constants alone.
struct Known {
  int64_t sourceBytes = 0; // upper bound of the bytes of its constants
  bool isStored = false;   // it is a constant itself
};

class Folder {
public:
  Folder(int64_t maxOpBytes, int64_t maxTotalBytes)
      : maxOpBytes(maxOpBytes), bytesLeft(maxTotalBytes) {}

  void run(func::FuncOp function) {
    known.clear();
    for (Block &block : function.getBody())
      visitOps(block);
  }
  int64_t numFolded = 0;

private:
  void visitOps(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto scan = dyn_cast<ScanOp>(op))
        visitOps(scan.getBody().front());
      visit(&op);
    }
  }

  void visit(Operation *op) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (constant->hasAttr(kUnfoldedAttr))
        return;
      bool isSplat = isa<SplatElementsAttr>(constant.getValue());
      known[constant] = {isSplat ? 0 : sizeBytes(constant.getType()), true};
      return;
    }
    if (!isa<EvaluateOpInterface>(op) || op->getNumResults() == 0)
      return;
    Known result;
    bool allStored = !isa<BroadcastOp, IotaOp>(op);
    for (Value operand : op->getOperands()) {
      auto found = known.find(operand);
      if (found == known.end())
        return;
      result.sourceBytes += found->second.sourceBytes;
      allStored &= found->second.isStored;
    }
    // A contraction multiplies the narrow operand of a widening cast; if the
    // cast were folded, it would multiply float32 or int32.
    if (op->getNumOperands() == 1 && isa<CastOp>(op) &&
        (widened(op->getResult(0)) || widensFactor(op))) {
      known[op->getResult(0)] = result;
      return;
    }
    int64_t bytes = 0;
    for (Type type : op->getResultTypes())
      bytes += sizeBytes(type);
    if (foldSplat(op) || foldNarrowing(op))
      return;
    int64_t largest = bytes;
    for (Value operand : op->getOperands())
      largest = std::max(largest, sizeBytes(operand.getType()));
    if (largest > maxOpBytes || countProducts(op) > kMaxProducts) {
      remark(kPass, "not-folded", op->getLoc(),
             "it exceeds the limits for one op");
      return;
    }
    // A bias that is broadcast stays a vector: the op that adds it reads that.
    bool repeats =
        isa<BroadcastOp>(op) && bytes > result.sourceBytes &&
        isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
    bool mayGrow =
        !repeats && bytes <= std::max(kSmallBytes, result.sourceBytes);
    if ((allStored || mayGrow) && foldTo(op, bytes))
      return;
    for (Value value : op->getResults())
      known[value] = result;
  }

  /// Folds elementwise ops of splats, and ops that move a splat, at any size:
  /// they are evaluated on one element.
  bool foldSplat(Operation *op) {
    bool onlyMoves = isView(op) || isa<ReverseOp>(op);
    if (!isElementwise(op) && !onlyMoves)
      return false;
    SmallVector<ElementsAttr> scalars;
    for (Value operand : op->getOperands()) {
      SplatElementsAttr splat;
      if (!matchPattern(operand, m_Constant(&splat)))
        return false;
      scalars.push_back(
          splat.resizeSplat(splat.getType().clone(ArrayRef<int64_t>{})));
    }
    ElementsAttr value = scalars.front();
    if (!onlyMoves) {
      OpBuilder detached(op->getContext());
      SmallVector<Operation *> sources;
      SmallVector<Value> operands;
      for (ElementsAttr scalar : scalars) {
        sources.push_back(detached.create<ConstantOp>(op->getLoc(), scalar));
        operands.push_back(sources.back()->getResult(0));
      }
      Operation *scalarOp = cloneWithShape(detached, op, operands, {});
      ScopedDiagnosticHandler silence(op->getContext(),
                                      [](Diagnostic &) { return success(); });
      auto result = evaluateConstant(scalarOp, scalars);
      scalarOp->destroy();
      for (Operation *source : sources)
        source->destroy();
      if (failed(result))
        return false;
      value = result->front();
    }
    auto splat = dyn_cast<SplatElementsAttr>(value);
    if (!splat)
      return false;
    replace(op,
            {splat.resizeSplat(cast<ShapedType>(op->getResult(0).getType()))});
    return true;
  }

  /// Folds a cast of a weight to a float type that is not wider, at any size.
  bool foldNarrowing(Operation *op) {
    auto constant = isa<CastOp>(op)
                        ? op->getOperand(0).getDefiningOp<ConstantOp>()
                        : ConstantOp();
    if (!constant)
      return false;
    auto from = dyn_cast<FloatType>(constant.getType().getElementType()),
         to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
    if (!from || !to || to.getWidth() > from.getWidth())
      return false;
    FailureOr<ElementsAttr> value = convertFloats(constant.getValue(), to);
    if (failed(value))
      return false;
    replace(op, *value);
    return true;
  }

  bool foldTo(Operation *op, int64_t bytes) {
    if (bytes > bytesLeft) {
      remark(kPass, "not-folded", op->getLoc(),
             "the budget for all results is used up");
      return false;
    }
    Operation *undefined = nullptr;
    auto values = evaluateFromConstants(op, &undefined);
    // If the op is undefined for these values, the program reports that when it
    // runs.
    if (undefined)
      remark(kPass, "not-folded", undefined->getLoc(),
             "it has no value for these operands");
    if (failed(values))
      return false;
    SmallVector<ElementsAttr> attrs;
    for (const Tensor &value : *values) {
      attrs.push_back(value.toAttr());
      if (!isa<SplatElementsAttr>(attrs.back()))
        bytesLeft -= sizeBytes(value.type());
    }
    replace(op, attrs);
    return true;
  }

  /// The location of `op`, with the initializers that it is computed from.
  static Location withInitializers(Operation *op) {
    llvm::SmallSetVector<Location, 4> parts;
    parts.insert(op->getLoc());
    for (Value operand : op->getOperands())
      if (auto constant = operand.getDefiningOp<ConstantOp>())
        collectInitializers(constant.getLoc(), parts);
    return parts.size() == 1
               ? op->getLoc()
               : FusedLoc::get(op->getContext(), parts.getArrayRef());
  }

  void replace(Operation *op, ArrayRef<ElementsAttr> attrs) {
    OpBuilder builder(op);
    Rewrite rewrite("fold", op);
    Location location = withInitializers(op);
    for (auto [result, attr] : llvm::zip_equal(op->getResults(), attrs)) {
      auto constant = builder.create<ConstantOp>(location, attr);
      rewrite.inserted(constant);
      bool isSplat = isa<SplatElementsAttr>(attr);
      known[constant] = {isSplat ? 0 : sizeBytes(constant.getType()), true};
      result.replaceAllUsesWith(constant);
    }
    rewrite.erased(op);
    op->erase();
    ++numFolded;
  }

  int64_t maxOpBytes, bytesLeft;
  DenseMap<Value, Known> known;
};

class FoldConstants : public impl::FoldConstantsBase<FoldConstants> {
public:
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    Folder folder(maxOpBytes, maxTotalBytes);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      folder.run(function);
      IRRewriter rewriter(&getContext());
      (void)runRegionDCE(rewriter, function->getRegions());
    }
    if (folder.numFolded)
      remark(kPass, "folded", getOperation().getLoc(), "", folder.numFolded);
  }
};

} // namespace
} // namespace sinter::passes
