//===- SplitReductions.cpp - long reductions to few results ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A kernel gives each of its results to one worker, so a long reduction to few
// results leaves the others idle: statistics of a batch norm, the gradient of a
// bias. Here a first reduction keeps the outermost of the reduced dimensions,
// and a second, short one reduces them. A single very long dimension is cut
// into equal parts for that; if no suitable number divides it, the rest is a
// short reduction of its own. The rows of a large matrix are cut even if there
// are as many results as columns: a GPU gives neighbouring columns to one
// block. The choice depends on the shape alone, as the tree of a sum does.
//
// The squares of a variance would have to wait for the mean of all elements.
// Instead those of a part are taken about the mean of the part, together with
// its sum, and are moved to the mean of all when parts are joined (T. Chan, G.
// Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing
// sample variances", 1979). The input is read once for both, and nothing
// cancels.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/Remarks.h"
#include "passes/OpClasses.h"
#include "passes/precision/Widening.h"
#include "passes/recognize/VarianceForm.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "passes/Passes.h.inc"

namespace {

/// One worker is enough for fewer elements than this.
constexpr int64_t kLeastElements = 1 << 15;
/// With this many results all workers have something to do.
constexpr int64_t kManyResults = 1 << 12;
/// A number of parts that is enough, and the fewest elements of a part. A part
/// of more elements is divided further, for the rounding error of its sum.
constexpr int64_t kEnoughParts = 16, kLeastPerPart = 16, kMostPerPart = 1 << 16;

/// How many of the reduced dimensions, from the outermost, the first reduction
/// keeps; 0 if splitting does not pay.
size_t keptDims(ir::ReduceOp reduce) {
  RankedTensorType type = ir::tensorType(reduce.getX());
  int64_t results = ir::tensorType(reduce.getResult()).getNumElements();
  if (type.getNumElements() < kLeastElements || results == 0 ||
      results >= kManyResults)
    return 0;
  int64_t parts = 1, length = type.getNumElements() / results;
  size_t count = 0;
  for (int64_t dim : reduce.getDims().drop_back()) {
    int64_t size = type.getDimSize(dim);
    if (length / (parts * size) < kLeastPerPart)
      break;
    parts *= size;
    ++count;
    if (parts >= kEnoughParts && length / parts <= kMostPerPart)
      break;
  }
  return parts > 1 ? count : 0;
}

/// The only reduced dimension as `parts` of `length`; a rest may be left.
struct Cut {
  int64_t parts = 0, length = 0; // 0: it does not pay
  bool isOfRows = false;
};

/// Whether all users of `value` are one op.
bool hasOneUser(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return user == *value.user_begin();
  });
}

/// Whether an op that is not fused with others reads `value`, so that it is in
/// memory.
bool isReadFromMemory(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (ir::isView(user))
      return isReadFromMemory(user->getResult(0));
    return user->hasTrait<OpTrait::IsTerminator>() ||
           user->hasTrait<ir::Transfer>() || ir::isContraction(user) ||
           isa<ir::FusionOpInterface, ir::SoloKernelOpInterface>(user);
  });
}

/// Whether a reduction of a part computes `value` again. `isAlone`: every value
/// between `value` and the reduction has one user. With `isShared`, values that
/// other ops read as well are computed again if they cost no more than a load.
bool isRecomputed(Value value, bool isAlone, bool isShared) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return false;
  if (!isShared)
    return isElementwise(op) && isAlone;
  if (isReadFromMemory(value))
    return false;
  if (ir::elementCost(op) != ir::ElementCost::compute)
    return isElementwise(op) || isa<ir::BroadcastOp>(op);
  return isElementwise(op) && isAlone;
}

/// Whether what a reduction of parts reads is in memory without it: cutting
/// must not store what was a part of the reduction's kernel, unless that has at
/// most `fewElements`.
class MemoryReads {
public:
  explicit MemoryReads(int64_t fewElements) : fewElements(fewElements) {}

  bool areAll(Value value, int64_t dim, bool isAlone = true) {
    if (!visited.insert({value, dim}).second)
      return true; // answered before
    Operation *op = value.getDefiningOp();
    isAlone &= hasOneUser(value);
    if (!op || isa<ir::ConstantOp>(op) ||
        ir::tensorType(value).getNumElements() <= fewElements)
      return true;
    if (auto reshape = dyn_cast<ir::ReshapeOp>(op))
      return !reshape.getX().getDefiningOp() ||
             isReadFromMemory(reshape.getX()) ||
             ir::isContraction(reshape.getX().getDefiningOp());
    if (!isRecomputed(value, isAlone, /*isShared=*/true))
      return isReadFromMemory(value) || ir::isContraction(op) ||
             ir::isReduction(op) || op->hasTrait<ir::Transfer>() ||
             isa<ir::FusionOpInterface, ir::SoloKernelOpInterface>(op);
    if (auto broadcast = dyn_cast<ir::BroadcastOp>(op)) {
      auto found = llvm::find(broadcast.getDims(), dim);
      return found == broadcast.getDims().end() ||
             areAll(broadcast.getX(), found - broadcast.getDims().begin(),
                    isAlone);
    }
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return areAll(operand, dim, isAlone);
    });
  }

private:
  const int64_t fewElements;
  llvm::DenseSet<std::pair<Value, int64_t>> visited;
};

/// Rows of a matrix, in equal parts.
Cut cutOfRows(ir::ReduceOp reduce) {
  constexpr int64_t leastElements = 1 << 20, leastPart = 256;
  // So many results of the first reduction occupy a large GPU.
  constexpr int64_t enoughResults = 1 << 13, leastColumns = 32;
  RankedTensorType type = ir::tensorType(reduce.getX());
  int64_t dim = reduce.getDims().front(), size = type.getDimSize(dim);
  int64_t results = ir::tensorType(reduce.getResult()).getNumElements();
  if (dim == type.getRank() - 1 || type.getNumElements() < leastElements ||
      type.getShape().back() < leastColumns || results >= enoughResults ||
      !MemoryReads(type.getNumElements() / leastColumns)
           .areAll(reduce.getX(), dim))
    return {};
  auto parts = static_cast<int64_t>(
      llvm::bit_floor(static_cast<uint64_t>(enoughResults / results)));
  while (parts > 1 && (size % parts != 0 || size / parts < leastPart))
    parts /= 2;
  return parts > 1 ? Cut{parts, size / parts, true} : Cut{};
}

Cut cutOf(ir::ReduceOp reduce) {
  constexpr int64_t leastPart = 1 << 15, mostWorkers = 1 << 9, leastParts = 8;
  // Parts begin at vector boundaries, if the dimension does.
  constexpr int64_t vector = 8;
  int64_t results = ir::tensorType(reduce.getResult()).getNumElements();
  if (reduce.getDims().size() != 1 || results == 0)
    return {};
  int64_t size =
      ir::tensorType(reduce.getX()).getDimSize(reduce.getDims().front());
  int64_t most = std::min(size / leastPart, mostWorkers / results);
  for (int64_t parts = most; parts >= leastParts; --parts)
    if (size % parts == 0)
      return {parts, size / parts};
  if (most < leastParts)
    return cutOfRows(reduce);
  return {most, size / most / vector * vector};
}

// Pattern: reduce(x) over a, b with b of size 1 -> reshape(reduce(x) over a)
ir::ReduceOp withoutUnitDims(ir::ReduceOp reduce) {
  ArrayRef<int64_t> shape = ir::tensorType(reduce.getX()).getShape();
  SmallVector<int64_t> dims;
  for (int64_t dim : reduce.getDims())
    if (shape[dim] != 1)
      dims.push_back(dim);
  if (dims.size() != 1 || dims.size() == reduce.getDims().size())
    return reduce;
  OpBuilder b(reduce);
  auto over =
      ir::reduceOver(b, reduce.getLoc(), reduce.getKind(), reduce.getX(), dims)
          .getDefiningOp<ir::ReduceOp>();
  if (cutOf(over).parts == 0) {
    over.erase();
    return reduce;
  }
  reduce.replaceAllUsesWith(
      ir::reshapeTo(b, reduce.getLoc(), over.getResult(),
                    ir::tensorType(reduce.getResult()).getShape()));
  reduce.erase();
  return over;
}

/// Makes a reduction of 16-bit floats one of float32 that is rounded once: sums
/// of parts would be rounded, or overflow.
ir::ReduceOp inFloat32(ir::ReduceOp reduce) {
  SmallVector<Value> results;
  Operation *wide = buildWidened(reduce, results);
  if (!wide)
    return reduce;
  reduce->replaceAllUsesWith(results);
  reduce.erase();
  return cast<ir::ReduceOp>(wide);
}

struct SplitReductionsPass : impl::SplitReductionsBase<SplitReductionsPass> {
  void runOnOperation() override {
    SmallVector<ir::ReduceOp> all, worthIt, toCut;
    getOperation().walk([&](ir::ReduceOp reduce) {
      if (!isa<ir::FusionOpInterface>(reduce->getParentOp()))
        all.push_back(reduce); // others are part of a library call
    });
    for (ir::ReduceOp reduce : all) {
      reduce = withoutUnitDims(reduce);
      if (keptDims(reduce) > 0)
        worthIt.push_back(reduce);
      else if (cutOf(reduce).parts > 0)
        toCut.push_back(reduce);
    }
    for (SmallVector<ir::ReduceOp> *reductions : {&worthIt, &toCut})
      for (ir::ReduceOp &reduce : *reductions)
        reduce = inFloat32(reduce);
    // The sum and the squares of a variance have the same reduced dimensions:
    // if one is split, so is the other.
    llvm::DenseMap<Operation *, SquaredDeviations> squares;
    for (ir::ReduceOp reduce : worthIt)
      if (std::optional<SquaredDeviations> found =
              matchSquaredDeviations(reduce))
        squares[reduce] = *found;
    llvm::DenseMap<Operation *, Value> partSums;
    for (ir::ReduceOp reduce : worthIt)
      if (!squares.count(reduce))
        partSums[reduce] = splitAfter(reduce, keptDims(reduce));
    for (ir::ReduceOp reduce : worthIt) {
      auto found = squares.find(reduce);
      if (found == squares.end())
        continue;
      if (Value sums = partSums.lookup(found->second.sumOfX)) {
        splitSquares(found->second, sums, keptDims(reduce));
        partSums.erase(found->second.sumOfX);
      } else { // the sum of x is itself one of squared deviations
        splitAfter(reduce, keptDims(reduce));
      }
    }
    // Parts that are one long dimension are cut in turn.
    for (ir::ReduceOp reduce : worthIt)
      if (Value parts = partSums.lookup(reduce))
        if (auto inner = parts.getDefiningOp<ir::ReduceOp>();
            inner && cutOf(inner).parts > 0)
          toCut.push_back(inner);
    for (ir::ReduceOp reduce : worthIt)
      reduce.erase();
    for (ir::ReduceOp reduce : toCut)
      if (Cut parts = cutOf(reduce); parts.parts > 0)
        cut(reduce, parts);
    if (size_t count = worthIt.size() + toCut.size())
      ir::remark("split-reductions", "split", getOperation().getLoc(), "",
                 static_cast<int64_t>(count));
  }

private:
  // Pattern: reduce(x) over a, b -> reduce(reduce(x) over b) over a
  static Value splitAfter(ir::ReduceOp reduce, size_t kept) {
    OpBuilder builder(reduce);
    ArrayRef<int64_t> outer = reduce.getDims().take_front(kept),
                      inner = reduce.getDims().drop_front(kept);
    Value parts = ir::reduceOver(builder, reduce.getLoc(), reduce.getKind(),
                                 reduce.getX(), inner);
    // The dimensions before them stay, so the outer dimensions keep their
    // numbers.
    Value result = ir::reduceOver(builder, reduce.getLoc(), reduce.getKind(),
                                  parts, outer);
    reduce.replaceAllUsesWith(result);
    return parts;
  }

  // Pattern: sum((x - m)^2) over a, b
  //   -> sum(sum((x - p)^2) over b + n (p - m)^2) over a, p the mean over the n
  //      elements of b
  static void splitSquares(const SquaredDeviations &squares, Value sums,
                           size_t kept) {
    ir::ReduceOp reduce = squares.sum;
    OpBuilder b(reduce);
    Location loc = reduce.getLoc();
    ArrayRef<int64_t> outer = reduce.getDims().take_front(kept),
                      inner = reduce.getDims().drop_front(kept);
    auto shape = ir::tensorType(squares.x).getShape();
    auto partShape = ir::tensorType(sums).getShape();
    double length = 1;
    for (int64_t dim : inner)
      length *= static_cast<double>(shape[dim]);
    auto square = [&](Value x) { return b.create<ir::MulOp>(loc, x, x); };
    Value count = ir::splatLike(b, loc, sums, length);
    Value means = b.create<ir::DivOp>(loc, sums, count);
    Value inPart = square(b.create<ir::SubOp>(
        loc, squares.x, ir::spreadOver(b, loc, means, shape, inner)));
    inPart = ir::reduceOver(b, loc, ir::ReduceKind::sum, inPart, inner);
    Value moved = square(b.create<ir::SubOp>(
        loc, means, ir::spreadOver(b, loc, squares.mean, partShape, outer)));
    moved = b.create<ir::AddOp>(loc, inPart,
                                b.create<ir::MulOp>(loc, moved, count));
    reduce.replaceAllUsesWith(
        ir::reduceOver(b, loc, ir::ReduceKind::sum, moved, outer));
  }

  /// Takes part of a dimension of values, which are recomputed for it so that
  /// they can still be fused with the reduction.
  class Stretch {
  public:
    /// The elements from `begin` to below `end`, as dimensions of `sizes`.
    /// See `isRecomputed` for `isShared` and `isAlone`.
    Stretch(OpBuilder &builder, int64_t begin, int64_t end,
            ArrayRef<int64_t> sizes, bool isShared)
        : builder(builder), begin(begin), end(end), sizes(sizes),
          isShared(isShared) {}

    Value of(Value value, int64_t dim, bool isAlone = true) {
      if (Value made = known.lookup({value, dim}))
        return made;
      Value made = make(value, dim, isAlone);
      known[{value, dim}] = made;
      return made;
    }

  private:
    SmallVector<int64_t> shapeOf(Value value, int64_t dim) const {
      SmallVector<int64_t> shape(ir::tensorType(value).getShape());
      shape[dim] = sizes.front();
      if (sizes.size() > 1)
        shape.insert(shape.begin() + dim + 1, sizes.back());
      return shape;
    }

    Value make(Value value, int64_t dim, bool isAlone) {
      Operation *op = value.getDefiningOp();
      isAlone &= hasOneUser(value);
      SmallVector<int64_t> shape = shapeOf(value, dim);
      if (auto constant = dyn_cast_if_present<ir::ConstantOp>(op);
          constant && isSplatConstant(constant))
        return builder.create<ir::ConstantOp>(
            op->getLoc(), cast<DenseElementsAttr>(constant.getValue())
                              .resizeSplat(ir::tensorType(value).clone(shape)));
      if (!isRecomputed(value, isAlone, isShared))
        return read(value, dim, shape);
      if (auto broadcast = dyn_cast<ir::BroadcastOp>(op))
        return spread(broadcast, dim, shape, isAlone);
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(of(operand, dim, isAlone));
      return cloneWithShape(builder, op, operands, shape)->getResult(0);
    }

    Value read(Value value, int64_t dim, ArrayRef<int64_t> shape) {
      value = ir::sliceAlong(builder, value.getLoc(), value, dim, begin, end);
      // A reshape that exists is used again, so that reductions of one value
      // have the same operand and can share a kernel.
      Operation *next = &*builder.getInsertionPoint();
      for (Operation *user : value.getUsers())
        if (auto reshape = dyn_cast<ir::ReshapeOp>(user))
          if (reshape.getType().getShape() == shape &&
              reshape->getBlock() == next->getBlock() &&
              reshape->isBeforeInBlock(next))
            return reshape;
      return ir::reshapeTo(builder, value.getLoc(), value, shape);
    }

    Value spread(ir::BroadcastOp broadcast, int64_t dim,
                 ArrayRef<int64_t> shape, bool isAlone) {
      Value source = broadcast.getX();
      SmallVector<int64_t> dims;
      const auto added = static_cast<int64_t>(sizes.size()) - 1;
      for (auto [i, to] : llvm::enumerate(broadcast.getDims())) {
        dims.push_back(to > dim ? to + added : to);
        if (to != dim || ir::tensorType(broadcast.getX()).getDimSize(i) == 1)
          continue;
        source = of(source, static_cast<int64_t>(i), isAlone);
        if (added)
          dims.push_back(to + 1);
      }
      return ir::broadcastInDim(builder, broadcast.getLoc(), source, shape,
                                dims);
    }

    OpBuilder &builder;
    int64_t begin, end;
    ArrayRef<int64_t> sizes;
    bool isShared;
    llvm::DenseMap<std::pair<Value, int64_t>, Value> known;
  };

  static Value combine(OpBuilder &b, Location loc, ir::ReduceKind kind, Value x,
                       Value y) {
    switch (kind) {
    case ir::ReduceKind::sum:
      return b.create<ir::AddOp>(loc, x, y);
    case ir::ReduceKind::prod:
      return b.create<ir::MulOp>(loc, x, y);
    case ir::ReduceKind::max:
      return b.create<ir::MaxOp>(loc, x, y);
    case ir::ReduceKind::min:
      return b.create<ir::MinOp>(loc, x, y);
    case ir::ReduceKind::all:
      return b.create<ir::AndOp>(loc, x, y);
    case ir::ReduceKind::any:
      return b.create<ir::OrOp>(loc, x, y);
    }
    llvm_unreachable("unknown reduction kind");
  }

  static void eraseUnused(Operation *first) {
    llvm::SetVector<Operation *> worklist;
    auto add = [&](Operation *op) {
      if (op && (isElementwise(op) || isa<ir::BroadcastOp>(op)))
        worklist.insert(op);
    };
    add(first);
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      if (!op->use_empty())
        continue;
      for (Value operand : op->getOperands())
        add(operand.getDefiningOp());
      op->erase();
    }
  }

  // Pattern: reduce(x) over a -> reduce(reduce(reshape(x)) over a1) over a0
  //   and, where a0 times a1 is less than a, the reduction of the rest with it
  static void cut(ir::ReduceOp reduce, Cut cut) {
    OpBuilder builder(reduce);
    Location loc = reduce.getLoc();
    ir::ReduceKind kind = reduce.getKind();
    int64_t dim = reduce.getDims().front(), end = cut.parts * cut.length;
    int64_t left = ir::tensorType(reduce.getX()).getDimSize(dim) - end;
    Value parts =
        Stretch(builder, 0, end, {cut.parts, cut.length}, cut.isOfRows)
            .of(reduce.getX(), dim);
    Value sums = ir::reduceOver(builder, loc, kind, parts, {dim + 1});
    Value result = ir::reduceOver(builder, loc, kind, sums, {dim});
    if (left > 0) {
      Value rest = Stretch(builder, end, end + left, {left}, cut.isOfRows)
                       .of(reduce.getX(), dim);
      rest = ir::reduceOver(builder, loc, kind, rest, {dim});
      result = combine(builder, loc, kind, result, rest);
    }
    reduce.replaceAllUsesWith(result);
    Operation *before = reduce.getX().getDefiningOp();
    reduce.erase();
    eraseUnused(before);
  }
};

} // namespace
} // namespace sinter::passes
