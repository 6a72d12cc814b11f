//===- SimplifyGathers.cpp - gathers with regular indices -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A gather with regular constant indices becomes slices, transposes and
// broadcasts, which every analysis can follow and which read no indices. For
// example, PyTorch's exporter writes as_strided as a gather from the flattened
// tensor. A gather with an index out of range stays: the target reports it.
//
//===----------------------------------------------------------------------===//
#include "ir/Tensor.h"
#include "passes/OpClasses.h"
#include "passes/ValueBuilder.h"
#include "passes/simplify/SimplifyPatterns.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

using Ints = SmallVector<int64_t>;

/// The constant indices of a gather, with negative ones counted from the end;
/// nothing if they are not constant, if there are none, or if one is out of
/// range.
std::optional<std::vector<int64_t>> constantIndices(GatherOp op) {
  int64_t size = tensorType(op.getX()).getDimSize(op.getAxis());
  auto constant = op.getIndices().getDefiningOp<ConstantOp>();
  if (!constant || size == 0 ||
      tensorType(op.getIndices()).getNumElements() == 0)
    return std::nullopt;
  FailureOr<Tensor> tensor = Tensor::fromAttr(constant.getValue());
  if (failed(tensor))
    return std::nullopt;
  for (int64_t &index : tensor->ints) {
    index += index < 0 ? size : 0;
    if (index < 0 || index >= size)
      return std::nullopt;
  }
  return std::move(tensor->ints);
}

/// The indices start + sum over dim of i[dim] * strides[dim], for all i in the
/// shape of the indices. Dimensions of size 1 have stride 0.
struct Lattice {
  int64_t start;
  Ints strides;
};

std::optional<Lattice> latticeOf(ArrayRef<int64_t> values,
                                 ArrayRef<int64_t> shape) {
  Lattice lattice{values.front(), Ints(shape.size(), 0)};
  Ints steps = rowMajorStrides(shape);
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size > 1)
      lattice.strides[dim] = values[steps[dim]] - values.front();
  for (int64_t at = 1, count = values.size(); at < count; ++at) {
    // The last dimension along which `at` has a predecessor.
    int64_t dim = shape.size() - 1;
    while (at / steps[dim] % shape[dim] == 0)
      --dim;
    if (values[at] - values[at - steps[dim]] != lattice.strides[dim])
      return std::nullopt;
  }
  return lattice;
}

/// The shape of the operand of `op` with its axis replaced by `middle`.
Ints withMiddle(GatherOp op, ArrayRef<int64_t> middle) {
  ArrayRef<int64_t> shape = tensorType(op.getX()).getShape();
  Ints result(shape.take_front(op.getAxis()));
  llvm::append_range(result, middle);
  llvm::append_range(result, shape.drop_front(op.getAxis() + 1));
  return result;
}

/// Slices dimensions `first`, `first` + 1, .. of `x`, each from its entry of
/// `from` to that of `limits` in steps of `step`.
Value sliceDims(ValueBuilder &b, Value x, int64_t first, ArrayRef<int64_t> from,
                ArrayRef<int64_t> limits, int64_t step = 1) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  Ints begins(shape.size(), 0), ends(shape), steps(shape.size(), 1);
  for (auto [i, begin, end] : llvm::enumerate(from, limits)) {
    begins[first + i] = begin;
    ends[first + i] = end;
    steps[first + i] = step;
  }
  return b.make<SliceOp>(x, begins, ends, steps);
}

/// Where `count` blocks of `size` indices below `limit` may begin, so that
/// `low` lies in the first block and `fits` holds for its offset there. Tries a
/// few positions; nothing if none of them qualifies.
std::optional<int64_t> beginOfBlocks(int64_t count, int64_t size, int64_t low,
                                     int64_t limit,
                                     function_ref<bool(int64_t)> fits) {
  for (int64_t begin : {low - low % size, low, limit - count * size})
    if (begin >= 0 && begin <= low && low - begin < size &&
        begin <= limit - count * size && fits(low - begin))
      return begin;
  return std::nullopt;
}

// Pattern: gather(x, constant lattice) -> slice, transpose, reverse and
// broadcast of reshape(x)
struct GatherOfLattice : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto values = constantIndices(op);
    if (!values)
      return rewriter.notifyMatchFailure(op, "the indices are not constant");
    ArrayRef<int64_t> shape = tensorType(op.getIndices()).getShape();
    std::optional<Lattice> lattice = latticeOf(*values, shape);
    if (!lattice)
      return rewriter.notifyMatchFailure(op, "the indices are not a lattice");
    // Dimensions from the longest stride to the shortest.
    Ints order, strides, sizes;
    for (auto [dim, stride] : llvm::enumerate(lattice->strides))
      if (stride != 0)
        order.push_back(dim);
    llvm::stable_sort(order, [&](int64_t a, int64_t b) {
      return std::abs(lattice->strides[a]) > std::abs(lattice->strides[b]);
    });
    int64_t low = lattice->start;
    for (int64_t dim : order) {
      int64_t stride = lattice->strides[dim];
      low += stride < 0 ? stride * (shape[dim] - 1) : 0;
      strides.push_back(std::abs(stride));
      sizes.push_back(shape[dim]);
    }
    ValueBuilder b(rewriter, op.getLoc());
    Value chosen = choose(b, op, low, strides, sizes);
    if (!chosen)
      return rewriter.notifyMatchFailure(op, "the indices overlap");
    rewriter.replaceOp(op, arrange(b, op, chosen, order, lattice->strides));
    return success();
  }

private:
  /// The elements low + sum over j of i[j] * strides[j], in dimensions of
  /// `sizes`, from the longest stride to the shortest. Null if an index cannot
  /// be taken apart into one digit for each stride.
  static Value choose(ValueBuilder &b, GatherOp op, int64_t low,
                      ArrayRef<int64_t> strides, ArrayRef<int64_t> sizes) {
    int64_t axis = op.getAxis();
    if (strides.empty())
      return b.reshape(sliceDims(b, op.getX(), axis, low, low + 1),
                       withMiddle(op, {}));
    if (strides.size() == 1)
      return sliceDims(b, op.getX(), axis, low,
                       low + (sizes[0] - 1) * strides[0] + 1, strides[0]);
    // An index has one digit for each stride, and one for what is below the
    // last.
    Ints radixes{sizes[0]}, counts(sizes);
    for (size_t j = 1; j < strides.size(); ++j) {
      if (strides[j - 1] % strides[j] != 0)
        return {};
      radixes.push_back(strides[j - 1] / strides[j]);
    }
    radixes.push_back(strides.back());
    counts.push_back(1);
    auto digits = [&](int64_t place) {
      Ints result;
      for (int64_t stride : strides) {
        result.push_back(place / stride);
        place %= stride;
      }
      result.push_back(place);
      return result;
    };
    auto begin = beginOfBlocks(
        sizes[0], strides[0], low, tensorType(op.getX()).getDimSize(axis),
        [&](int64_t place) {
          return llvm::all_of(llvm::zip_equal(digits(place), counts, radixes),
                              [](auto digit) {
                                auto [from, count, radix] = digit;
                                return from + count <= radix;
                              });
        });
    if (!begin)
      return {};
    Value blocks =
        sliceDims(b, op.getX(), axis, *begin, *begin + sizes[0] * strides[0]);
    Ints from = digits(low - *begin), limits;
    for (auto [first, count] : llvm::zip_equal(from, counts))
      limits.push_back(first + count);
    Value chosen = sliceDims(b, b.reshape(blocks, withMiddle(op, radixes)),
                             axis, from, limits);
    return b.reshape(chosen, withMiddle(op, sizes));
  }

  /// `chosen` with the dimensions of the indices: in their order and direction,
  /// repeated where the stride is 0.
  static Value arrange(ValueBuilder &b, GatherOp op, Value chosen,
                       ArrayRef<int64_t> order, ArrayRef<int64_t> strides) {
    ArrayRef<int64_t> shape = tensorType(op.getResult()).getShape();
    int64_t axis = op.getAxis(), rank = tensorType(chosen).getRank(),
            numAdded = strides.size() - order.size();
    Ints perm, backward, dims;
    for (int64_t i = 0; i < axis; ++i) {
      perm.push_back(i);
      dims.push_back(i);
    }
    for (auto [dim, stride] : llvm::enumerate(strides)) {
      if (stride == 0)
        continue;
      if (stride < 0)
        backward.push_back(perm.size());
      const int64_t *place = llvm::find(order, static_cast<int64_t>(dim));
      perm.push_back(axis + (place - order.begin()));
      dims.push_back(axis + dim);
    }
    for (int64_t i = perm.size(); i < rank; ++i) {
      perm.push_back(i);
      dims.push_back(i + numAdded);
    }
    Value moved = b.transpose(chosen, perm);
    if (!backward.empty())
      moved = b.make<ReverseOp>(moved.getType(), moved, backward);
    if (tensorType(moved).getNumElements() ==
        tensorType(op.getResult()).getNumElements())
      return b.reshape(moved, shape);
    return b.broadcast(moved, shape, dims);
  }
};

// Pattern: gather(x, constant block * i + rest) -> gather(reshape(x), rest):
// equal blocks of indices, each into its own part of x, for example into the
// rows of a batch.
struct GatherInBlocks : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto values = constantIndices(op);
    if (!values)
      return rewriter.notifyMatchFailure(op, "the indices are not constant");
    RankedTensorType type = tensorType(op.getIndices());
    ArrayRef<int64_t> rest = type.getShape();
    while (!rest.empty() && rest.front() == 1)
      rest = rest.drop_front();
    if (rest.empty())
      return rewriter.notifyMatchFailure(op, "there is one index");
    int64_t count = rest.front(), number = values->size() / count;
    rest = rest.drop_front();
    if (number == 1)
      return rewriter.notifyMatchFailure(op, "a block has only one index");
    int64_t size = (*values)[number] - values->front();
    if (size < 1)
      return rewriter.notifyMatchFailure(op, "the blocks do not ascend");
    for (size_t i = number; i < values->size(); ++i)
      if ((*values)[i] - (*values)[i - number] != size)
        return rewriter.notifyMatchFailure(op, "the blocks differ");
    auto [low, high] =
        std::minmax_element(values->begin(), values->begin() + number);
    int64_t axis = op.getAxis(), length = *high - *low;
    auto begin =
        beginOfBlocks(count, size, *low, tensorType(op.getX()).getDimSize(axis),
                      [&](int64_t place) { return place + length < size; });
    if (!begin)
      return rewriter.notifyMatchFailure(op, "the blocks overlap");
    Tensor indices(type.clone(rest));
    for (auto [index, value] : llvm::zip_first(indices.ints, *values))
      index = value - *begin;
    ValueBuilder b(rewriter, op.getLoc());
    Value blocks =
        b.reshape(sliceDims(b, op.getX(), axis, *begin, *begin + count * size),
                  withMiddle(op, {count, size}));
    Value chosen = b.make<GatherOp>(
        blocks, b.make<ConstantOp>(indices.toAttr("indices")), axis + 1);
    rewriter.replaceOp(
        op, b.reshape(chosen, tensorType(op.getResult()).getShape()));
    return success();
  }
};

// Pattern: scatter_elements(x, broadcast(i), u) -> scatter(x, i, u), where each
// whole slice has one index.
struct ScatterOfSlices : OpRewritePattern<ScatterElementsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterElementsOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getIndices().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return rewriter.notifyMatchFailure(op, "the indices are not a broadcast");
    int64_t axis = op.getAxis();
    if (llvm::any_of(broadcast.getDims(), [&](int64_t d) { return d != axis; }))
      return rewriter.notifyMatchFailure(op, "a slice has several indices");
    RankedTensorType x = tensorType(op.getX()),
                     type = tensorType(op.getIndices());
    for (int64_t d = 0; d < x.getRank(); ++d)
      if (d != axis && type.getDimSize(d) != x.getDimSize(d))
        return rewriter.notifyMatchFailure(op, "slices are not whole");
    Value source = broadcast.getX();
    auto line =
        RankedTensorType::get({type.getDimSize(axis)}, type.getElementType());
    if (source.getType() != line) {
      // The source has no dimension but the axis, if that.
      SmallVector<int64_t> dims(broadcast.getDims().size(), 0);
      source =
          rewriter.create<BroadcastOp>(broadcast.getLoc(), line, source, dims);
    }
    rewriter.replaceOpWithNewOp<ScatterOp>(op, x, op.getKind(), op.getX(),
                                           source, op.getUpdates(), axis);
    return success();
  }
};

} // namespace

void addGatherPatterns(RewritePatternSet &patterns) {
  patterns.add<GatherOfLattice, GatherInBlocks, ScatterOfSlices>(
      patterns.getContext());
}

} // namespace sinter::passes
