//===- FoldConstants.cpp - compute ops of constants at compile time -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One forward walk in program order, then dead ops go. An op of constants is replaced by
// its value while the budget lasts. Values that only spread memory out (a broadcast, an
// iota, and what is computed from them alone) stay ops; they are computed when the value
// of a user that folds needs them. So folding makes a program's constants larger by no
// more than 1 KiB an op, except for ops whose operands are constants themselves.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "ir/eval/Evaluate.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t kSmallBytes = 1024;
constexpr llvm::StringLiteral kPass = "fold-constants";

int64_t sizeBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * elementSizeBytes(tensor.getElementType());
}

/// What is known about a value that is computed from constants alone.
struct Known {
  int64_t sourceBytes = 0; // of the constants it is computed from, at most
  bool isStored = false;   // it is a constant itself
};

class Folder {
public:
  Folder(int64_t maxOpBytes, int64_t maxTotalBytes)
      : maxOpBytes(maxOpBytes), bytesLeft(maxTotalBytes) {}

  void run(func::FuncOp function) {
    known.clear();
    values.clear();
    for (Block &block : function.getBody())
      for (Operation &op : llvm::make_early_inc_range(block))
        visit(&op);
  }
  int64_t numFolded = 0;

private:
  void visit(Operation *op) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
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
    int64_t bytes = 0;
    for (Type type : op->getResultTypes())
      bytes += sizeBytes(type);
    if (foldSplat(op))
      return;
    if (bytes > maxOpBytes) {
      remark(kPass, "not-folded", op->getLoc(),
             Twine(bytes) + " bytes are above the limit of one op");
      return;
    }
    bool mayGrow = bytes <= std::max(kSmallBytes, result.sourceBytes);
    if ((allStored || mayGrow) && foldTo(op, bytes))
      return;
    for (Value value : op->getResults())
      known[value] = result;
  }

  /// Elementwise ops of splats, and moved splats, at any size: computed on one element.
  bool foldSplat(Operation *op) {
    bool onlyMoves = isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp>(op);
    if (!isElementwise(op) && !onlyMoves)
      return false;
    SmallVector<ElementsAttr> scalars;
    for (Value operand : op->getOperands()) {
      SplatElementsAttr splat;
      if (!matchPattern(operand, m_Constant(&splat)))
        return false;
      scalars.push_back(splat.resizeSplat(splat.getType().clone(ArrayRef<int64_t>{})));
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
      ScopedDiagnosticHandler silence(op->getContext(), [](Diagnostic &) { return success(); });
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
    replace(op, {splat.resizeSplat(cast<ShapedType>(op->getResult(0).getType()))});
    return true;
  }

  bool foldTo(Operation *op, int64_t bytes) {
    if (bytes > bytesLeft) {
      remark(kPass, "not-folded", op->getLoc(), "the budget of all results is spent");
      return false;
    }
    if (failed(compute(op)))
      return false;
    SmallVector<ElementsAttr> attrs;
    for (Value result : op->getResults()) {
      attrs.push_back(values[result].toAttr());
      if (!isa<SplatElementsAttr>(attrs.back()))
        bytesLeft -= sizeBytes(result.getType());
      values.erase(result);
    }
    replace(op, attrs);
    return true;
  }

  /// Fills `values` for the results of `op`, whose operands are known, and for what they
  /// are computed from; stored constants excepted.
  LogicalResult compute(Operation *op) {
    SmallVector<Tensor> operands, results;
    for (Value operand : op->getOperands()) {
      if (auto constant = operand.getDefiningOp<ConstantOp>()) {
        FailureOr<Tensor> value = Tensor::fromAttr(constant.getValue());
        if (failed(value))
          return failure();
        operands.push_back(std::move(*value));
        continue;
      }
      if (!values.contains(operand) && failed(compute(operand.getDefiningOp())))
        return failure();
      operands.push_back(values[operand]);
    }
    // Where the meaning is undefined for these values the program says so when it runs.
    ScopedDiagnosticHandler silence(op->getContext(), [](Diagnostic &) { return success(); });
    if (failed(cast<EvaluateOpInterface>(op).evaluate(operands, results))) {
      remark(kPass, "not-folded", op->getLoc(), "it has no value for these operands");
      return failure();
    }
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results)) {
      value.roundToStorage();
      values[result] = std::move(value);
    }
    return success();
  }

  void replace(Operation *op, ArrayRef<ElementsAttr> attrs) {
    OpBuilder builder(op);
    for (auto [result, attr] : llvm::zip_equal(op->getResults(), attrs)) {
      auto constant = builder.create<ConstantOp>(op->getLoc(), attr);
      bool isSplat = isa<SplatElementsAttr>(attr);
      known[constant] = {isSplat ? 0 : sizeBytes(constant.getType()), true};
      result.replaceAllUsesWith(constant);
    }
    op->erase();
    ++numFolded;
  }

  int64_t maxOpBytes, bytesLeft;
  DenseMap<Value, Known> known;
  DenseMap<Value, Tensor> values; // of known values that are not stored, once needed
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
