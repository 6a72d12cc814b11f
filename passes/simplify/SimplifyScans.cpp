//===- SimplifyScans.cpp - patterns on scans ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// In the resulting form the body of a scan computes nothing that is the same in
// each trip, except constants, broadcasts and widening casts, which are cheaper
// than reading their results. Every operand, carried value and result is used.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "passes/OpClasses.h"
#include "passes/simplify/HoistInvariants.h"
#include "passes/simplify/SimplifyPatterns.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

Block &bodyOf(ScanOp scan) { return scan.getBody().front(); }

/// The argument of the body for operand `number` of the scan.
BlockArgument argumentOf(ScanOp scan, unsigned number) {
  return bodyOf(scan).getArgument(number);
}

OperandRange yieldedBy(ScanOp scan) {
  return bodyOf(scan).getTerminator()->getOperands();
}

void eraseOperand(ScanOp scan, unsigned number) {
  bodyOf(scan).eraseArgument(number);
  if (scan.isStack(number))
    scan.getStacksMutable().erase(number);
  else
    scan.getWholeMutable().erase(number - scan.firstWhole());
}

/// Drops operands that the body does not read; false if it reads all.
bool dropUnusedOperands(RewriterBase &rewriter, ScanOp scan) {
  SmallVector<unsigned> unused;
  for (unsigned i = 0; i < scan->getNumOperands(); ++i)
    if (!scan.isCarried(i) && argumentOf(scan, i).use_empty())
      unused.push_back(i);
  if (unused.empty())
    return false;
  rewriter.modifyOpInPlace(scan, [&] {
    for (unsigned number : llvm::reverse(unused))
      eraseOperand(scan, number);
  });
  return true;
}

// Pattern: scan(.., x) -> scan(..) where the body does not read x
struct DropUnusedOperands : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    if (!dropUnusedOperands(rewriter, scan))
      return rewriter.notifyMatchFailure(scan, "the body reads all operands");
    return success();
  }
};

// Pattern: scan(x, x) -> scan(x), of stacks and of whole operands; equal
// stacked results, and those that are a slice of a stack -> one value
struct MergeEqualParts : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    llvm::DenseMap<std::pair<Value, unsigned>, unsigned> first;
    for (unsigned i = 0; i < scan->getNumOperands(); ++i) {
      BlockArgument argument = argumentOf(scan, i);
      if (scan.isCarried(i) || argument.use_empty())
        continue;
      auto [found, isNew] = first.try_emplace(
          {scan->getOperand(i), unsigned(scan.isStack(i))}, i);
      if (isNew)
        continue;
      rewriter.replaceAllUsesWith(argument, argumentOf(scan, found->second));
      changed = true;
    }
    llvm::DenseMap<Value, Value> stacked;
    for (unsigned i = 0; i < scan.numStacks(); ++i)
      stacked[argumentOf(scan, i)] = scan.getStacks()[i];
    for (auto [result, value] :
         llvm::zip_equal(scan.getStacked(),
                         yieldedBy(scan).drop_front(scan.numCarried()))) {
      auto [found, isNew] = stacked.try_emplace(value, result);
      if (isNew || result.use_empty())
        continue;
      rewriter.replaceAllUsesWith(result, found->second);
      changed = true;
    }
    return success(changed);
  }
};

// Pattern: scan(constant) -> scan() with the constant in the body, if it is
// small or a splat
struct ConstantsIntoBody : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    rewriter.setInsertionPointToStart(&bodyOf(scan));
    for (unsigned i = 0; i < scan->getNumOperands(); ++i) {
      auto constant = scan->getOperand(i).getDefiningOp<ConstantOp>();
      BlockArgument argument = argumentOf(scan, i);
      if (scan.isCarried(i) || !constant || argument.use_empty())
        continue;
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      ElementsAttr value;
      if (splat)
        value = splat.resizeSplat(cast<ShapedType>(argument.getType()));
      else if (!scan.isStack(i) && ScanOp::copiesIntoBody(constant.getValue()))
        value = constant.getValue();
      else
        continue;
      rewriter.replaceAllUsesWith(
          argument, rewriter.create<ConstantOp>(constant.getLoc(), value));
      changed = true;
    }
    return success(changed);
  }
};

// Pattern: scan(cast(x : 16 bits) : f32) -> scan(x) with the cast in the body.
// A contraction there multiplies the 16-bit floats.
struct WideningIntoBody : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned i = 0; i < scan->getNumOperands(); ++i) {
      Value narrow = widened(scan->getOperand(i));
      BlockArgument argument = argumentOf(scan, i);
      if (scan.isCarried(i) || !narrow || argument.use_empty())
        continue;
      auto wide = cast<RankedTensorType>(argument.getType());
      rewriter.setInsertionPointToStart(&bodyOf(scan));
      auto inside =
          rewriter.create<CastOp>(scan->getOperand(i).getLoc(), wide, argument);
      rewriter.replaceAllUsesExcept(argument, inside, inside);
      rewriter.modifyOpInPlace(scan, [&] {
        scan->setOperand(i, narrow);
        argument.setType(wide.clone(tensorType(narrow).getElementType()));
      });
      changed = true;
    }
    return success(changed);
  }
};

/// Whether slice t of `stack` is the number t.
bool countsTrips(Value stack) {
  RankedTensorType type = tensorType(stack);
  if (type.getRank() != 1 || !isa<IntegerType>(type.getElementType()))
    return false;
  if (stack.getDefiningOp<IotaOp>())
    return true;
  DenseIntElementsAttr numbers;
  if (!matchPattern(stack, m_Constant(&numbers)))
    return false;
  return llvm::all_of(llvm::enumerate(numbers.getValues<llvm::APInt>()),
                      [](auto entry) {
                        return entry.value().getBitWidth() >= 32 &&
                               entry.value() == entry.index();
                      });
}

// Pattern: scan(x, numbers of trips) with gather(x, number) in the body ->
// scan(stack x), whose slice it is
struct GatherOfTrip : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    const auto trips = static_cast<int64_t>(scan.getTrips());
    const unsigned firstWhole = scan.firstWhole();
    for (auto gather : bodyOf(scan).getOps<GatherOp>()) {
      auto x = dyn_cast<BlockArgument>(gather.getX());
      Value index = gather.getIndices();
      if (auto move = index.getDefiningOp<ReshapeOp>())
        index = move.getX();
      auto number = dyn_cast<BlockArgument>(index);
      const auto axis = static_cast<int64_t>(gather.getAxis());
      if (!x || !number || x.getArgNumber() < firstWhole ||
          !scan.isStack(number.getArgNumber()) ||
          tensorType(number).getRank() != 0 ||
          tensorType(x).getDimSize(axis) < trips ||
          !countsTrips(scan.getStacks()[number.getArgNumber()]))
        continue;
      replace(rewriter, scan, gather,
              scan.getWhole()[x.getArgNumber() - firstWhole], axis);
      return success();
    }
    return rewriter.notifyMatchFailure(scan, "no gather by the trip's number");
  }

  /// Makes a stack of `x`, whose slice the gather takes along `axis`.
  static void replace(PatternRewriter &rewriter, ScanOp scan, GatherOp gather,
                      Value x, int64_t axis) {
    RankedTensorType type = tensorType(x);
    SmallVector<int64_t> perm{axis};
    llvm::append_range(perm, allDimsBut(type.getRank(), axis));
    x = sliceAlong(rewriter, gather.getLoc(), x, axis, 0,
                   static_cast<int64_t>(scan.getTrips()));
    Value stack = transposeTo(rewriter, gather.getLoc(), x, perm);
    BlockArgument slice = bodyOf(scan).insertArgument(
        scan.numStacks(),
        withShape(type, tensorType(stack).getShape().drop_front()),
        gather.getLoc());
    rewriter.modifyOpInPlace(scan,
                             [&] { scan.getStacksMutable().append(stack); });
    rewriter.setInsertionPoint(gather);
    rewriter.replaceOp(gather,
                       reshapeTo(rewriter, gather.getLoc(), slice,
                                 tensorType(gather.getResult()).getShape()));
  }
};

// Pattern: a carried value that each trip yields unchanged -> a whole operand
struct UnchangedIntoWhole : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned i = 0; i < scan.numCarried(); ++i) {
      BlockArgument argument = argumentOf(scan, scan.firstCarried() + i);
      Value initial = scan.getInitial()[i];
      bool isRead = !argument.hasOneUse() || !scan.getLast()[i].use_empty();
      if (yieldedBy(scan)[i] != argument || !isRead)
        continue;
      rewriter.replaceAllUsesWith(scan.getLast()[i], initial);
      if (!argument.hasOneUse()) {
        rewriter.modifyOpInPlace(
            scan, [&] { scan.getWholeMutable().append(initial); });
        Value whole =
            bodyOf(scan).addArgument(argument.getType(), argument.getLoc());
        Operation *yield = bodyOf(scan).getTerminator();
        rewriter.replaceUsesWithIf(argument, whole, [&](OpOperand &use) {
          return use.getOwner() != yield || use.getOperandNumber() != i;
        });
      }
      changed = true;
    }
    return success(changed);
  }
};

/// The ops and arguments of the body that used results depend on.
llvm::DenseSet<Value> liveValues(ScanOp scan) {
  llvm::DenseSet<Value> live;
  SmallVector<Value> work;
  auto need = [&](Value value) {
    if (live.insert(value).second)
      work.push_back(value);
  };
  for (auto [result, value] :
       llvm::zip_equal(scan.getOutputs(), yieldedBy(scan)))
    if (!result.use_empty())
      need(value);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (Operation *op = value.getDefiningOp()) {
      llvm::for_each(op->getOperands(), need);
      continue;
    }
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    if (scan.isCarried(number))
      need(yieldedBy(scan)[number - scan.firstCarried()]);
  }
  return live;
}

// Pattern: scan -> scan without the results and carried values that nothing
// depends on
struct DropDeadResults : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    llvm::DenseSet<Value> live = liveValues(scan);
    const unsigned stacks = scan.numStacks(), carried = scan.numCarried();
    SmallVector<unsigned> keptResults;
    llvm::BitVector deadArguments(bodyOf(scan).getNumArguments());
    for (unsigned i = 0; i < scan->getNumResults(); ++i) {
      bool isLive =
          !scan.getOutputs()[i].use_empty() ||
          (i < carried && live.contains(argumentOf(scan, stacks + i)));
      if (isLive)
        keptResults.push_back(i);
      else if (i < carried)
        deadArguments.set(stacks + i);
    }
    if (keptResults.size() == scan->getNumResults() || keptResults.empty())
      return rewriter.notifyMatchFailure(scan, "all results are needed");

    Operation *yield = bodyOf(scan).getTerminator();
    SmallVector<Value> yielded, initial;
    SmallVector<Type> types;
    for (unsigned i : keptResults) {
      yielded.push_back(yield->getOperand(i));
      types.push_back(scan.getOutputs()[i].getType());
      if (i < carried)
        initial.push_back(scan.getInitial()[i]);
    }
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(bodyOf(scan))))
      if (op.use_empty() && &op != yield)
        rewriter.eraseOp(&op);
    auto made = rewriter.create<ScanOp>(scan.getLoc(), types, scan.getTrips(),
                                        scan.getReverse(), scan.getStacks(),
                                        initial, scan.getWhole());
    rewriter.inlineRegionBefore(scan.getBody(), made.getBody(),
                                made.getBody().end());
    bodyOf(made).eraseArguments(deadArguments);
    for (auto [result, number] :
         llvm::zip_equal(made.getOutputs(), keptResults))
      rewriter.replaceAllUsesWith(scan.getOutputs()[number], result);
    rewriter.eraseOp(scan);
    return success();
  }
};

// Pattern: scan(w) -> scan(f(w)), where the body computes f(w)
struct HoistInvariants : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    return success(hoistInvariants(rewriter, scan));
  }
};

/// Whether `op` of values that are the same in each trip is computed outside.
bool isWorthHoisting(Operation *op) {
  return !isa<ConstantOp, BroadcastOp, IotaOp>(op) && isMemoryEffectFree(op) &&
         op->getNumRegions() == 0 && op->getNumResults() > 0 &&
         !widened(op->getResult(0));
}

} // namespace

bool hoistInvariants(RewriterBase &rewriter, ScanOp scan) {
  const unsigned numVarying = scan.firstWhole();
  // Values of the body -> those outside.
  IRMapping outside;
  llvm::SmallSetVector<Operation *, 8> hoisted;
  for (auto [i, value] : llvm::enumerate(scan.getWhole()))
    outside.map(argumentOf(scan, numVarying + i), value);
  for (Operation &op : bodyOf(scan).without_terminator()) {
    bool readsWhole = false, readsOthers = false;
    for (Value operand : op.getOperands()) {
      bool isConstant = operand.getDefiningOp<ConstantOp>() != nullptr;
      readsWhole |= outside.contains(operand) && !isConstant;
      readsOthers |= !outside.contains(operand) && !isConstant;
    }
    if (!readsWhole || readsOthers || !isWorthHoisting(&op))
      continue;
    rewriter.setInsertionPoint(scan);
    for (Value operand : op.getOperands())
      if (!outside.contains(operand))
        rewriter.clone(*operand.getDefiningOp(), outside);
    rewriter.clone(op, outside);
    hoisted.insert(&op);
  }
  for (Operation *op : hoisted)
    for (Value result : op->getResults()) {
      auto isInBody = [&](OpOperand &use) {
        return !hoisted.contains(use.getOwner());
      };
      if (llvm::none_of(result.getUses(), isInBody))
        continue;
      BlockArgument argument =
          bodyOf(scan).addArgument(result.getType(), result.getLoc());
      rewriter.modifyOpInPlace(
          scan, [&] { scan.getWholeMutable().append(outside.lookup(result)); });
      rewriter.replaceUsesWithIf(result, argument, isInBody);
    }
  for (Operation *op : llvm::reverse(hoisted))
    rewriter.eraseOp(op);
  return dropUnusedOperands(rewriter, scan) || !hoisted.empty();
}

void addScanPatterns(RewritePatternSet &patterns) {
  patterns.add<DropUnusedOperands, MergeEqualParts, ConstantsIntoBody,
               WideningIntoBody, GatherOfTrip, UnchangedIntoWhole,
               DropDeadResults, HoistInvariants>(patterns.getContext());
}

} // namespace sinter::passes
