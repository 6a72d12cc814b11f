//===- SimplifyShapes.cpp - patterns on ops that move elements ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// In the resulting form the operand of a broadcast has no unit dimensions, an
// elementwise op comes before the broadcast or move of its operands, an op that
// only moves unit dimensions is a reshape, and moves that cancel each other are
// gone. Combining two adjacent moves is left to the folders of ir/ops.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/ValueBuilder.h"
#include "passes/simplify/SimplifyPatterns.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

SmallVector<int64_t> withoutUnitDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> kept;
  llvm::copy_if(shape, std::back_inserter(kept),
                [](int64_t size) { return size != 1; });
  return kept;
}

// Pattern: reduce(x) -> reshape(x) where every reduced dimension is 1
struct ReduceOfUnits : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = tensorType(op.getX());
    if (llvm::any_of(op.getDims(),
                     [&](int64_t dim) { return type.getDimSize(dim) != 1; }))
      return rewriter.notifyMatchFailure(op, "a reduced dimension is not 1");
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), op.getX(),
                                     tensorType(op.getResult()).getShape()));
    return success();
  }
};

// Pattern: broadcast(x : a x 1) -> broadcast(reshape(x) : a)
struct BroadcastWithoutUnits : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType from = tensorType(op.getX()),
                     to = tensorType(op.getResult());
    if (!llvm::is_contained(from.getShape(), 1))
      return rewriter.notifyMatchFailure(op,
                                         "the operand has no unit dimension");
    SmallVector<int64_t> dims;
    for (auto [size, dim] : llvm::zip(from.getShape(), op.getDims()))
      if (size != 1)
        dims.push_back(dim);
    Value squeezed = reshapeTo(rewriter, op.getLoc(), op.getX(),
                               withoutUnitDims(from.getShape()));
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, to, squeezed, dims);
    return success();
  }
};

/// The value of a splat constant in another shape; null for other values.
Value reshapedSplat(PatternRewriter &rewriter, Location loc, Value value,
                    ArrayRef<int64_t> shape) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return {};
  return rewriter.create<ConstantOp>(
      loc, splat.resizeSplat(splat.getType().clone(shape)));
}

// Pattern: f(broadcast(a), broadcast(b), splat) -> broadcast(f(a, b, splat)),
// where f is elementwise and the broadcasts are alike.
struct ComputeBeforeBroadcast : RewritePattern {
  ComputeBeforeBroadcast(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op))
      return failure();
    BroadcastOp first;
    for (Value operand : op->getOperands())
      if (!first)
        first = operand.getDefiningOp<BroadcastOp>();
    if (!first)
      return rewriter.notifyMatchFailure(op, "no operand is a broadcast");
    ArrayRef<int64_t> shape = tensorType(first.getX()).getShape();
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      bool isAlike = broadcast && broadcast.getDims() == first.getDims() &&
                     tensorType(broadcast.getX()).getShape() == shape;
      SplatElementsAttr splat;
      if (!isAlike && !matchPattern(operand, m_Constant(&splat)))
        return rewriter.notifyMatchFailure(op,
                                           "an operand is broadcast otherwise");
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value splat = reshapedSplat(rewriter, op->getLoc(), operand, shape);
      operands.push_back(splat ? splat
                               : operand.getDefiningOp<BroadcastOp>().getX());
    }
    Operation *small = cloneWithShape(rewriter, op, operands, shape);
    rewriter.replaceOpWithNewOp<BroadcastOp>(
        op, op->getResult(0).getType(), small->getResult(0), first.getDims());
    return success();
  }
};

/// Removes a move (a transpose or reshape) by going up through elementwise ops
/// with one use to moves that it cancels. Nothing is built unless all of them
/// cancel.
class MoveCanceller {
public:
  explicit MoveCanceller(Operation *move) : move(move) {}

  bool canCancel(Value value, int depth) {
    if (cancels(value.getDefiningOp()))
      return true;
    SplatElementsAttr splat;
    if (matchPattern(value, m_Constant(&splat)))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !isElementwise(op) || !op->hasOneUse() || depth == 0)
      return false;
    return llvm::all_of(op->getOperands(),
                        [&](Value v) { return canCancel(v, depth - 1); });
  }

  Value cancel(PatternRewriter &rewriter, Value value) {
    Operation *op = value.getDefiningOp();
    ArrayRef<int64_t> shape = tensorType(move->getResult(0)).getShape();
    if (cancels(op))
      return op->getOperand(0);
    if (Value splat = reshapedSplat(rewriter, value.getLoc(), value, shape))
      return splat;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(cancel(rewriter, operand));
    return cloneWithShape(rewriter, op, operands, shape)->getResult(0);
  }

private:
  bool cancels(Operation *inner) const {
    if (!inner || inner->getName() != move->getName())
      return false;
    if (isa<ReshapeOp>(move))
      return tensorType(inner->getOperand(0)).getShape() ==
             tensorType(move->getResult(0)).getShape();
    ArrayRef<int64_t> outer = cast<TransposeOp>(move).getPerm();
    ArrayRef<int64_t> perm = cast<TransposeOp>(inner).getPerm();
    return llvm::all_of(llvm::seq<int64_t>(0, perm.size()),
                        [&](int64_t i) { return perm[outer[i]] == i; });
  }

  Operation *move;
};

// Pattern: move(f(move'(x))) -> f(x), where the two moves cancel each other
template <class OpTy> struct CancelMoves : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    const int maxDepth = 8;
    MoveCanceller canceller(op);
    if (op.getX().template getDefiningOp<ConstantOp>() ||
        !canceller.canCancel(op.getX(), maxDepth))
      return rewriter.notifyMatchFailure(op, "no move that it cancels");
    rewriter.replaceOp(op, canceller.cancel(rewriter, op.getX()));
    return success();
  }
};

// Pattern: f(move(x), splat) -> move(f(x, splat)), where f is elementwise and x
// is computed by a kernel that f can join or end. A library call that then
// reads the move needs no copy.
struct ComputeBeforeMove : RewritePattern {
  ComputeBeforeMove(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op))
      return failure();
    Operation *move = nullptr;
    for (Value operand : op->getOperands()) {
      SplatElementsAttr splat;
      if (matchPattern(operand, m_Constant(&splat)))
        continue;
      if (move || !operand.hasOneUse())
        return rewriter.notifyMatchFailure(op, "more than one value");
      move = operand.getDefiningOp();
      if (!move)
        break;
    }
    if (!isa_and_nonnull<TransposeOp, ReshapeOp>(move) ||
        (isa<ReshapeOp>(move) && !isComputedOnce(move->getOperand(0))))
      return rewriter.notifyMatchFailure(op, "no move to go before");
    Value moved = move->getOperand(0);
    ArrayRef<int64_t> shape = tensorType(moved).getShape();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value splat = reshapedSplat(rewriter, op->getLoc(), operand, shape);
      operands.push_back(splat ? splat : moved);
    }
    Operation *early = cloneWithShape(rewriter, op, operands, shape);
    Operation *late = rewriter.clone(*move);
    late->setOperand(0, early->getResult(0));
    late->getResult(0).setType(
        cast<RankedTensorType>(op->getResult(0).getType()));
    rewriter.replaceOp(op, late->getResults());
    return success();
  }

private:
  /// A reshape of a stored value is free, but ops on both sides of it are two
  /// kernels. So an op goes before it only if the operand has a kernel anyway.
  static bool isComputedOnce(Value value) {
    Operation *op = value.getDefiningOp();
    return op && value.hasOneUse() &&
           (isElementwise(op) || isa<SliceOp, TransposeOp>(op));
  }
};

// Pattern: moves that keep the order of the elements -> reshape, for example
// transpose(reshape(transpose(x))) from channels-last and back
template <class OpTy> struct MovesToReshape : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    StridedView view = viewOf(op.getResult(), ViewDepth::loops);
    RankedTensorType type = tensorType(op.getResult());
    if (view.base == op.getResult() || view.base == op.getX() ||
        tensorType(view.base).getNumElements() != type.getNumElements())
      return rewriter.notifyMatchFailure(op, "not a chain of moves");
    if (view.offset != 0)
      return rewriter.notifyMatchFailure(op, "elements are left out");
    for (auto [loops, wanted] :
         llvm::zip_equal(view.dims, rowMajorStrides(type.getShape())))
      if (loops.size() > 1 || (loops.size() == 1 && loops[0].stride != wanted))
        return rewriter.notifyMatchFailure(op, "the order changes");
    rewriter.replaceOp(
        op, reshapeTo(rewriter, op.getLoc(), view.base, type.getShape()));
    return success();
  }
};

/// Whether `op` surrounds its operand with positive zeros and has no interior
/// padding.
bool padsWithZeros(PadOp op) {
  SplatElementsAttr value;
  if (!op || !matchPattern(op.getValue(), m_Constant(&value)) ||
      llvm::any_of(op.getInterior(), [](int64_t gap) { return gap != 0; }))
    return false;
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<llvm::APFloat>().isPosZero();
  return value.getSplatValue<llvm::APInt>().isZero();
}

/// The only dimension in which the two pads differ, if the operand of `second`
/// begins there where that of `first` ends.
std::optional<int64_t> adjacentAxis(PadOp first, PadOp second) {
  std::optional<int64_t> axis;
  for (int64_t i = 0, rank = first.getLow().size(); i < rank; ++i) {
    if (first.getLow()[i] == second.getLow()[i] &&
        first.getHigh()[i] == second.getHigh()[i])
      continue;
    int64_t end = first.getLow()[i] + tensorType(first.getX()).getDimSize(i);
    if (axis || end != second.getLow()[i])
      return std::nullopt;
    axis = i;
  }
  return axis;
}

/// Returns pad(concat(a, b)), where `first` pads a and `second` pads b, if the
/// two are adjacent along one axis and equal in the others; else null.
Value joinPads(PadOp first, PadOp second, Location loc,
               PatternRewriter &rewriter) {
  if (!padsWithZeros(first) || !padsWithZeros(second))
    return nullptr;
  std::optional<int64_t> axis = adjacentAxis(first, second);
  if (!axis) {
    std::swap(first, second);
    axis = adjacentAxis(first, second);
  }
  if (!axis)
    return nullptr;
  loc = rewriter.getFusedLoc({first.getLoc(), second.getLoc(), loc});
  SmallVector<int64_t> high(first.getHigh());
  high[*axis] = second.getHigh()[*axis];
  Value both = rewriter.create<ConcatOp>(
      loc, ValueRange{first.getX(), second.getX()}, *axis);
  return rewriter.create<PadOp>(loc, both, first.getValue(), first.getLow(),
                                high, first.getInterior());
}

// Pattern: add(pad(a), pad(b)) -> pad(concat(a, b)), where b lies beside a, as
// in the gradient of a split; add(add(x, pad(a)), pad(b)) ->
// add(x, pad(concat(a, b))). Exact, as one of the pads is 0 everywhere; but a
// -0 in a or b stays -0.
struct AddOfPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i : {0u, 1u}) {
      auto pad = op.getOperand(i).getDefiningOp<PadOp>();
      Operation *other = op.getOperand(1 - i).getDefiningOp();
      if (!pad || !other)
        continue;
      if (auto second = dyn_cast<PadOp>(other))
        if (Value both = joinPads(pad, second, op.getLoc(), rewriter)) {
          rewriter.replaceOp(op, both);
          return success();
        }
      auto inner = dyn_cast<AddOp>(other);
      if (!inner || !inner->hasOneUse())
        continue;
      for (unsigned j : {0u, 1u})
        if (auto second = inner.getOperand(j).getDefiningOp<PadOp>())
          if (Value both = joinPads(second, pad, op.getLoc(), rewriter)) {
            rewriter.replaceOpWithNewOp<AddOp>(op, inner.getOperand(1 - j),
                                               both);
            return success();
          }
    }
    return rewriter.notifyMatchFailure(op, "no two zero pads side by side");
  }
};

} // namespace

void addShapePatterns(RewritePatternSet &patterns) {
  patterns
      .add<ReduceOfUnits, BroadcastWithoutUnits, ComputeBeforeBroadcast,
           ComputeBeforeMove, CancelMoves<TransposeOp>, CancelMoves<ReshapeOp>,
           MovesToReshape<TransposeOp>, MovesToReshape<ReshapeOp>, AddOfPads>(
          patterns.getContext());
}

} // namespace sinter::passes
