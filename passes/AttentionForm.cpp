//===- AttentionForm.cpp - attention as one library call ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/AttentionForm.h"
#include "passes/MatmulForm.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::passes {
namespace {

/// [batch, rows, depth] has one head.
struct HeadsShape {
  int64_t batch, heads, rows, depth;

  explicit HeadsShape(RankedTensorType type)
      : batch(type.getDimSize(0)),
        heads(type.getRank() == 4 ? type.getDimSize(1) : 1),
        rows(type.getShape().end()[-2]), depth(type.getShape().back()) {}
};

/// `view` of a value of `type` as heads; nothing where a dimension is more than
/// one loop, repeats, or is not aligned.
std::optional<HeadsView> asHeads(const StridedView &view, RankedTensorType type,
                                 int64_t alignment) {
  HeadsShape shape(type);
  HeadsView heads{view.base, view.offset, {}};
  ArrayRef<SmallVector<StridedLoop, 1>> dims = view.dims;
  // Of a dimension of size 1 the stride does not matter.
  auto strideOf = [&](ArrayRef<StridedLoop> loops, int64_t other) -> int64_t {
    return loops.empty() ? other : loops.size() == 1 ? loops[0].stride : 0;
  };
  if (strideOf(dims.back(), 1) != 1 || view.offset % alignment != 0)
    return std::nullopt;
  int64_t dense = shape.depth;
  heads.strides[2] = strideOf(dims.end()[-2], dense);
  dense *= shape.rows;
  heads.strides[1] = dims.size() == 4 ? strideOf(dims[1], dense) : dense;
  dense *= shape.heads;
  heads.strides[0] = strideOf(dims[0], dense);
  for (int64_t stride : heads.strides)
    if (stride < 1 || stride % alignment != 0)
      return std::nullopt;
  return heads;
}

/// Finds where operands come from and results go.
class Finder {
public:
  Finder(Operation *op, int64_t alignment) : op(op), alignment(alignment) {
    form.op = op;
  }

  AttentionForm find() {
    HeadsShape query(ir::tensorType(op->getOperand(0))),
        key(ir::tensorType(op->getOperand(1)));
    form.batch = query.batch;
    form.heads = query.heads;
    form.queries = query.rows;
    form.keys = key.rows;
    form.depth = query.depth;
    if (auto grad = dyn_cast<ir::AttentionGradOp>(op)) {
      for (Value operand : {grad.getQuery(), grad.getKey(), grad.getValue(),
                            grad.getOutput(), grad.getOutputGrad()})
        read(operand);
      members.insert(op);
      write({grad.getQueryGrad(), grad.getKeyGrad(), grad.getValueGrad()});
    } else {
      for (Value operand : op->getOperands())
        read(operand);
      members.insert(op);
      write(op->getResult(0));
    }
    form.members = members.takeVector();
    return form;
  }

private:
  void read(Value operand) {
    RankedTensorType type = ir::tensorType(operand);
    for (ViewDepth depth :
         {ViewDepth::loops, ViewDepth::oneLoop, ViewDepth::none}) {
      StridedView view = viewOf(operand, depth);
      std::optional<HeadsView> heads = asHeads(view, type, alignment);
      if (!heads)
        continue;
      members.insert(view.ops.begin(), view.ops.end());
      form.operands.push_back(*heads);
      return;
    }
    llvm_unreachable("a dense operand of aligned depth is aligned");
  }

  /// Follows `results`, of which each has one use, as far as all that lies in
  /// between is a matter of strides: reshapes, transposes, and one concat of
  /// all of them.
  void write(ArrayRef<Value> results) {
    SmallVector<SmallVector<Operation *>> paths(results.size());
    bool isJoined = results.size() == 1;
    Value joined = isJoined ? results[0] : Value();
    if (!isJoined) {
      joined = joinedBy(results, paths);
      isJoined = joined != nullptr;
    }
    if (!isJoined) {
      for (Value result : results)
        write(result);
      return;
    }
    // The farthest value whose bytes all results can be stored into.
    SmallVector<Value> stops = {joined};
    while (Operation *user = onlyMove(stops.back()))
      stops.push_back(user->getResult(0));
    for (Value stop : llvm::reverse(stops)) {
      SmallVector<HeadsView> views;
      for (Value result : results)
        if (std::optional<HeadsView> view = storedIn(result, stop))
          views.push_back(*view);
      if (views.size() != results.size())
        continue;
      form.results.append(views);
      for (ArrayRef<Operation *> path : paths)
        members.insert(path.begin(), path.end());
      for (Operation *user = stop.getDefiningOp();
           user && user != op && !members.contains(user);
           user = user->getOperand(0).getDefiningOp())
        tail.push_back(user);
      members.insert(tail.rbegin(), tail.rend());
      tail.clear();
      return;
    }
    for (Value result : results)
      write(result);
  }
  void write(Value result) { write(ArrayRef<Value>(result)); }

  /// The reshape or transpose that is the only user of `value`.
  static Operation *onlyMove(Value value) {
    if (!value.hasOneUse())
      return nullptr;
    Operation *user = *value.user_begin();
    return isa<ir::ReshapeOp, ir::TransposeOp>(user) ? user : nullptr;
  }

  /// The concat whose operands are what becomes of `results`, each once.
  static Value joinedBy(ArrayRef<Value> results,
                        MutableArrayRef<SmallVector<Operation *>> paths) {
    ir::ConcatOp concat;
    for (auto [result, path] : llvm::zip_equal(results, paths)) {
      Value value = result;
      while (Operation *user = onlyMove(value)) {
        path.push_back(user);
        value = user->getResult(0);
      }
      auto user = value.hasOneUse()
                      ? dyn_cast<ir::ConcatOp>(*value.user_begin())
                      : nullptr;
      if (!user || (concat && user != concat))
        return nullptr;
      concat = user;
    }
    if (concat->getNumOperands() != results.size())
      return nullptr;
    return concat.getResult();
  }

  /// Where the elements of `result` lie in the bytes of `stop`, which it is
  /// moved to.
  std::optional<HeadsView> storedIn(Value result, Value stop) {
    SmallVector<Value> way = {result};
    while (way.back() != stop)
      way.push_back((*way.back().user_begin())->getResult(0));
    StridedView view = viewOf(stop, ViewDepth::none);
    for (size_t i = way.size(); i-- > 1;) {
      std::optional<StridedView> before =
          operandView(way[i - 1], *way[i].getDefiningOp(), view);
      if (!before)
        return std::nullopt;
      view = *before;
    }
    view.base = stop;
    return asHeads(view, ir::tensorType(result), alignment);
  }

  Operation *op;
  int64_t alignment;
  AttentionForm form;
  llvm::SetVector<Operation *> members;
  SmallVector<Operation *> tail;
};

} // namespace

Value AttentionForm::stats() const {
  if (auto grad = dyn_cast<ir::AttentionGradOp>(op))
    return grad.getStats();
  return cast<ir::AttentionOp>(op).getStats();
}

SmallVector<Value> AttentionForm::stored() const {
  llvm::SetVector<Value> values;
  for (const HeadsView &result : results)
    values.insert(result.base);
  if (!isGradient() && !stats().use_empty())
    values.insert(stats());
  return values.takeVector();
}

bool isPlainAttention(Operation *op) {
  auto isPlain = [](auto attention) {
    RankedTensorType query = ir::tensorType(attention.getQuery());
    return !attention.getMask() &&
           (query.getRank() == 3 || query.getRank() == 4) &&
           ir::tensorType(attention.getValue()).getShape().back() ==
               query.getShape().back() &&
           query.getNumElements() != 0 &&
           ir::tensorType(attention.getKey()).getNumElements() != 0;
  };
  if (auto attention = dyn_cast<ir::AttentionOp>(op))
    return isPlain(attention);
  auto grad = dyn_cast<ir::AttentionGradOp>(op);
  return grad && isPlain(grad);
}

bool isLibraryAttention(Operation *op) {
  RankedTensorType query = ir::tensorType(op->getOperand(0));
  int64_t depth = query.getShape().back();
  return (query.getElementType().isF16() || query.getElementType().isBF16()) &&
         depth % kAttentionAlignment == 0 && depth <= 128;
}

AttentionForm attentionForm(Operation *op, int64_t alignment) {
  return Finder(op, alignment).find();
}

} // namespace sinter::passes
