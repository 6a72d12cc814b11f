//===- Rows.cpp - how the rows of a batch pass through ops ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Those of ops that are not elementwise. An op is only asked if an operand has
// rows and none is mixed.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "ir/Dialect.h"

using namespace mlir;
using namespace sinter::ir;

/// The position of rows in operands and results. Nothing means, for an operand,
/// that it is the same for each batch; for results, that the op mixes rows.
using Place = std::optional<RowDim>;
using Dims = ArrayRef<Place>;

static Place at(const RowDim &rows, int64_t dim) {
  return RowDim{dim, rows.outer, rows.inner};
}
/// The common position of rows, if it is not along `axis`.
static Place beside(int64_t axis, Dims dims) {
  Place place = commonRows(dims);
  return place && place->dim == axis ? Place() : place;
}
static Place dropped(Place place, int64_t axis) {
  return place ? at(*place, place->dim - (axis < place->dim)) : place;
}
/// The position of the first operand, if no other one has rows.
static Place onlyFirst(Dims dims) {
  for (const auto &other : dims.drop_front())
    if (other)
      return {};
  return dims.front();
}
static int64_t sizeOf(Value value, int64_t dim) {
  return tensorType(value).getDimSize(dim);
}

//===----------------------------------------------------------------------===//
// Along an axis
//===----------------------------------------------------------------------===//

Place SoftmaxOp::getResultRows(Dims dims, int64_t) {
  return beside(getAxis(), dims);
}
Place LogSoftmaxOp::getResultRows(Dims dims, int64_t) {
  return beside(getAxis(), dims);
}
Place CumulativeOp::getResultRows(Dims dims, int64_t) {
  return beside(getAxis(), dims);
}
Place TopKOp::getResultRows(Dims dims, int64_t) {
  return beside(getAxis(), dims);
}
Place ConcatOp::getResultRows(Dims dims, int64_t) {
  return beside(getAxis(), dims);
}
Place ArgReduceOp::getResultRows(Dims dims, int64_t) {
  return dropped(beside(getAxis(), dims), getAxis());
}
Place SoftmaxCrossEntropyOp::getResultRows(Dims dims, int64_t) {
  auto axis = static_cast<int64_t>(getAxis());
  Place logits = dropped(beside(axis, dims[0]), axis);
  return dims[0] && !logits ? Place() : commonRows({logits, dims[1]});
}
Place ReduceOp::getResultRows(Dims dims, int64_t) {
  if (llvm::is_contained(getDims(), dims[0]->dim))
    return {};
  return at(*dims[0],
            dims[0]->dim - llvm::count_if(getDims(), [&](int64_t dim) {
              return dim < dims[0]->dim;
            }));
}

//===----------------------------------------------------------------------===//
// Elements in other places
//===----------------------------------------------------------------------===//

Place BroadcastOp::getResultRows(Dims dims, int64_t) {
  return at(*dims[0], getDims()[dims[0]->dim]);
}
Place TransposeOp::getResultRows(Dims dims, int64_t) {
  return at(*dims[0], inversePermutation(getPerm())[dims[0]->dim]);
}
Place ReverseOp::getResultRows(Dims dims, int64_t) {
  return llvm::is_contained(getDims(), dims[0]->dim) ? Place() : dims[0];
}
Place SliceOp::getResultRows(Dims dims, int64_t) {
  return sizeOf(getResult(), dims[0]->dim) == sizeOf(getX(), dims[0]->dim)
             ? dims[0]
             : Place();
}
Place PadOp::getResultRows(Dims dims, int64_t) {
  Place place = onlyFirst(dims);
  return place && sizeOf(getResult(), place->dim) == sizeOf(getX(), place->dim)
             ? place
             : Place();
}

/// Row-major order is kept: the element with row-major index f is of row (f /
/// below) % batch before and after.
Place ReshapeOp::getResultRows(Dims dims, int64_t batch) {
  ArrayRef<int64_t> from = tensorType(getX()).getShape(),
                    to = tensorType(getResult()).getShape();
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

//===----------------------------------------------------------------------===//
// Contractions, windows and normalizations
//===----------------------------------------------------------------------===//

Place DotGeneralOp::getResultRows(Dims dims, int64_t) {
  auto find = [](ArrayRef<int64_t> list, int64_t dim) -> int64_t {
    const auto *found = llvm::find(list, dim);
    return found == list.end() ? -1 : found - list.begin();
  };
  const auto numBatch = static_cast<int64_t>(getLhsBatch().size()),
             numLeft = static_cast<int64_t>(getLhsFree().size());
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
      !(left = follow(dims[0], getLhsBatch(), getLhsFree(), numBatch)))
    return {};
  if (dims[1] && !(right = follow(dims[1], getRhsBatch(), getRhsFree(),
                                  numBatch + numLeft)))
    return {};
  // Otherwise every row of one operand meets every row of the other.
  return commonRows({left, right});
}

/// The examples of these ops are dimension 0.
static Place examples(Dims dims) {
  Place place = onlyFirst(dims);
  return place && place->dim == 0 ? place : Place();
}
Place ConvOp::getResultRows(Dims dims, int64_t) { return examples(dims); }
Place ConvInputGradOp::getResultRows(Dims dims, int64_t) {
  return examples(dims);
}
Place GroupNormOp::getResultRows(Dims dims, int64_t) { return examples(dims); }
Place BatchNormOp::getResultRows(Dims dims, int64_t) { return onlyFirst(dims); }
Place LayerNormOp::getResultRows(Dims dims, int64_t) {
  Place place = onlyFirst(dims);
  return place && place->dim < static_cast<int64_t>(getAxis()) ? place
                                                               : Place();
}

/// Rows are independent problems, or queries.
Place AttentionOp::getResultRows(Dims dims, int64_t) {
  Place place = commonRows(dims);
  int64_t queries = tensorType(getQuery()).getRank() - 2;
  if (place &&
      (place->dim < queries || (place->dim == queries && !dims[1] && !dims[2])))
    return place;
  return {};
}
/// The gradient of an operand that all rows share is a sum over rows.
Place AttentionGradOp::getResultRows(Dims dims, int64_t) {
  Place place = commonRows(dims);
  bool allHave = llvm::all_of(dims.take_front(6),
                              [](const auto &dim) { return bool(dim); });
  return allHave && place &&
                 place->dim < tensorType(getQuery()).getRank() - 2 &&
                 (!getMask() || dims[6])
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
Place ReduceWindowOp::getResultRows(Dims dims, int64_t) {
  return windows(*this, dims[0]);
}
Place ReduceWindowGradOp::getResultRows(Dims dims, int64_t) {
  return windows(*this, commonRows(dims));
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

Place GatherOp::getResultRows(Dims dims, int64_t) {
  auto axis = static_cast<int64_t>(getAxis());
  int64_t more = tensorType(getIndices()).getRank() - 1;
  if (dims[0] && (dims[1] || dims[0]->dim == axis))
    return {};
  if (dims[0])
    return at(*dims[0], dims[0]->dim + (axis < dims[0]->dim ? more : 0));
  return at(*dims[1], axis + dims[1]->dim);
}

Place GatherElementsOp::getResultRows(Dims dims, int64_t) {
  Place place = commonRows(dims);
  if (!place || !dims[0])
    return place;
  return place->dim != static_cast<int64_t>(getAxis()) &&
                 sizeOf(getX(), place->dim) == sizeOf(getIndices(), place->dim)
             ? place
             : Place();
}

namespace {
/// Finds indices that are the numbers of the rows that they are in.
class OwnRows {
public:
  explicit OwnRows(int64_t batch) : batch(batch) {}

  /// ownRow() of component `i` of the tuples along the last dimension of
  /// `indices`.
  std::optional<int64_t> ofTuples(Value indices, int64_t i) const {
    if (auto constant = indices.getDefiningOp<ConstantOp>())
      return ownRowOf(constant, tensorType(indices).getShape().back(), i);
    return ownRow(componentOf(indices, i));
  }

private:
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
      Place place =
          dim ? reshape.getResultRows(Place(RowDim{*dim}), batch) : Place();
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
  /// ownRow() of every `step`-th element only, from element `first` on.
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

  int64_t batch;
};
} // namespace

Place GatherNdOp::getResultRows(Dims dims, int64_t batch) {
  auto batched = static_cast<int64_t>(getBatchDims());
  int64_t last = tensorType(getIndices()).getRank() - 1;
  int64_t first = batched + sizeOf(getIndices(), last);
  if (dims[1] && dims[1]->dim == last)
    return {};
  if (!dims[0])
    return dims[1];
  if (dims[0]->dim < batched)
    return commonRows(dims);
  if (dims[0]->dim >= first)
    return dims[1] ? Place() : at(*dims[0], last + dims[0]->dim - first);
  // Row r of the indices reads only row r of the data, as in x[arange(batch),
  // i].
  std::optional<int64_t> own =
      dims[0]->outer == 1 && dims[0]->inner == 1
          ? OwnRows(batch).ofTuples(getIndices(), dims[0]->dim - batched)
          : std::nullopt;
  return own && *own < last ? commonRows({RowDim{*own}, dims[1]}) : Place();
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

Place ScatterOp::getResultRows(Dims dims, int64_t) {
  auto axis = static_cast<int64_t>(getAxis());
  int64_t more = tensorType(getIndices()).getRank() - 1;
  if (dims[1] || (dims[0] && dims[0]->dim == axis))
    return {};
  Place updates = dims[2];
  if (updates && updates->dim >= axis) {
    if (updates->dim <= axis + more)
      return {};
    updates = at(*updates, updates->dim - more);
  }
  return commonRows({dims[0], updates});
}

Place ScatterElementsOp::getResultRows(Dims dims, int64_t) {
  Place place = beside(static_cast<int64_t>(getAxis()), dims);
  return place && sizeOf(getX(), place->dim) == sizeOf(getIndices(), place->dim)
             ? place
             : Place();
}

Place ScatterNdOp::getResultRows(Dims dims, int64_t) {
  int64_t last = tensorType(getIndices()).getRank() - 1;
  int64_t tuple = sizeOf(getIndices(), last);
  if (dims[1] || (dims[0] && dims[0]->dim < tuple))
    return {};
  Place updates = dims[2];
  if (updates) {
    if (updates->dim < last)
      return {};
    updates = at(*updates, updates->dim - last + tuple);
  }
  return commonRows({dims[0], updates});
}
