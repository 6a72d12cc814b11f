//===- MaskPadding.cpp - compute on padded columns ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The result of a padded product (ContractionPadding.h) is cut to its size, and
// what is computed from it is often padded again for the next product. The
// logits of GPT-2 have 50264 columns in memory, of which 50257 count. Rows that
// are cut are not aligned, and padding them again is a copy. Here the ops in
// between compute on all columns. A column that does not count may hold
// anything, even NaN. It is masked where it matters: a reduction over columns
// reads its neutral element there, and where columns were padded the padding
// value is chosen.
//
// This is legal for ops through which columns pass as rows do
// (RowsOpInterface). It ends at such reductions and paddings, and at products
// with other dimensions, whose results are cut. Other results have to be cut,
// too. It is done if that copies little.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/Resize.h"
#include "passes/layout/ContractionPadding.h"
#include "passes/simplify/CommonSubexpressions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_MASKPADDING
#include "passes/Passes.h.inc"

namespace {

/// A value that has at most this share of the elements of the logits is small:
/// to copy it costs little.
constexpr int64_t kSmallShare = 16;

int64_t elementsOf(Value value) {
  return ir::tensorType(value).getNumElements();
}

/// The number that does not change a reduction. Nothing for the greatest and
/// the least integer.
std::optional<double> neutralElement(ir::ReduceKind kind, Type element) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case ir::ReduceKind::sum:
  case ir::ReduceKind::any:
    return 0;
  case ir::ReduceKind::prod:
  case ir::ReduceKind::all:
    return 1;
  case ir::ReduceKind::max:
  case ir::ReduceKind::min:
    if (!isa<FloatType>(element))
      return std::nullopt;
    return kind == ir::ReduceKind::max ? -kInfinity : kInfinity;
  }
  llvm_unreachable("unknown reduction kind");
}

/// What a reduction over `dim` may read in columns that do not count; nothing
/// for other ops.
std::optional<double> neutralOf(Operation *op, int64_t dim) {
  if (auto reduce = dyn_cast<ir::ReduceOp>(op);
      reduce && llvm::is_contained(reduce.getDims(), dim))
    return neutralElement(reduce.getKind(),
                          reduce.getX().getType().getElementType());
  // The last one of equal elements might be a column that does not count.
  if (auto reduce = dyn_cast<ir::ArgReduceOp>(op);
      reduce && static_cast<int64_t>(reduce.getAxis()) == dim &&
      !reduce.getSelectLast())
    return neutralElement(reduce.getKind(),
                          reduce.getX().getType().getElementType());
  return std::nullopt;
}

bool isAll(ArrayRef<int64_t> list, int64_t number) {
  return llvm::all_of(list, [&](int64_t n) { return n == number; });
}

/// The only dimension that `slice` cuts, and only its end.
std::optional<int64_t> cutDim(ir::SliceOp slice) {
  std::optional<int64_t> cut;
  for (auto [dim, size] : llvm::enumerate(slice.getX().getType().getShape()))
    if (slice.getLimits()[dim] != size) {
      if (cut)
        return std::nullopt;
      cut = dim;
    }
  return isAll(slice.getStarts(), 0) && isAll(slice.getStrides(), 1)
             ? cut
             : std::nullopt;
}

/// The dimension along which `slice` cuts what padding has added to a product;
/// nothing for other slices.
std::optional<int64_t> cutsPadding(ir::SliceOp slice) {
  Operation *made = slice.getX().getDefiningOp();
  if (auto cast = dyn_cast_or_null<ir::CastOp>(made))
    made = cast.getX().getDefiningOp();
  auto dot = dyn_cast_or_null<ir::DotGeneralOp>(made);
  std::optional<int64_t> dim = cutDim(slice);
  return dot && dim &&
                 slice.getX().getType().getDimSize(*dim) -
                         slice.getType().getDimSize(*dim) <
                     tensorCoreAlignment(dot)
             ? dim
             : std::nullopt;
}

/// The columns of a product that was cut, and the ops that they pass through.
class Columns {
public:
  Columns(ir::SliceOp slice, int64_t dim)
      : root(slice), size(slice.getType().getDimSize(dim)),
        padded(slice.getX().getType().getDimSize(dim)) {
    dims.insert({root.getResult(), dim});
    auto end = root->getBlock()->end();
    for (Operation &op : llvm::make_range(std::next(root->getIterator()), end))
      follow(&op);
  }

  /// Why they stay as they are; empty if they should be masked.
  std::string objection() const {
    // Elements that are stored and read once less, and once more.
    int64_t saved = 0, copied = 0, most = 0;
    Operation *largest = nullptr;
    auto copy = [&](Value value, Operation *op) {
      copied += elementsOf(value);
      if (elementsOf(value) > most)
        largest = op;
      most = std::max(most, elementsOf(value));
    };
    bool isReduced = false;
    for (Operation *op : ops) {
      if (!ends.contains(op))
        continue;
      isReduced |= ir::isReduction(op);
      if (auto pad = dyn_cast<ir::PadOp>(op))
        saved += elementsOf(pad.getX());
      if (isa<ir::DotGeneralOp>(op))
        copy(op->getResult(0), op);
    }
    for (auto &[value, user] : cuts)
      if (value != root->getResult(0))
        copy(value, user);
    if (saved == 0 && !isReduced)
      return "no reduction over the columns and no padding follows";
    // Aligned rows alone save little.
    if (largest &&
        copied >= std::max(saved, elementsOf(root->getResult(0)) / kSmallShare))
      return "'" + largest->getName().getStringRef().str() +
             "' needs a large value without padding";
    if (saved == 0 &&
        dims.front().second != ir::tensorType(root->getResult(0)).getRank() - 1)
      return "rows are aligned, too, without the padding";
    return "";
  }

  // Pattern: reduce(f(slice(x))) -> reduce(where(column < n, f(x), neutral)),
  //          pad(f(slice(x)), v) -> where(column < n, f(x), v),
  //          dot(f(slice(x)), y) -> slice(dot(f(x), y))
  void mask() {
    OpBuilder b(root);
    wide.insert({{root.getResult(), dims.front().second}, root.getX()});
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      if (!ends.contains(op))
        widen(b, op);
      else if (!replaced.contains(op->getResult(0)))
        replaced.insert({op->getResult(0), endOf(b, op)});
    }
    for (auto &[value, user] : cuts)
      if (value != root.getResult()) {
        Value all = wide.lookup({value, dims.lookup(value)});
        b.setInsertionPointAfter(all.getDefiningOp());
        replaced.insert({value, cut(b, all, ir::tensorType(value))});
      }
    for (auto [value, replacement] : replaced)
      Value(value).replaceAllUsesWith(replacement);
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty())
        op->erase();
    if (root->use_empty())
      root->erase();
  }

private:
  //===--------------------------------------------------------------------===//
  // Which ops
  //===--------------------------------------------------------------------===//

  bool isSmall(Value value) const {
    return elementsOf(value) * kSmallShare <= elementsOf(root->getResult(0));
  }
  bool hasColumns(Value value) const { return dims.contains(value); }

  void follow(Operation *op) {
    bool isReader = false;
    op->walk([&](Operation *inner) {
      isReader |= llvm::any_of(inner->getOperands(), [&](Value operand) {
        return hasColumns(operand);
      });
    });
    if (!isReader)
      return;
    if (std::optional<int64_t> dim = dimOfResults(op)) {
      for (Value result : op->getResults())
        dims.insert({result, *dim});
      ops.push_back(op);
    } else if (isEnd(op)) {
      ops.push_back(op);
      ends.insert(op);
    } else {
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (hasColumns(operand))
            cuts.insert({operand, op});
      });
    }
  }

  /// The dimension along which the results of `op` can have all columns, too.
  std::optional<int64_t> dimOfResults(Operation *op) {
    if (isElementwise(op)) {
      Value first = *llvm::find_if(op->getOperands(), [&](Value operand) {
        return hasColumns(operand);
      });
      int64_t dim = dims.lookup(first);
      if (llvm::all_of(op->getOperands(),
                       [&](Value operand) { return canWiden(operand, dim); }))
        return dim;
      return std::nullopt;
    }
    if (!mapsOneOperand(op) || !hasColumns(op->getOperand(0)) ||
        llvm::any_of(op->getOperands().drop_front(),
                     [&](Value operand) { return hasColumns(operand); }))
      return std::nullopt;
    return passedOn(op);
  }

  /// Where the results of `op` have their columns, given those of the only
  /// operand with columns.
  std::optional<int64_t> passedOn(Operation *op) const {
    SmallVector<std::optional<ir::RowDim>> operands;
    for (Value operand : op->getOperands())
      operands.push_back(hasColumns(operand)
                             ? std::optional(ir::RowDim{dims.lookup(operand)})
                             : std::nullopt);
    std::optional<ir::RowDim> result =
        cast<ir::RowsOpInterface>(op).getResultRows(operands, size);
    // Elements of other dimensions between the columns would be moved.
    if (!result || result->outer != 1 || result->inner != 1)
      return std::nullopt;
    return result->dim;
  }

  /// Whether `op` is a reduction over columns, pads them to their number, or is
  /// a product that has them in its result.
  bool isEnd(Operation *op) const {
    if (auto dot = dyn_cast<ir::DotGeneralOp>(op))
      return hasColumns(dot.getLhs()) != hasColumns(dot.getRhs()) &&
             dot.getLhsBatch().empty() && passedOn(dot);
    if (op->getNumOperands() == 0 || !hasColumns(op->getOperand(0)))
      return false;
    int64_t dim = dims.lookup(op->getOperand(0));
    if (neutralOf(op, dim))
      return true;
    auto pad = dyn_cast<ir::PadOp>(op);
    return pad && pad.getType() == wideType(pad.getX(), dim) &&
           isAll(pad.getLow(), 0) && isAll(pad.getInterior(), 0);
  }

  /// Whether `value` has columns, or can be made with all of them for nothing
  /// or by a small copy.
  bool canWiden(Value value, int64_t dim) {
    if (hasColumns(value))
      return dims.lookup(value) == dim;
    auto [known, isNew] = widenable.try_emplace({value, dim}, false);
    if (!isNew)
      return known->second;
    bool can = isSmall(value) || canMakeWide(value.getDefiningOp(), dim);
    return widenable[{value, dim}] = can;
  }
  bool canMakeWide(Operation *op, int64_t dim) {
    if (!op)
      return false;
    if (auto constant = dyn_cast<ir::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    if (auto broadcast = dyn_cast<ir::BroadcastOp>(op)) {
      std::optional<int64_t> from = sourceDim(broadcast, dim);
      return !from || canWiden(broadcast.getX(), *from);
    }
    return isa<ir::IotaOp>(op) ||
           (isElementwise(op) && !isSmall(op->getResult(0)) &&
            llvm::all_of(op->getOperands(), [&](Value operand) {
              return canWiden(operand, dim);
            }));
  }

  /// The dimension of the operand whose elements are the columns; nothing if
  /// each is repeated for all columns.
  std::optional<int64_t> sourceDim(ir::BroadcastOp op, int64_t dim) const {
    const auto *found = llvm::find(op.getDims(), dim);
    int64_t from = found - op.getDims().begin();
    return found == op.getDims().end() ||
                   op.getX().getType().getDimSize(from) != size
               ? std::nullopt
               : std::optional(from);
  }

  //===--------------------------------------------------------------------===//
  // The ops on all columns
  //===--------------------------------------------------------------------===//

  RankedTensorType wideType(Value value, int64_t dim) const {
    RankedTensorType type = ir::tensorType(value);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = padded;
    return type.clone(shape);
  }

  /// `value` with all columns along `dim`.
  Value wideOf(OpBuilder &b, Value value, int64_t dim) {
    if (Value known = wide.lookup({value, dim}))
      return known;
    Operation *op = value.getDefiningOp();
    Value made;
    if (!canMakeWide(op, dim)) {
      made = padSmall(b, value, dim);
    } else {
      SmallVector<Value> operands;
      if (auto broadcast = dyn_cast<ir::BroadcastOp>(op)) {
        std::optional<int64_t> from = sourceDim(broadcast, dim);
        operands.push_back(from ? wideOf(b, broadcast.getX(), *from)
                                : newest(broadcast.getX()));
      } else {
        for (Value operand : op->getOperands())
          operands.push_back(wideOf(b, operand, dim));
      }
      made = copyResized(b, op, operands, dim, padded)
                 ->getResult(cast<OpResult>(value).getResultNumber());
    }
    wide[{value, dim}] = made;
    return made;
  }

  Value padSmall(OpBuilder &b, Value value, int64_t dim) const {
    RankedTensorType type = ir::tensorType(value);
    SmallVector<int64_t> none(type.getRank(), 0), high = none;
    high[dim] = padded - size;
    Value zero = ir::splat(b, value.getLoc(),
                           RankedTensorType::get({}, type.getElementType()), 0);
    return b.create<ir::PadOp>(value.getLoc(), newest(value), zero, none, high,
                               none);
  }

  void widen(OpBuilder &b, Operation *op) {
    int64_t dim = dims.lookup(op->getResult(0));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isElementwise(op) ? wideOf(b, operand, dim)
                         : hasColumns(operand)
                             ? wideOf(b, operand, dims.lookup(operand))
                             : newest(operand));
    Operation *copied = copyResized(b, op, operands, dim, padded);
    for (auto [from, to] :
         llvm::zip_equal(op->getResults(), copied->getResults())) {
      wide[{from, dim}] = to;
      // Products with and without padding read the same value.
      for (Operation *user : from.getUsers())
        if (auto pad = dyn_cast<ir::PadOp>(user);
            pad && ends.contains(pad) &&
            pad.getValue().getDefiningOp<ir::ConstantOp>()) {
          wide[{from, dim}] = endOf(b, pad);
          replaced.insert({pad.getResult(), wide.lookup({from, dim})});
          break;
        }
    }
  }

  /// What replaces the result of `op`, at which columns end.
  Value endOf(OpBuilder &b, Operation *op) {
    Location loc = op->getLoc();
    if (isa<ir::DotGeneralOp>(op)) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(hasColumns(operand)
                               ? wideOf(b, operand, dims.lookup(operand))
                               : newest(operand));
      Operation *all = copyResized(b, op, operands, *passedOn(op), padded);
      return cut(b, all->getResult(0), ir::tensorType(op->getResult(0)));
    }
    Value x = op->getOperand(0);
    int64_t dim = dims.lookup(x);
    Value all = wideOf(b, x, dim);
    RankedTensorType type = ir::tensorType(all);
    std::optional<double> neutral = neutralOf(op, dim);
    Value other = neutral ? ir::splat(b, loc, type, *neutral)
                          : spread(b, newest(op->getOperand(1)), type);
    RankedTensorType index = type.clone(b.getI64Type());
    Value column = b.create<ir::IotaOp>(loc, index, static_cast<uint64_t>(dim)),
          limit = ir::splat(b, loc, index, static_cast<double>(size)),
          counts =
              b.create<ir::CompareOp>(loc, ir::CompareKind::lt, column, limit),
          chosen = b.create<ir::WhereOp>(loc, type, counts, all, other);
    if (!neutral)
      return chosen;
    Operation *reduced = b.clone(*op);
    reduced->setOperand(0, chosen);
    return reduced->getResult(0);
  }

  /// The scalar `value` as all elements of `type`.
  static Value spread(OpBuilder &b, Value value, RankedTensorType type) {
    auto constant = value.getDefiningOp<ir::ConstantOp>();
    if (!constant)
      return ir::broadcastInDim(b, value.getLoc(), value, type.getShape(), {});
    return b.create<ir::ConstantOp>(
        value.getLoc(),
        cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  }

  /// The part of `all` that has `type`.
  static Value cut(OpBuilder &b, Value all, RankedTensorType type) {
    SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
    return b.create<ir::SliceOp>(all.getLoc(), all, starts, type.getShape(),
                                 strides);
  }

  Value newest(Value value) const {
    const auto *found = replaced.find(value);
    return found == replaced.end() ? value : found->second;
  }

  ir::SliceOp root;
  int64_t size, padded;
  /// Where the values with columns that depend on the root have them.
  llvm::MapVector<Value, int64_t> dims;
  /// The ops that get all columns, in order, and those of them whose results
  /// have none of those that do not count.
  SmallVector<Operation *> ops;
  llvm::DenseSet<Operation *> ends;
  /// Values with columns that an op needs without padding, and that op.
  llvm::MapVector<Value, Operation *> cuts;
  llvm::DenseMap<std::pair<Value, int64_t>, bool> widenable;
  /// Values with all columns, and what replaces values.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> wide;
  llvm::MapVector<Value, Value> replaced;
};

class MaskPaddingPass : public impl::MaskPaddingBase<MaskPaddingPass> {
  void runOnOperation() override {
    // Other slices may be erased with what they are computed from.
    SmallVector<ir::SliceOp> slices;
    for (auto slice : getOperation().getOps<ir::SliceOp>())
      if (cutsPadding(slice))
        slices.push_back(slice);
    bool hasChanged = false;
    for (ir::SliceOp slice : slices) {
      std::optional<int64_t> dim = cutsPadding(slice);
      if (!dim)
        continue; // by now it reads another slice
      Columns columns(slice, *dim);
      std::string why = columns.objection();
      ir::remark("mask-padding", why.empty() ? "masked" : "not-masked",
                 slice.getLoc(), why);
      if (!why.empty())
        continue;
      columns.mask();
      hasChanged = true;
    }
    if (hasChanged)
      eliminateCommonSubexpressions(getOperation().getBody().front());
  }
};

} // namespace
} // namespace sinter::passes
