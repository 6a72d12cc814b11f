//===- AttentionForm.cpp - attention as one library call ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/AttentionForm.h"
#include "ir/Tensor.h"
#include "passes/MatmulForm.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace sinter::passes {
namespace {

/// The leading sizes [batch, heads] of an attention. A single dimension may
/// stand for both if a reshape joined them.
struct Leading {
  int64_t batch, heads;
};

/// The strides of `loops`, which run over batch and heads; nothing if they are
/// divided in another way. `dense` is the stride of dense heads.
std::optional<std::array<int64_t, 2>>
splitLeading(ArrayRef<StridedLoop> loops, Leading leading, int64_t dense) {
  if (loops.empty())
    return std::array{leading.heads * dense, dense};
  if (loops.size() == 1)
    return std::array{leading.heads * loops[0].stride, loops[0].stride};
  if (loops.size() == 2 && loops[1].size == leading.heads)
    return std::array{loops[0].stride, loops[1].stride};
  return std::nullopt;
}

/// `view` of a value of `type` as heads; nothing if it is divided in another
/// way, repeats elements, or is not aligned.
std::optional<HeadsView> asHeads(const StridedView &view, RankedTensorType type,
                                 Leading leading, int64_t alignment) {
  HeadsView heads{view.base, view.offset, {}};
  ArrayRef<SmallVector<StridedLoop, 1>> dims = view.dims;
  // The stride of a dimension of size 1 does not matter.
  auto strideOf = [&](ArrayRef<StridedLoop> loops, int64_t other) -> int64_t {
    return loops.empty() ? other : loops.size() == 1 ? loops[0].stride : 0;
  };
  if (strideOf(dims.back(), 1) != 1 || view.offset % alignment != 0)
    return std::nullopt;
  int64_t rows = type.getShape().end()[-2], depth = type.getShape().back();
  heads.strides[2] = strideOf(dims.end()[-2], depth);
  if (dims.size() == 3) {
    auto split = splitLeading(dims[0], leading, rows * depth);
    if (!split)
      return std::nullopt;
    heads.strides[0] = (*split)[0];
    heads.strides[1] = (*split)[1];
  } else {
    heads.strides[1] = strideOf(dims[1], rows * depth);
    heads.strides[0] = strideOf(dims[0], leading.heads * rows * depth);
  }
  for (int64_t stride : heads.strides)
    if (stride < 1 || stride % alignment != 0)
      return std::nullopt;
  return heads;
}

/// The mask of an attention or gradient; null if there is none.
Value maskOf(Operation *op) {
  if (auto grad = dyn_cast<ir::AttentionGradOp>(op))
    return grad.getMask();
  return cast<ir::AttentionOp>(op).getMask();
}

/// Finds the bases of operands and results.
class Finder {
public:
  Finder(Operation *op, int64_t alignment) : op(op), alignment(alignment) {
    form.op = op;
  }

  AttentionForm find() {
    ArrayRef<int64_t> query = ir::tensorType(op->getOperand(0)).getShape();
    form.batch = query[0];
    form.heads = query.size() == 4 ? query[1] : 1;
    form.queries = query[query.size() - 2];
    form.keys = ir::tensorType(op->getOperand(1)).getShape().end()[-2];
    form.depth = query.back();
    // The strides of an operand tell whether a dimension stands for two.
    if (query.size() == 3)
      for (Value operand : op->getOperands()) {
        StridedView view = viewOf(operand, ViewDepth::loops);
        if (view.dims.size() == 3 && view.dims[0].size() == 2) {
          form.batch = view.dims[0][0].size;
          form.heads = view.dims[0][1].size;
          break;
        }
      }
    if (Value mask = maskOf(op))
      readMask(mask);
    if (auto grad = dyn_cast<ir::AttentionGradOp>(op)) {
      for (Value operand : {grad.getQuery(), grad.getKey(), grad.getValue(),
                            grad.getOutput(), grad.getOutputGrad()})
        read(operand);
      members.insert(op);
      write({grad.getQueryGrad(), grad.getKeyGrad(), grad.getValueGrad()});
    } else {
      auto attention = cast<ir::AttentionOp>(op);
      for (Value operand :
           {attention.getQuery(), attention.getKey(), attention.getValue()})
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
      std::optional<HeadsView> heads =
          asHeads(view, type, {form.batch, form.heads}, alignment);
      if (!heads)
        continue;
      members.insert(view.ops.begin(), view.ops.end());
      form.operands.push_back(*heads);
      return;
    }
    llvm_unreachable("a dense operand of aligned depth is aligned");
  }

  /// Like read, but elements may repeat.
  void readMask(Value mask) {
    for (ViewDepth depth :
         {ViewDepth::loops, ViewDepth::oneLoop, ViewDepth::none}) {
      StridedView view = viewOf(mask, depth);
      std::optional<HeadsView> heads = asMask(view);
      if (!heads)
        continue;
      members.insert(view.ops.begin(), view.ops.end());
      form.mask = *heads;
      return;
    }
    llvm_unreachable("a dense mask is one");
  }

  std::optional<HeadsView> asMask(const StridedView &view) const {
    HeadsView heads{view.base, view.offset, {}};
    ArrayRef<SmallVector<StridedLoop, 1>> dims = view.dims;
    // The stride of a dimension of size 1 does not matter.
    auto strideOf = [&](ArrayRef<StridedLoop> loops) {
      return loops.empty()       ? std::optional<int64_t>(0)
             : loops.size() == 1 ? std::optional(loops[0].stride)
                                 : std::nullopt;
    };
    std::optional<int64_t> row = strideOf(dims.end()[-2]);
    if (!row || (form.keys > 1 && strideOf(dims.back()) != 1))
      return std::nullopt;
    heads.strides[2] = *row;
    if (dims.size() == 3) {
      auto split = splitLeading(dims[0], {form.batch, form.heads}, 0);
      if (!split)
        return std::nullopt;
      heads.strides[0] = (*split)[0];
      heads.strides[1] = (*split)[1];
      return heads;
    }
    std::optional<int64_t> head = strideOf(dims[1]), batch = strideOf(dims[0]);
    if (!head || !batch)
      return std::nullopt;
    heads.strides[0] = *batch;
    heads.strides[1] = *head;
    return heads;
  }

  /// Follows `results`, each of which has one use, as long as strides can
  /// express the ops: reshapes, transposes, and one concat of all results.
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
    // Use the farthest value into which all results can be stored.
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

  /// The concat whose operands are `results` after moves, each once; null if
  /// there is none.
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

  /// The position of the elements of `result` in the bytes of `stop`, to which
  /// moves lead.
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
    return asHeads(view, ir::tensorType(result), {form.batch, form.heads},
                   alignment);
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

/// True when the gradient of the mask is used. An attention and its gradients
/// get the same answer.
static bool wantsMaskGrad(Operation *op) {
  auto isWanted = [](ir::AttentionGradOp grad) {
    return grad.getMaskGrad() && !grad.getMaskGrad().use_empty();
  };
  if (auto grad = dyn_cast<ir::AttentionGradOp>(op))
    return isWanted(grad);
  return llvm::any_of(cast<ir::AttentionOp>(op).getStats().getUsers(),
                      [&](Operation *user) {
                        auto grad = dyn_cast<ir::AttentionGradOp>(user);
                        return grad && isWanted(grad);
                      });
}

namespace {
struct Interval {
  double low, high;
};
} // namespace

/// The range of the elements of `value`, if it is computed from constants and
/// flags (converted booleans and integers, taken as 0 or 1) by selections, sums
/// and products; else nullopt.
static std::optional<Interval> rangeOf(Value value, int depth = 0) {
  constexpr int deepest = 12;
  Operation *op = value.getDefiningOp();
  if (!op || depth > deepest)
    return std::nullopt;
  if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
    FailureOr<ir::Tensor> tensor = ir::Tensor::fromAttr(constant.getValue());
    if (failed(tensor) || !tensor->isFloat() || tensor->floats.empty() ||
        !llvm::all_of(tensor->floats,
                      [](double x) { return std::isfinite(x); }))
      return std::nullopt;
    auto [low, high] =
        std::minmax_element(tensor->floats.begin(), tensor->floats.end());
    return Interval{*low, *high};
  }
  if (isa<ir::CastOp>(op) &&
      isa<IntegerType>(ir::tensorType(op->getOperand(0)).getElementType()))
    return Interval{0, 1};
  if (!isa<ir::CastOp, ir::WhereOp, ir::ReshapeOp, ir::TransposeOp,
           ir::BroadcastOp, ir::SliceOp, ir::ConcatOp, ir::AddOp, ir::SubOp,
           ir::MulOp, ir::MaxOp, ir::MinOp, ir::NegOp>(op))
    return std::nullopt;
  std::optional<Interval> result;
  for (Value operand : op->getOperands().drop_front(isa<ir::WhereOp>(op))) {
    std::optional<Interval> own = rangeOf(operand, depth + 1);
    if (!own)
      return std::nullopt;
    if (isa<ir::NegOp>(op) || (result && isa<ir::SubOp>(op)))
      own = Interval{-own->high, -own->low};
    if (!result) {
      result = own;
    } else if (isa<ir::AddOp, ir::SubOp>(op)) {
      result = Interval{result->low + own->low, result->high + own->high};
    } else if (isa<ir::MulOp>(op)) {
      auto [low, high] =
          std::minmax({result->low * own->low, result->low * own->high,
                       result->high * own->low, result->high * own->high});
      result = Interval{low, high};
    } else {
      result = Interval{std::min(result->low, own->low),
                        std::max(result->high, own->high)};
    }
  }
  // Intermediate values must not overflow their type, either.
  Type type = ir::tensorType(value).getElementType();
  auto floats = dyn_cast<FloatType>(type);
  if (!floats)
    return std::nullopt;
  double most =
      llvm::APFloat::getLargest(floats.getFloatSemantics()).convertToDouble();
  if (result->low < -most || result->high > most)
    return std::nullopt;
  return result;
}

static bool isFinite(Value value) { return rangeOf(value).has_value(); }

/// True for masks that libraries take: none, or one in float32 without a
/// gradient.
static bool isPlainMask(Operation *op, Value mask) {
  return !mask ||
         (ir::tensorType(mask).getElementType().isF32() && !wantsMaskGrad(op));
}

bool isPlainAttention(Operation *op) {
  auto isPlain = [&](auto attention) {
    RankedTensorType query = ir::tensorType(attention.getQuery());
    return isPlainMask(op, attention.getMask()) &&
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

int64_t attentionScratchBytes(int64_t batch, int64_t heads, int64_t queries,
                              int64_t keys) {
  constexpr uint64_t kBlock = 128, kShare = 64 * sizeof(float), kUnit = 256;
  auto product = [](std::initializer_list<uint64_t> factors) {
    uint64_t result = 1;
    for (uint64_t factor : factors)
      result = llvm::SaturatingMultiply(result, factor);
    // More than any memory, yet small enough to be added up.
    return std::min(result, uint64_t(1) << 60);
  };
  uint64_t sequences = product({uint64_t(batch), uint64_t(heads)}),
           blocks = llvm::divideCeil(keys, kBlock),
           lines =
               llvm::alignTo(product({sequences, uint64_t(queries), 4}), kUnit),
           shares = product(
               {sequences, llvm::alignTo(queries, kBlock), blocks, kShare});
  return static_cast<int64_t>(lines + shares + kUnit);
}

bool hasFiniteMask(Operation *op) {
  Value mask = maskOf(op);
  return !mask || isFinite(mask);
}

static Type elementOf(Operation *attention) {
  return ir::tensorType(attention->getOperand(0)).getElementType();
}

bool isLibraryAttention(Operation *op) {
  int64_t depth = ir::tensorType(op->getOperand(0)).getShape().back();
  Type element = elementOf(op);
  return (element.isF32() || element.isF16() || element.isBF16()) &&
         depth % kAttentionAlignment == 0 && depth <= 128;
}

bool isNarrowAttention(Operation *op, FloatType narrow) {
  Type element = elementOf(op);
  return element.isF16() || element.isBF16() || (element.isF32() && narrow);
}

AttentionForm attentionForm(Operation *op, int64_t alignment) {
  return Finder(op, alignment).find();
}

} // namespace sinter::passes
