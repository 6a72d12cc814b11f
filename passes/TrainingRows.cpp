//===- TrainingRows.cpp - whether rows of a batch stay apart --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Follows the batch dimension through the graph. A value carries its rows along
// one dimension, of size batch * k; or it has none, or its form is beyond this
// analysis.
//
//===----------------------------------------------------------------------===//
#include "passes/OpClasses.h"
#include "passes/Training.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

class RowTracker {
public:
  explicit RowTracker(int64_t batch) : batch(batch) {}

  void start(Value input) { rows[input] = 0; }

  LogicalResult visit(Operation *op) {
    SmallVector<std::optional<int64_t>> dims;
    for (Value operand : op->getOperands()) {
      auto found = rows.find(operand);
      dims.push_back(found == rows.end() ? std::nullopt
                                         : std::optional(found->second));
    }
    if (llvm::none_of(dims, [](auto dim) { return dim.has_value(); }))
      return success();
    return step(op, dims);
  }

private:
  using Dims = ArrayRef<std::optional<int64_t>>;

  LogicalResult mixes(Operation *op) {
    return op->emitError(
        "mixes the rows of a batch, so evaluation cannot mask out the rows "
        "that "
        "pad the last batch; compile with --batch=1 or change the model");
  }
  LogicalResult carry(Operation *op, int64_t dim) {
    for (Value result : op->getResults())
      if (dim < tensorType(result).getRank())
        rows[result] = dim;
    return success();
  }

  LogicalResult step(Operation *op, Dims dims) {
    std::optional<int64_t> first = dims.front();
    if (isElementwise(op)) {
      std::optional<int64_t> common;
      for (auto dim : dims)
        if (dim)
          common = common && *common != *dim ? -1 : *dim;
      return *common < 0 ? success() : carry(op, *common);
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (llvm::is_contained(reduce.getDims(), *first))
        return mixes(op);
      int64_t before = llvm::count_if(reduce.getDims(),
                                      [&](int64_t d) { return d < *first; });
      return carry(op, *first - before);
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      return carry(op, broadcast.getDims()[*first]);
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return carry(op, inversePermutation(transpose.getPerm())[*first]);
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return followReshape(reshape, *first);
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      return followDot(dot, dims);
    if (auto along = axisOf(op))
      return !first             ? success()
             : *along == *first ? mixes(op)
                                : carryAxisOp(op, *along, *first);
    if (isa<BatchNormOp, GroupNormOp, ConvOp, ConvInputGradOp>(op)) {
      // Examples are dimension 0 of these.
      if (!first)
        return success();
      return *first == 0            ? carry(op, 0)
             : isa<BatchNormOp>(op) ? success()
                                    : mixes(op);
    }
    if (isa<BatchNormTrainingOp>(op))
      return mixes(op);
    if (auto norm = dyn_cast<LayerNormOp>(op)) {
      if (!first)
        return success();
      return *first >= static_cast<int64_t>(norm.getAxis()) ? mixes(op)
                                                            : carry(op, *first);
    }
    if (auto window = dyn_cast<ReduceWindowOp>(op)) {
      int64_t i = *first;
      bool stays = window.getWindow()[i] == 1 && window.getStrides()[i] == 1 &&
                   window.getPadsLow()[i] == 0 && window.getPadsHigh()[i] == 0;
      return stays ? carry(op, i) : mixes(op);
    }
    if (auto slice = dyn_cast<SliceOp>(op)) {
      bool isWhole = tensorType(slice.getResult()).getDimSize(*first) ==
                     tensorType(slice.getX()).getDimSize(*first);
      return isWhole ? carry(op, *first) : success();
    }
    if (auto pad = dyn_cast<PadOp>(op))
      return first && pad.getLow()[*first] == 0 &&
                     pad.getInterior()[*first] == 0
                 ? carry(op, *first)
                 : success();
    if (auto reverse = dyn_cast<ReverseOp>(op))
      return llvm::is_contained(reverse.getDims(), *first) ? mixes(op)
                                                           : carry(op, *first);
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      int64_t axis = concat.getAxis();
      for (auto dim : dims)
        if (dim && *dim != axis)
          return carry(op, *dim);
      return success();
    }
    if (auto gather = dyn_cast<GatherOp>(op)) {
      int64_t axis = gather.getAxis();
      if (first && *first == axis)
        return mixes(op);
      if (first)
        return carry(
            op, *first < axis
                    ? *first
                    : *first + tensorType(gather.getIndices()).getRank() - 1);
      return carry(op, axis + *dims[1]);
    }
    return success();
  }

  /// The dimension along which an op combines elements and whose place it keeps
  /// or drops.
  std::optional<int64_t> axisOf(Operation *op) {
    if (auto softmax = dyn_cast<SoftmaxOp>(op))
      return softmax.getAxis();
    if (auto softmax = dyn_cast<LogSoftmaxOp>(op))
      return softmax.getAxis();
    if (auto cumulative = dyn_cast<CumulativeOp>(op))
      return cumulative.getAxis();
    if (auto top = dyn_cast<TopKOp>(op))
      return top.getAxis();
    if (auto arg = dyn_cast<ArgReduceOp>(op))
      return arg.getAxis();
    return std::nullopt;
  }
  LogicalResult carryAxisOp(Operation *op, int64_t axis, int64_t dim) {
    return carry(op, isa<ArgReduceOp>(op) && axis < dim ? dim - 1 : dim);
  }

  /// Row-major order is kept: the rows go to the dimension that starts where
  /// theirs did.
  LogicalResult followReshape(ReshapeOp op, int64_t dim) {
    RankedTensorType from = tensorType(op.getX()),
                     to = tensorType(op.getResult());
    int64_t before = 1, passed = 1;
    for (int64_t size : from.getShape().take_front(dim))
      before *= size;
    for (int64_t i = 0; i < to.getRank(); passed *= to.getDimSize(i), ++i)
      if (passed == before && to.getDimSize(i) != 1)
        return to.getDimSize(i) % batch == 0 ? carry(op, i) : success();
    return success();
  }

  LogicalResult followDot(DotGeneralOp op, Dims dims) {
    if ((dims[0] && llvm::is_contained(op.getLhsContract(), *dims[0])) ||
        (dims[1] && llvm::is_contained(op.getRhsContract(), *dims[1])))
      return mixes(op);
    auto place = [](ArrayRef<int64_t> list,
                    int64_t dim) -> std::optional<int64_t> {
      const int64_t *found = llvm::find(list, dim);
      return found == list.end() ? std::nullopt
                                 : std::optional<int64_t>(found - list.begin());
    };
    std::optional<int64_t> left, right;
    if (dims[0]) {
      left = place(op.getLhsBatch(), *dims[0]);
      if (!left)
        left = op.getLhsBatch().size() + *place(op.getLhsFree(), *dims[0]);
    }
    if (dims[1]) {
      right = place(op.getRhsBatch(), *dims[1]);
      if (!right)
        right = op.getLhsBatch().size() + op.getLhsFree().size() +
                *place(op.getRhsFree(), *dims[1]);
    }
    // Every row against every row: what uses the second set of rows is not
    // followed.
    if (left && right && *left != *right)
      return success();
    return carry(op, left ? *left : *right);
  }

  int64_t batch;
  DenseMap<Value, int64_t> rows;
};

} // namespace

LogicalResult checkRowsIndependent(func::FuncOp function, Value output,
                                   int64_t batch) {
  if (batch < 2)
    return success();
  // Only what the output is computed from matters.
  llvm::SetVector<Operation *> needed;
  SmallVector<Operation *> work;
  if (Operation *source = output.getDefiningOp())
    work.push_back(source);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!needed.insert(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        work.push_back(source);
  }
  RowTracker tracker(batch);
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() > 0 && type.getDimSize(0) == batch &&
        function.getArgAttr(argument.getArgNumber(), SinterDialect::kInputAttr))
      tracker.start(argument);
  }
  for (Operation &op : function.getBody().front())
    if (needed.contains(&op) && failed(tracker.visit(&op)))
      return failure();
  return success();
}

} // namespace sinter::passes
