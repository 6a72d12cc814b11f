//===- Emit.cpp - building ops from unchecked operands --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Emit.h"

#include "compiler/base/Text.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace sinter::compiler {

/// No machine that this compiler targets can hold larger tensors.
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 40;

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Ints Emit::shapeOf(Value v) {
  return v ? ir::tensorType(v).getShape() : Ints();
}

Type Emit::elementOf(Value v) const {
  return v ? ir::tensorType(v).getElementType() : Type(b.getF32Type());
}

RankedTensorType Emit::typeOf(Ints shape, Type element) {
  int64_t bytes = ir::elementSizeBytes(element);
  bool isEmpty = llvm::is_contained(shape, 0);
  for (int64_t size : shape) {
    if (size < 0) {
      fail("a result would have the negative size " + std::to_string(size));
      return {};
    }
    if (llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes) ||
        bytes > kMaxTensorBytes) {
      fail("a result of shape " + shownShape(shape) +
           (isEmpty ? " is" : " would be") +
           " larger than any device's memory");
      return {};
    }
  }
  if (shape.size() > 32) {
    fail("a result would have rank " + std::to_string(shape.size()) +
         "; at most 32 is supported");
    return {};
  }
  return RankedTensorType::get(shape, element);
}

Value Emit::bounded(Value v) {
  return typeOf(shapeOf(v), elementOf(v)) ? v : Value();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Emit::splat(Ints shape, Type element, double value) {
  RankedTensorType type = typeOf(shape, element);
  return type ? ir::splat(b, loc, type, value) : Value();
}

Value Emit::splatLike(Value like, double value) {
  return like ? ir::splatLike(b, loc, like, value) : Value();
}

Value Emit::constant(const ir::Tensor &tensor) {
  return b.create<ir::ConstantOp>(loc, tensor.type(),
                                  tensor.toAttr("constant"));
}

Value Emit::ints(Ints values, Ints shape) {
  ir::Tensor tensor(RankedTensorType::get(shape, i64()));
  std::copy(values.begin(), values.end(), tensor.ints.begin());
  return constant(tensor);
}

Value Emit::floats(ArrayRef<double> values, Ints shape, Type element) {
  ir::Tensor tensor(RankedTensorType::get(shape, element));
  std::copy(values.begin(), values.end(), tensor.floats.begin());
  return constant(tensor);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

bool Emit::broadcastTogether(Value &x, Value &y) {
  if (!x || !y)
    return false;
  if (elementOf(x) != elementOf(y)) {
    fail("operands have the element types " + typeText(elementOf(x)) + " and " +
         typeText(elementOf(y)) + "; they must be equal");
    return false;
  }
  std::optional<Shape> shape = ir::broadcastShapes(shapeOf(x), shapeOf(y));
  if (!shape) {
    fail("shapes " + shownShape(shapeOf(x)) + " and " + shownShape(shapeOf(y)) +
         " do not broadcast to each other");
    return false;
  }
  x = broadcast(x, *shape);
  y = broadcast(y, *shape);
  return x && y;
}

Value Emit::compare(ir::CompareKind kind, Value x, Value y) {
  if (!broadcastTogether(x, y))
    return {};
  auto type = RankedTensorType::get(shapeOf(x), i1());
  return b.create<ir::CompareOp>(loc, type, kind, x, y);
}

Value Emit::where(Value condition, Value x, Value y) {
  if (!condition || !x || !y)
    return {};
  if (!isBool(condition))
    return fail("the condition has element type " +
                typeText(elementOf(condition)) + "; it must be bool");
  if (!broadcastTogether(x, y))
    return {};
  std::optional<Shape> shape =
      ir::broadcastShapes(shapeOf(x), shapeOf(condition));
  if (!shape)
    return fail("shapes " + shownShape(shapeOf(condition)) + " and " +
                shownShape(shapeOf(x)) + " do not broadcast to each other");
  x = broadcast(x, *shape);
  y = broadcast(y, *shape);
  condition = broadcast(condition, *shape);
  if (!x || !y || !condition)
    return {};
  return b.create<ir::WhereOp>(loc, x.getType(), condition, x, y);
}

Value Emit::cast(Value x, Type element) {
  return x ? ir::castTo(b, loc, x, element) : Value();
}

Value Emit::logicalNot(Value x) { return unary<ir::NotOp>(x); }

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

Value Emit::reshape(Value x, Ints shape) {
  if (!x)
    return {};
  RankedTensorType type = typeOf(shape, elementOf(x));
  if (!type)
    return {};
  if (type.getNumElements() != ir::tensorType(x).getNumElements())
    return fail("a tensor of shape " + shownShape(shapeOf(x)) +
                " cannot be reshaped to " + shownShape(shape));
  return ir::reshapeTo(b, loc, x, shape);
}

Value Emit::transpose(Value x, Ints perm) {
  if (!x)
    return {};
  Shape sorted(perm);
  llvm::sort(sorted);
  bool isPermutation = int64_t(perm.size()) == rankOf(x);
  for (size_t i = 0; isPermutation && i < sorted.size(); ++i)
    isPermutation = sorted[i] == int64_t(i);
  if (!isPermutation)
    return fail("perm " + shownShape(perm) + " is not a permutation of the " +
                std::to_string(rankOf(x)) + " dimensions");
  return ir::transposeTo(b, loc, x, perm);
}

/// Applies `repeat` to `x`. If `x` was widened from a 16-bit float, it is
/// widened after that instead, so that a library call can read the narrow value
/// as its bias.
template <typename Repeat>
static Value beforeWidening(OpBuilder &b, Location loc, Value x,
                            Repeat repeat) {
  auto cast = x.getDefiningOp<ir::CastOp>();
  auto from =
      cast ? dyn_cast<FloatType>(ir::tensorType(cast.getX()).getElementType())
           : FloatType();
  if (!from || from.getWidth() != 16 ||
      !ir::tensorType(x).getElementType().isF32())
    return repeat(x);
  return ir::castTo(b, loc, repeat(cast.getX()), b.getF32Type());
}

Value Emit::broadcast(Value x, Ints shape) {
  if (!x || !typeOf(shape, elementOf(x)))
    return {};
  Ints from = shapeOf(x);
  bool fits = from.size() <= shape.size();
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i] == 1 || from[i] == shape[shape.size() - from.size() + i];
  if (!fits)
    return fail("shape " + shownShape(from) + " does not broadcast to " +
                shownShape(shape));
  return beforeWidening(b, loc, x, [&](Value value) {
    return ir::broadcastTo(b, loc, value, shape);
  });
}

Value Emit::broadcastInDims(Value x, Ints dims, Ints shape) {
  if (!x || !typeOf(shape, elementOf(x)))
    return {};
  bool fits = int64_t(dims.size()) == rankOf(x);
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = dims[i] >= 0 && dims[i] < int64_t(shape.size()) &&
           (i == 0 || dims[i] > dims[i - 1]) &&
           (shapeOf(x)[i] == 1 || shapeOf(x)[i] == shape[dims[i]]);
  if (!fits)
    return fail("shape " + shownShape(shapeOf(x)) + " does not fit into " +
                shownShape(shape) + " at dimensions " + shownShape(dims));
  return beforeWidening(b, loc, x, [&](Value value) {
    return ir::broadcastInDim(b, loc, value, shape, dims);
  });
}

Value Emit::slice(Value x, Ints starts, Ints limits, Ints strides) {
  if (!x)
    return {};
  Shape ones(rankOf(x), 1);
  if (strides.empty())
    strides = ones;
  Shape zeros(rankOf(x), 0);
  if (starts == Ints(zeros) && limits == shapeOf(x) && strides == Ints(ones))
    return x;
  return infer<ir::SliceOp>(x,
                            {named("starts", starts), named("limits", limits),
                             named("strides", strides)});
}

Value Emit::sliceDim(Value x, int64_t dim, int64_t start, int64_t limit,
                     int64_t stride) {
  if (!x)
    return {};
  Shape starts(rankOf(x), 0), limits(shapeOf(x)), strides(rankOf(x), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return slice(x, starts, limits, strides);
}

Value Emit::pad(Value x, Value value, Ints low, Ints high, Ints interior) {
  if (!x || !value)
    return {};
  Shape zeros(rankOf(x), 0);
  if (interior.empty())
    interior = zeros;
  if (low == Ints(zeros) && high == Ints(zeros) && interior == Ints(zeros))
    return x;
  // Shape inference multiplies sizes; bound them so that it does not overflow.
  for (size_t i = 0; i < low.size() && i < high.size() && i < interior.size();
       ++i)
    if (std::max({low[i], high[i], interior[i]}) > kMaxTensorBytes)
      return fail("padding of " + std::to_string(std::max(low[i], high[i])) +
                  " elements is larger than any device's memory");
  return infer<ir::PadOp>({x, value}, {named("low", low), named("high", high),
                                       named("interior", interior)});
}

Value Emit::concat(ValueRange values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return infer<ir::ConcatOp>(values, {named("axis", axis)});
}

Value Emit::reverse(Value x, Ints dims) {
  if (!x || dims.empty())
    return x;
  return b.create<ir::ReverseOp>(loc, x.getType(), x,
                                 b.getDenseI64ArrayAttr(dims));
}

Value Emit::iota(Ints shape, int64_t axis, Type element) {
  RankedTensorType type = typeOf(shape, element);
  if (!type)
    return {};
  return b.create<ir::IotaOp>(loc, type, axis);
}

Value Emit::gather(Value x, Value indices, int64_t axis) {
  return infer<ir::GatherOp>({x, indices}, {named("axis", axis)});
}
Value Emit::gatherElements(Value x, Value indices, int64_t axis) {
  return infer<ir::GatherElementsOp>({x, indices}, {named("axis", axis)});
}
Value Emit::gatherNd(Value x, Value indices, int64_t batchDims) {
  return infer<ir::GatherNdOp>({x, indices}, {named("batch_dims", batchDims)});
}

Value Emit::scatter(ir::ScatterKind kind, Value x, Value indices, Value updates,
                    int64_t axis) {
  if (!x || !indices || !updates)
    return {};
  return b.create<ir::ScatterOp>(loc, x.getType(), kind, x, indices, updates,
                                 axis);
}
Value Emit::scatterElements(ir::ScatterKind kind, Value x, Value indices,
                            Value updates, int64_t axis) {
  if (!x || !indices || !updates)
    return {};
  return b.create<ir::ScatterElementsOp>(loc, x.getType(), kind, x, indices,
                                         updates, axis);
}
Value Emit::scatterNd(ir::ScatterKind kind, Value x, Value indices,
                      Value updates) {
  if (!x || !indices || !updates)
    return {};
  return b.create<ir::ScatterNdOp>(loc, x.getType(), kind, x, indices, updates);
}

Value Emit::expandDims(Value x, Ints dims) {
  if (!x)
    return {};
  Shape shape;
  int64_t rank = rankOf(x) + dims.size();
  size_t from = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (llvm::is_contained(dims, i))
      shape.push_back(1);
    else if (from < shapeOf(x).size())
      shape.push_back(shapeOf(x)[from++]);
  }
  return reshape(x, shape);
}

Value Emit::squeeze(Value x, Ints dims) {
  return x ? reshape(x, ir::dropDims(shapeOf(x), dims)) : Value();
}

//===----------------------------------------------------------------------===//
// Reductions, contractions, windows
//===----------------------------------------------------------------------===//

Value Emit::reduce(ir::ReduceKind kind, Value x, Ints dims, bool keep) {
  if (!x)
    return {};
  bool isLogical = kind == ir::ReduceKind::all || kind == ir::ReduceKind::any;
  if (isBool(x) != isLogical)
    return fail("operands of element type " + typeText(elementOf(x)) +
                " do not support this reduction");
  Value reduced = x;
  if (!dims.empty())
    reduced = infer<ir::ReduceOp>(
        x,
        {b.getNamedAttr("kind", ir::ReduceKindAttr::get(b.getContext(), kind)),
         named("dims", dims)});
  return keep ? reshape(reduced, ir::unitDims(shapeOf(x), dims)) : reduced;
}

Value Emit::mean(Value x, Ints dims, bool keep) {
  if (!x)
    return {};
  double count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(x)[dim];
  return div(reduce(ir::ReduceKind::sum, x, dims, keep), count);
}

Value Emit::argReduce(ir::ReduceKind kind, Value x, int64_t axis,
                      bool selectLast) {
  llvm::SmallVector<NamedAttribute> attributes = {
      b.getNamedAttr("kind", ir::ReduceKindAttr::get(b.getContext(), kind)),
      named("axis", axis)};
  if (selectLast)
    attributes.push_back(b.getNamedAttr("select_last", b.getUnitAttr()));
  return infer<ir::ArgReduceOp>(x, attributes);
}

Value Emit::cumulative(ir::ReduceKind kind, Value x, int64_t axis,
                       bool exclusive, bool reverse) {
  if (!x)
    return {};
  return b.create<ir::CumulativeOp>(loc, x.getType(), kind, x, axis, exclusive,
                                    reverse);
}

std::pair<Value, Value> Emit::topK(Value x, int64_t axis, int64_t k,
                                   bool largest) {
  llvm::SmallVector<NamedAttribute> attributes = {named("axis", axis),
                                                  named("k", k)};
  if (largest)
    attributes.push_back(b.getNamedAttr("largest", b.getUnitAttr()));
  Value values = infer<ir::TopKOp>(x, attributes);
  if (!values)
    return {};
  return {values, values.getDefiningOp()->getResult(1)};
}

Value Emit::dot(Value x, Value y, Ints xBatch, Ints yBatch, Ints xContract,
                Ints yContract) {
  if (!x || !y)
    return {};
  if (elementOf(x) != elementOf(y))
    return fail("operands have the element types " + typeText(elementOf(x)) +
                " and " + typeText(elementOf(y)) + "; they must be equal");
  return infer<ir::DotGeneralOp>({x, y}, {named("lhs_batch", xBatch),
                                          named("rhs_batch", yBatch),
                                          named("lhs_contract", xContract),
                                          named("rhs_contract", yContract)});
}

Value Emit::matmul(Value x, Value y) {
  if (!x || !y)
    return {};
  Shape xShape(shapeOf(x)), yShape(shapeOf(y));
  if (xShape.empty() || yShape.empty())
    return fail("a scalar has no matrix product");
  bool isRow = xShape.size() == 1, isColumn = yShape.size() == 1;
  if (xShape.back() != yShape[isColumn ? 0 : yShape.size() - 2])
    return fail("shapes " + shownShape(xShape) + " and " + shownShape(yShape) +
                " have no matrix product");
  // A matrix on the right is applied to all rows on the left at once.
  if (yShape.size() <= 2)
    return dot(x, y, {}, {}, {int64_t(xShape.size()) - 1}, {0});
  if (isRow)
    x = reshape(x, {1, xShape[0]});
  xShape = Shape(shapeOf(x));
  Ints xLead = Ints(xShape).drop_back(2), yLead = Ints(yShape).drop_back(2);
  std::optional<Shape> lead = ir::broadcastShapes(xLead, yLead);
  if (!lead)
    return fail("shapes " + shownShape(xShape) + " and " + shownShape(yShape) +
                " have no matrix product");
  auto withLead = [&](Value v) {
    Shape shape(*lead);
    llvm::append_range(shape, shapeOf(v).take_back(2));
    return broadcast(v, shape);
  };
  x = withLead(x);
  y = withLead(y);
  Shape batch(lead->size());
  std::iota(batch.begin(), batch.end(), 0);
  int64_t rank = lead->size() + 2;
  Value product = dot(x, y, batch, batch, {rank - 1}, {rank - 2});
  return isRow ? squeeze(product, {rank - 2}) : product;
}

Value Emit::reduceWindow(ir::ReduceKind kind, Value x, const Window &window) {
  auto whole = [&](Ints spatial, int64_t lead) {
    Shape list = {lead, lead};
    llvm::append_range(list, spatial);
    return list;
  };
  return infer<ir::ReduceWindowOp>(
      x, {b.getNamedAttr("kind", ir::ReduceKindAttr::get(b.getContext(), kind)),
          named("window", whole(window.size, 1)),
          named("strides", whole(window.strides, 1)),
          named("dilations", whole(window.dilations, 1)),
          named("pads_low", whole(window.low, 0)),
          named("pads_high", whole(window.high, 0))});
}

Value Emit::conv(Value x, Value filter, const Window &window) {
  return infer<ir::ConvOp>({x, filter}, {named("strides", window.strides),
                                         named("dilations", window.dilations),
                                         named("pads_low", window.low),
                                         named("pads_high", window.high),
                                         named("groups", window.groups)});
}

Value Emit::convInputGrad(Value x, Value filter, const Window &window,
                          Ints resultShape) {
  if (!x || !filter)
    return {};
  RankedTensorType type = typeOf(resultShape, elementOf(x));
  if (!type)
    return {};
  return b.create<ir::ConvInputGradOp>(loc, type, x, filter, window.strides,
                                       window.dilations, window.low,
                                       window.high, window.groups);
}

Value Emit::softmax(Value x, int64_t axis) {
  return x ? b.create<ir::SoftmaxOp>(loc, x.getType(), x, axis).getResult()
           : Value();
}

Value Emit::logSoftmax(Value x, int64_t axis) {
  return x ? b.create<ir::LogSoftmaxOp>(loc, x.getType(), x, axis).getResult()
           : Value();
}

std::optional<int64_t> Emit::axis(int64_t axis, int64_t rank, StringRef field) {
  if (axis < -rank || axis >= rank) {
    fail(field.str() + " " + std::to_string(axis) +
         " is out of range for rank " + std::to_string(rank));
    return std::nullopt;
  }
  return axis < 0 ? axis + rank : axis;
}

} // namespace sinter::compiler
