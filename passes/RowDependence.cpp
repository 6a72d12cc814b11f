//===- RowDependence.cpp - which rows of a batch a value reads ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/RowDependence.h"

#include "ir/Tensor.h"
#include "passes/OpClasses.h"
#include "passes/ValueBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

using Dims = ArrayRef<std::optional<RowDim>>;
/// Where results have their rows; nothing: the op mixes them.
using Place = std::optional<RowDim>;

/// The rules. Each is asked only when an operand has rows and none is mixed.
class Rules {
public:
  explicit Rules(int64_t batch) : batch(batch) {}

  /// The place of all results.
  Place of(Operation *op, Dims dims) const {
    Place place;
    if (isElementwise(op) || isa<DropoutOp, CopyOp>(op))
      place = common(dims);
    else
      (void)visit(op, [&](auto known) { place = rule(known, dims); });
    return place;
  }
  static bool has(Operation *op) {
    return isElementwise(op) || isa<DropoutOp, CopyOp>(op) ||
           visit(op, [](auto) {});
  }

private:
  /// Calls `visitor` with an op that has a rule of its own; false for others.
  static bool visit(Operation *op, auto &&visitor) {
    return TypeSwitch<Operation *, bool>(op)
        .Case<SoftmaxOp, LogSoftmaxOp, CumulativeOp, TopKOp, ArgReduceOp,
              SoftmaxCrossEntropyOp, ReduceOp, BroadcastOp, ReshapeOp,
              TransposeOp, DotGeneralOp, ConvOp, ConvInputGradOp, BatchNormOp,
              GroupNormOp, LayerNormOp, AttentionOp, AttentionGradOp,
              ReduceWindowOp, ReduceWindowGradOp, SliceOp, PadOp, ReverseOp,
              ConcatOp, GatherOp, GatherElementsOp, GatherNdOp, ScatterOp,
              ScatterElementsOp, ScatterNdOp>([&](auto known) {
          visitor(known);
          return true;
        })
        .Default([](Operation *) { return false; });
  }
  static Place at(const RowDim &rows, int64_t dim) {
    return RowDim{dim, rows.outer, rows.inner};
  }
  /// The place that all operands with rows have in common.
  static Place common(Dims dims) {
    Place place;
    for (const auto &dim : dims) {
      if (dim && place && !(*dim == *place))
        return {};
      if (dim)
        place = dim;
    }
    return place;
  }
  /// The same, where none is along `axis`.
  static Place beside(int64_t axis, Dims dims) {
    Place place = common(dims);
    return place && place->dim == axis ? Place() : place;
  }
  static Place dropped(Place place, int64_t axis) {
    return place ? at(*place, place->dim - (axis < place->dim)) : place;
  }
  /// The place of the first operand, where no other one has rows.
  static Place onlyFirst(Dims dims) {
    for (const auto &other : dims.drop_front())
      if (other)
        return {};
    return dims.front();
  }
  static int64_t sizeOf(Value value, int64_t dim) {
    return tensorType(value).getDimSize(dim);
  }

  Place rule(SoftmaxOp op, Dims dims) const {
    return beside(op.getAxis(), dims);
  }
  Place rule(LogSoftmaxOp op, Dims dims) const {
    return beside(op.getAxis(), dims);
  }
  Place rule(CumulativeOp op, Dims dims) const {
    return beside(op.getAxis(), dims);
  }
  Place rule(TopKOp op, Dims dims) const { return beside(op.getAxis(), dims); }
  Place rule(ArgReduceOp op, Dims dims) const {
    return dropped(beside(op.getAxis(), dims), op.getAxis());
  }
  Place rule(SoftmaxCrossEntropyOp op, Dims dims) const {
    auto axis = static_cast<int64_t>(op.getAxis());
    Place logits = dropped(beside(axis, dims[0]), axis);
    return dims[0] && !logits ? Place() : common({logits, dims[1]});
  }
  Place rule(ReduceOp op, Dims dims) const {
    if (llvm::is_contained(op.getDims(), dims[0]->dim))
      return {};
    return at(*dims[0],
              dims[0]->dim - llvm::count_if(op.getDims(), [&](int64_t dim) {
                return dim < dims[0]->dim;
              }));
  }
  Place rule(BroadcastOp op, Dims dims) const {
    return at(*dims[0], op.getDims()[dims[0]->dim]);
  }
  Place rule(TransposeOp op, Dims dims) const {
    return at(*dims[0], inversePermutation(op.getPerm())[dims[0]->dim]);
  }
  Place rule(ReverseOp op, Dims dims) const {
    return llvm::is_contained(op.getDims(), dims[0]->dim) ? Place() : dims[0];
  }

  /// Row-major order is kept: element f of the tensor, counted so, is of row
  /// (f / below) % batch before and after.
  Place rule(ReshapeOp op, Dims dims) const {
    ArrayRef<int64_t> from = tensorType(op.getX()).getShape(),
                      to = tensorType(op.getResult()).getShape();
    int64_t below = dims[0]->inner;
    for (int64_t size : from.drop_front(dims[0]->dim + 1))
      below *= size;
    int64_t after = 1;
    for (auto i = static_cast<int64_t>(to.size()); i-- > 0;) {
      int64_t inner = below / after;
      if (below % after == 0 && inner > 0 && to[i] % (inner * batch) == 0 &&
          to[i] > 0)
        return RowDim{i, to[i] / (inner * batch), inner};
      after *= to[i];
    }
    return {};
  }

  Place rule(DotGeneralOp op, Dims dims) const {
    auto find = [](ArrayRef<int64_t> list, int64_t dim) -> int64_t {
      const auto *found = llvm::find(list, dim);
      return found == list.end() ? -1 : found - list.begin();
    };
    const auto numBatch = static_cast<int64_t>(op.getLhsBatch().size()),
               numLeft = static_cast<int64_t>(op.getLhsFree().size());
    auto follow = [&](const Place &place, ArrayRef<int64_t> batched,
                      ArrayRef<int64_t> free, int64_t first) -> Place {
      if (int64_t i = find(batched, place->dim); i >= 0)
        return at(*place, i);
      if (int64_t i = find(free, place->dim); i >= 0)
        return at(*place, first + i);
      return {}; // contracted
    };
    Place left, right;
    if (dims[0] &&
        !(left = follow(dims[0], op.getLhsBatch(), op.getLhsFree(), numBatch)))
      return {};
    if (dims[1] && !(right = follow(dims[1], op.getRhsBatch(), op.getRhsFree(),
                                    numBatch + numLeft)))
      return {};
    // Otherwise every row of one meets every row of the other.
    return common({left, right});
  }

  /// Examples are dimension 0 of these.
  Place examples(Dims dims) const {
    Place place = onlyFirst(dims);
    return place && place->dim == 0 ? place : Place();
  }
  Place rule(ConvOp, Dims dims) const { return examples(dims); }
  Place rule(ConvInputGradOp, Dims dims) const { return examples(dims); }
  Place rule(GroupNormOp, Dims dims) const { return examples(dims); }
  Place rule(BatchNormOp, Dims dims) const { return onlyFirst(dims); }
  Place rule(LayerNormOp op, Dims dims) const {
    Place place = onlyFirst(dims);
    return place && place->dim < static_cast<int64_t>(op.getAxis()) ? place
                                                                    : Place();
  }

  /// Rows are problems of their own, or queries.
  Place rule(AttentionOp op, Dims dims) const {
    Place place = common(dims);
    int64_t queries = tensorType(op.getQuery()).getRank() - 2;
    if (place && (place->dim < queries ||
                  (place->dim == queries && !dims[1] && !dims[2])))
      return place;
    return {};
  }
  Place rule(AttentionGradOp op, Dims dims) const {
    // Gradients of what all rows share are sums over rows.
    Place place = common(dims);
    bool allHave = llvm::all_of(dims.take_front(6),
                                [](const auto &dim) { return bool(dim); });
    return allHave && place &&
                   place->dim < tensorType(op.getQuery()).getRank() - 2 &&
                   (!op.getMask() || dims[6])
               ? place
               : Place();
  }

  template <typename Window> static Place windows(Window op, Place place) {
    if (!place)
      return place;
    int64_t i = place->dim;
    bool stays = op.getWindow()[i] == 1 && op.getStrides()[i] == 1 &&
                 op.getPadsLow()[i] == 0 && op.getPadsHigh()[i] == 0;
    return stays ? place : Place();
  }
  Place rule(ReduceWindowOp op, Dims dims) const {
    return windows(op, dims[0]);
  }
  Place rule(ReduceWindowGradOp op, Dims dims) const {
    return windows(op, common(dims));
  }

  Place rule(SliceOp op, Dims dims) const {
    return sizeOf(op.getResult(), dims[0]->dim) ==
                   sizeOf(op.getX(), dims[0]->dim)
               ? dims[0]
               : Place();
  }
  Place rule(PadOp op, Dims dims) const {
    Place place = onlyFirst(dims);
    return place && sizeOf(op.getResult(), place->dim) ==
                        sizeOf(op.getX(), place->dim)
               ? place
               : Place();
  }
  Place rule(ConcatOp op, Dims dims) const {
    return beside(op.getAxis(), dims);
  }

  Place rule(GatherOp op, Dims dims) const {
    auto axis = static_cast<int64_t>(op.getAxis());
    int64_t more = tensorType(op.getIndices()).getRank() - 1;
    if (dims[0] && (dims[1] || dims[0]->dim == axis))
      return {};
    if (dims[0])
      return at(*dims[0], dims[0]->dim + (axis < dims[0]->dim ? more : 0));
    return at(*dims[1], axis + dims[1]->dim);
  }
  Place rule(GatherElementsOp op, Dims dims) const {
    Place place = common(dims);
    if (!place || !dims[0])
      return place;
    return place->dim != static_cast<int64_t>(op.getAxis()) &&
                   sizeOf(op.getX(), place->dim) ==
                       sizeOf(op.getIndices(), place->dim)
               ? place
               : Place();
  }
  Place rule(GatherNdOp op, Dims dims) const {
    auto batched = static_cast<int64_t>(op.getBatchDims());
    int64_t last = tensorType(op.getIndices()).getRank() - 1;
    int64_t first = batched + sizeOf(op.getIndices(), last);
    if (dims[1] && dims[1]->dim == last)
      return {};
    if (!dims[0])
      return dims[1];
    if (dims[0]->dim < batched)
      return common(dims);
    if (dims[0]->dim >= first)
      return dims[1] ? Place() : at(*dims[0], last + dims[0]->dim - first);
    // Row r of the indices reads row r of the data only, as in
    // x[arange(batch), i].
    std::optional<int64_t> own =
        dims[0]->outer == 1 && dims[0]->inner == 1
            ? ownRowOfTuples(op.getIndices(), dims[0]->dim - batched)
            : std::nullopt;
    return own && *own < last ? common({RowDim{*own}, dims[1]}) : Place();
  }

  /// ownRow() of component `i` of the tuples along the last dimension of
  /// `indices`.
  std::optional<int64_t> ownRowOfTuples(Value indices, int64_t i) const {
    if (auto constant = indices.getDefiningOp<ConstantOp>())
      return ownRowOf(constant, tensorType(indices).getShape().back(), i);
    return ownRow(componentOf(indices, i));
  }
  /// Component `i` of tuples along the last dimension of `indices`.
  static Value componentOf(Value indices, int64_t i) {
    auto last = tensorType(indices).getRank() - 1;
    if (auto concat = indices.getDefiningOp<ConcatOp>();
        concat && static_cast<int64_t>(concat.getAxis()) == last)
      for (Value part : concat.getInputs()) {
        if (i < sizeOf(part, last))
          return componentOf(part, i);
        i -= sizeOf(part, last);
      }
    return sizeOf(indices, last) == 1 ? indices : Value();
  }
  /// The dimension, of size batch, along which the elements of `value` are the
  /// numbers 0, 1, .. of its rows.
  std::optional<int64_t> ownRow(Value value) const {
    Operation *op = value ? value.getDefiningOp() : nullptr;
    if (auto cast = dyn_cast_or_null<CastOp>(op))
      return ownRow(cast.getX());
    if (auto reshape = dyn_cast_or_null<ReshapeOp>(op)) {
      std::optional<int64_t> dim = ownRow(reshape.getX());
      Place place = dim ? rule(reshape, std::optional(RowDim{*dim})) : Place();
      return place && place->outer == 1 && place->inner == 1
                 ? std::optional(place->dim)
                 : std::nullopt;
    }
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
      std::optional<int64_t> dim = ownRow(broadcast.getX());
      return dim ? std::optional(broadcast.getDims()[*dim]) : dim;
    }
    if (auto iota = dyn_cast_or_null<IotaOp>(op);
        iota && sizeOf(value, iota.getAxis()) == batch)
      return iota.getAxis();
    if (auto constant = dyn_cast_or_null<ConstantOp>(op))
      return ownRowOf(constant);
    return std::nullopt;
  }
  /// Of every `step`-th number only, from number `first` on.
  std::optional<int64_t> ownRowOf(ConstantOp constant, int64_t step = 1,
                                  int64_t first = 0) const {
    RankedTensorType type = tensorType(constant.getResult());
    if (!isa<IntegerType>(type.getElementType()))
      return std::nullopt;
    FailureOr<Tensor> tensor = Tensor::fromAttr(constant.getValue());
    SmallVector<int64_t> strides = rowMajorStrides(type.getShape());
    for (int64_t dim = 0; succeeded(tensor) && dim < type.getRank(); ++dim) {
      bool isOwn = type.getDimSize(dim) == batch;
      for (int64_t i = first; isOwn && i < tensor->size(); i += step)
        isOwn = tensor->ints[i] == i / strides[dim] % batch;
      if (isOwn)
        return dim;
    }
    return std::nullopt;
  }

  Place rule(ScatterOp op, Dims dims) const {
    auto axis = static_cast<int64_t>(op.getAxis());
    int64_t more = tensorType(op.getIndices()).getRank() - 1;
    if (dims[1] || (dims[0] && dims[0]->dim == axis))
      return {};
    Place updates = dims[2];
    if (updates && updates->dim >= axis) {
      if (updates->dim <= axis + more)
        return {};
      updates = at(*updates, updates->dim - more);
    }
    return common({dims[0], updates});
  }
  Place rule(ScatterElementsOp op, Dims dims) const {
    return sameRows(op.getX(), op.getIndices(),
                    beside(static_cast<int64_t>(op.getAxis()), dims));
  }
  static Place sameRows(Value x, Value indices, Place place) {
    return place && sizeOf(x, place->dim) == sizeOf(indices, place->dim)
               ? place
               : Place();
  }
  Place rule(ScatterNdOp op, Dims dims) const {
    int64_t last = tensorType(op.getIndices()).getRank() - 1;
    int64_t tuple = sizeOf(op.getIndices(), last);
    if (dims[1] || (dims[0] && dims[0]->dim < tuple))
      return {};
    Place updates = dims[2];
    if (updates) {
      if (updates->dim < last)
        return {};
      updates = at(*updates, updates->dim - last + tuple);
    }
    return common({dims[0], updates});
  }

  int64_t batch;
};

/// Ops that mix rows wherever an operand has any: gradients by what rows share,
/// statistics of a batch, updates, what only later phases make, and those that
/// have no operands.
bool mixesAlways(Operation *op) {
  return isa<ConvFilterGradOp, BatchNormTrainingOp, SgdUpdateOp, AdamUpdateOp,
             LambUpdateOp, LionUpdateOp, AdagradUpdateOp, RmspropUpdateOp,
             MuonUpdateOp, AllReduceOp, IndexFaultOp, CumulativePartsOp,
             FusionOp, YieldOp, StateOp, ConstantOp, IotaOp>(op);
}

} // namespace

bool RowDependence::isClassified(Operation *op) {
  return Rules::has(op) || mixesAlways(op);
}

RowDependence::RowDependence(func::FuncOp function, int64_t batch) {
  if (batch < 2)
    return;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() > 0 && type.getDimSize(0) == batch &&
        function.getArgAttr(argument.getArgNumber(), SinterDialect::kInputAttr))
      rows[argument] = RowDim{0};
  }
  const Rules rules(batch);
  for (Operation &op : function.getBody().front()) {
    SmallVector<std::optional<RowDim>> dims;
    Operation *mixing = nullptr;
    for (Value operand : op.getOperands()) {
      dims.push_back(dimOf(operand));
      if (!mixing)
        mixing = mixedBy(operand);
    }
    bool hasRows = llvm::any_of(dims, [](auto dim) { return dim.has_value(); });
    if (!mixing && !hasRows)
      continue;
    Place place = mixing ? Place() : rules.of(&op, dims);
    for (Value result : op.getResults())
      if (place)
        rows[result] = *place;
      else
        mixed[result] = mixing ? mixing : &op;
  }
}

std::optional<RowDim> RowDependence::dimOf(Value value) const {
  auto found = rows.find(value);
  return found == rows.end() ? std::nullopt : std::optional(found->second);
}

Operation *RowDependence::mixedBy(Value value) const {
  return mixed.lookup(value);
}

} // namespace sinter::passes
