//===- Open.cpp - values whose size depends on data -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The number of a mask's coordinates is the number of its true elements.
// Exporters use them to write into tensors (masked_scatter, index_put). That
// has a static form: a selection by the mask. ScatterND requires as many
// updates as coordinates, so the count that the graph computes is ignored.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Open.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/TensorReader.h"
#include "compiler/import/onnx/Values.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>

using namespace mlir;

namespace sinter::compiler {

static constexpr int64_t kOpen = ShapedType::kDynamic;

static Ints openShape(Value v) {
  return cast<RankedTensorType>(v.getType()).getShape();
}

static void refuse(NodeImport &n) {
  n.unsupported("of a tensor whose size depends on values that must be known "
                "at compile time");
}

//===----------------------------------------------------------------------===//
// Operators that create open tensors
//===----------------------------------------------------------------------===//

Value emitOpenNonZero(NodeImport &n, Value x) {
  if (!n.isBool(x))
    x = n.compare(ir::CompareKind::ne, x, n.splatLike(x, 0));
  return makeOpen(n, {OpenKind::coordinates, x}, {n.rankOf(x), kOpen});
}

static Open wholeRange(NodeImport &n, Value x) {
  return {OpenKind::range, x, n.ints({0}, {}), n.ints({n.shapeOf(x)[0]}, {})};
}

Value emitOpenExpand(NodeImport &n, Value x, Value shape) {
  if (n.rankOf(shape) != 1 || n.shapeOf(shape)[0] < 1 ||
      n.shapeOf(shape)[0] > 32 || !isTensor(x))
    return {};
  Shape open(n.shapeOf(shape)[0], kOpen);
  if (ir::tensorType(x).getNumElements() == 1)
    return makeOpen(n, {OpenKind::repeated, n.reshape(x, {})}, open);
  if (n.rankOf(x) < int64_t(open.size()))
    return makeOpen(n, {OpenKind::repeated, x}, open);
  // A vector of several elements cannot be expanded to another size.
  if (n.rankOf(x) == 1 && open.size() == 1)
    return makeOpen(n, wholeRange(n, x), open);
  return {};
}

/// Input `i` of a Slice as a bound of dimension 0: tensor<i64> in [0, size].
static Value sliceBound(NodeImport &n, size_t i, int64_t size) {
  Value bound = n.reshape(n.cast(n.in(i), n.i64()), {});
  Value zero = n.splatLike(bound, 0), limit = n.splatLike(bound, double(size));
  Value isNegative = n.compare(ir::CompareKind::lt, bound, zero);
  bound = n.where(isNegative, n.add(bound, limit), bound);
  return n.min(n.max(bound, zero), limit);
}

Value emitOpenSlice(NodeImport &n) {
  auto isKnown = [&](size_t i, int64_t wanted) {
    if (!n.has(i))
      return true;
    std::optional<ir::Tensor> known = n.constantOf(i);
    return known && !known->isFloat() && known->size() == 1 &&
           known->ints[0] == wanted;
  };
  Value x = n.in(0);
  for (size_t i : {1, 2})
    if (n.isFloat(n.in(i)) || n.shapeOf(n.in(i)) != Ints({1}))
      return {};
  if (n.rankOf(x) < 1 || !isKnown(3, 0) || !isKnown(4, 1))
    return {};
  Shape open(n.shapeOf(x));
  open[0] = kOpen;
  return makeOpen(n,
                  {OpenKind::range, x, sliceBound(n, 1, n.shapeOf(x)[0]),
                   sliceBound(n, 2, n.shapeOf(x)[0])},
                  open);
}

//===----------------------------------------------------------------------===//
// Operators on open tensors
//===----------------------------------------------------------------------===//

static void importTranspose(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> perm = n.attrInts("perm");
  bool isSwap = !perm || Ints(*perm) == Ints({1, 0});
  Open open = openOf(x);
  if (n.failed())
    return;
  if (open.kind != OpenKind::coordinates || !isSwap)
    return refuse(n);
  n.out(makeOpen(n, open, {openShape(x)[1], openShape(x)[0]}));
}

/// The open size is the number of true elements of the mask.
static void importShape(NodeImport &n) {
  Value x = n.in(0);
  Open open = openOf(x);
  int64_t start = n.attrInt("start", 0), end = n.attrInt("end", 2);
  if (n.failed())
    return;
  if (open.kind != OpenKind::coordinates)
    return refuse(n);
  start = std::clamp<int64_t>(start < 0 ? start + 2 : start, 0, 2);
  end = std::clamp<int64_t>(end < 0 ? end + 2 : end, start, 2);
  Shape dims(n.rankOf(open.source));
  for (size_t i = 0; i < dims.size(); ++i)
    dims[i] = int64_t(i);
  Value count =
      n.reduce(ir::ReduceKind::sum, n.cast(open.source, n.i64()), dims, false);
  SmallVector<Value> sizes;
  for (int64_t size : openShape(x))
    sizes.push_back(size == kOpen ? n.reshape(count, {1}) : n.ints({size}));
  n.out(n.sliceDim(n.concat(sizes, 0), 0, start, end));
}

/// Only reshapes to one dimension.
static void importReshape(NodeImport &n) {
  n.ignoreAttr("allowzero"); // there is no 0
  if (!isOpen(n.in(0)) || !isTensor(n.in(1)))
    return refuse(n);
  std::optional<Shape> shape = n.knownInts(1, "shape");
  if (n.failed())
    return;
  Open open = openOf(n.in(0));
  if (Ints(*shape) != Ints({-1}))
    return refuse(n);
  if (openShape(n.in(0)).size() == 1)
    return n.out(n.in(0));
  if (open.kind != OpenKind::repeated)
    return refuse(n);
  open.kind = OpenKind::cycled;
  open.source =
      n.reshape(open.source, {ir::tensorType(open.source).getNumElements()});
  n.out(makeOpen(n, open, {kOpen}));
}

/// Only to a shape of the same rank, which must be the shape that it has.
static void importExpand(NodeImport &n) {
  bool isSame =
      isOpen(n.in(0)) && isTensor(n.in(1)) && !n.constantOf(1) &&
      openOf(n.in(0)).kind != OpenKind::coordinates &&
      n.shapeOf(n.in(1)) == Ints({int64_t(openShape(n.in(0)).size())});
  isSame ? n.out(n.in(0)) : refuse(n);
}

static void importIdentity(NodeImport &n) { n.out(n.in(0)); }

static void castOpen(NodeImport &n, Type element) {
  Open open = openOf(n.in(0));
  if (open.kind == OpenKind::coordinates)
    return n.elementOf(n.in(0)) == element ? n.out(n.in(0)) : refuse(n);
  open.source = n.cast(open.source, element);
  n.out(makeOpen(n, open, openShape(n.in(0))));
}

static void importCast(NodeImport &n) {
  n.ignoreAttr("saturate");
  n.ignoreAttr("round_mode");
  std::optional<int64_t> to = n.attrInt("to");
  Type element = to && *to > 0 && *to < 64
                     ? elementTypeOf(int32_t(*to), n.context())
                     : Type();
  if (!n.failed())
    element ? castOpen(n, element) : refuse(n);
}

static void importCastLike(NodeImport &n) {
  n.ignoreAttr("saturate");
  n.ignoreAttr("round_mode");
  if (!isOpen(n.in(0)) || !(isTensor(n.in(1)) || isOpen(n.in(1))))
    return refuse(n);
  castOpen(n, cast<RankedTensorType>(n.in(1).getType()).getElementType());
}

/// Arranges the updates in x's shape: at each true element of the mask is the
/// update that ScatterND writes there.
static Value spreadUpdates(NodeImport &n, Value x, Value mask, Value updates) {
  Shape shape(n.shapeOf(x));
  Value source = updates, start;
  if (isOpen(updates)) {
    Open open = openOf(updates);
    source = open.source;
    start = open.start;
    if (open.kind == OpenKind::coordinates)
      return {};
    if (open.kind == OpenKind::selected)
      return open.mask == mask && n.shapeOf(source) == Ints(shape) ? source
                                                                   : Value();
    if (open.kind == OpenKind::repeated)
      return n.rankOf(source) > n.rankOf(x) - n.rankOf(mask)
                 ? Value()
                 : n.broadcast(source, shape);
  }
  bool isCycled = isOpen(updates) && openOf(updates).kind == OpenKind::cycled;
  Ints row = n.shapeOf(x).drop_front(n.rankOf(mask));
  if (n.rankOf(source) < 1 || n.shapeOf(source).drop_front() != row)
    return n.fail("updates of shape " + shownShape(n.shapeOf(source)) +
                  " do not fit x of shape " + shownShape(shape));
  int64_t elements = ir::tensorType(mask).getNumElements(),
          rows = n.shapeOf(source)[0];
  if (rows == 0 || elements == 0)
    return x;
  Value order = n.cumulative(ir::ReduceKind::sum,
                             n.reshape(n.cast(mask, n.i64()), {elements}), 0);
  // Rows where the mask is false are not used.
  Value index = n.max(n.add(order, -1), n.splatLike(order, 0));
  index = start ? n.add(index, start) : index;
  index = isCycled
              ? n.binary<ir::ModOp>(index, n.splatLike(index, double(rows)))
              : n.min(index, n.splatLike(index, double(rows - 1)));
  return n.reshape(n.gather(source, index, 0), shape);
}

/// The mask whose coordinates `index` holds, if it has the shape of leading
/// dimensions of x; null otherwise.
static Value maskOf(NodeImport &n, Value x, Value index) {
  if (!isTensor(x) || !isOpen(index) ||
      openOf(index).kind != OpenKind::coordinates ||
      openShape(index)[0] != kOpen)
    return {};
  Value mask = openOf(index).source;
  int64_t lead = n.rankOf(mask);
  bool fits = lead >= 1 && lead <= n.rankOf(x) &&
              n.shapeOf(mask) == n.shapeOf(x).take_front(lead);
  return fits ? mask : Value();
}

static void importGatherNd(NodeImport &n) {
  int64_t batchDims = n.attrInt("batch_dims", 0);
  Value mask = maskOf(n, n.in(0), n.in(1));
  if (n.failed())
    return;
  if (!mask || batchDims != 0)
    return refuse(n);
  Shape open = {kOpen};
  llvm::append_range(open, n.shapeOf(n.in(0)).drop_front(n.rankOf(mask)));
  n.out(makeOpen(n, {OpenKind::selected, n.in(0), {}, {}, mask}, open));
}

/// An elementwise operator on selections by the same mask and on scalars is
/// computed on all rows.
static void importElementwise(NodeImport &n) {
  Value mask;
  Shape open, full;
  for (Value v : n.inputs()) {
    if (!v || !isOpen(v)) {
      if (v && (!isTensor(v) || ir::tensorType(v).getNumElements() != 1))
        return refuse(n);
      continue;
    }
    Open part = openOf(v);
    if (part.kind != OpenKind::selected || (mask && part.mask != mask) ||
        (mask && n.shapeOf(part.source) != Ints(full)))
      return refuse(n);
    mask = part.mask;
    open = Shape(openShape(v));
    full = Shape(n.shapeOf(part.source));
  }
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (n.has(i))
      n.replaceInput(i, isOpen(n.in(i)) ? openOf(n.in(i)).source
                                        : n.reshape(n.in(i), {}));
  n.graph().registry().find("", n.node.op_type())->import(n);
  Value y = n.failed() || n.results().empty() ? Value() : n.results().front();
  if (y && n.shapeOf(y) == Ints(full))
    n.out(makeOpen(n, {OpenKind::selected, y, {}, {}, mask}, open));
  else if (!n.failed())
    refuse(n);
}

static void importScatterNd(NodeImport &n) {
  std::string reduction =
      n.version >= 16 ? n.attrString("reduction", "none") : "none";
  Value x = n.in(0), index = n.in(1), updates = n.in(2);
  if (n.failed())
    return;
  Value mask = maskOf(n, x, index);
  if (!mask || !(isTensor(updates) || isOpen(updates)) ||
      (reduction != "none" && reduction != "add"))
    return refuse(n);
  int64_t lead = n.rankOf(mask);
  Value spread = spreadUpdates(n, x, mask, updates);
  if (!spread)
    return n.failed() ? void() : refuse(n);
  Shape dims(lead);
  for (int64_t i = 0; i < lead; ++i)
    dims[i] = i;
  Value isSet = n.broadcastInDims(mask, dims, n.shapeOf(x));
  n.out(n.where(isSet, reduction == "add" ? n.add(x, spread) : spread, x));
}

/// Reduces dimension 0 of a range: it reduces all rows of the source, with
/// `neutral` in place of rows outside the range.
static void reduceRange(NodeImport &n, ir::ReduceKind kind, double neutral,
                        bool isMean, int64_t axesInputSince) {
  bool keep = n.attrInt("keepdims", 1);
  n.ignoreAttr("noop_with_empty_axes"); // the axes are not empty
  if (!isOpen(n.in(0)) || (n.has(1) && !isTensor(n.in(1))))
    return refuse(n);
  int64_t rank = openShape(n.in(0)).size();
  std::optional<Shape> axes = n.axes(1, axesInputSince, rank);
  Open open = openOf(n.in(0));
  if (n.failed())
    return;
  if (open.kind != OpenKind::range || !axes || Ints(*axes) != Ints({0}) ||
      !n.isFloat(open.source))
    return refuse(n);
  Value x = open.source;
  Value row = n.iota({n.shapeOf(x)[0]}, 0, n.i64());
  Value isInside =
      n.binary<ir::AndOp>(n.compare(ir::CompareKind::ge, row, open.start),
                          n.compare(ir::CompareKind::lt, row, open.end));
  isInside = n.broadcastInDims(isInside, {0}, n.shapeOf(x));
  Value y =
      n.reduce(kind, n.where(isInside, x, n.splatLike(x, neutral)), {0}, keep);
  if (isMean) {
    // The mean of no rows is 0, so that no NaN gets into a gradient.
    Value count = n.max(n.sub(open.end, open.start), n.ints({1}, {}));
    y = n.div(y, n.cast(count, n.elementOf(x)));
  }
  n.out(y);
}

static void importReduceSum(NodeImport &n) {
  reduceRange(n, ir::ReduceKind::sum, 0, false, 13);
}
static void importReduceMean(NodeImport &n) {
  reduceRange(n, ir::ReduceKind::sum, 0, true, 18);
}
static void importReduceMax(NodeImport &n) {
  reduceRange(n, ir::ReduceKind::max, -std::numeric_limits<double>::infinity(),
              false, 18);
}
static void importReduceMin(NodeImport &n) {
  reduceRange(n, ir::ReduceKind::min, std::numeric_limits<double>::infinity(),
              false, 18);
}

llvm::ArrayRef<OpRow> openOps() {
  static constexpr OpRow rows[] = {
      {"Abs", importElementwise, 1, 1},
      {"Add", importElementwise, 2, 2},
      {"Cast", importCast, 1, 1},
      {"CastLike", importCastLike, 2, 2, 1, 15},
      {"Clip", importElementwise, 1, 3},
      {"Div", importElementwise, 2, 2},
      {"Exp", importElementwise, 1, 1},
      {"Expand", importExpand, 2, 2, 1, 8},
      {"GatherND", importGatherNd, 2, 2, 1, 11},
      {"Identity", importIdentity, 1, 1},
      {"Log", importElementwise, 1, 1},
      {"Mul", importElementwise, 2, 2},
      {"Neg", importElementwise, 1, 1},
      {"Pow", importElementwise, 2, 2},
      {"Reciprocal", importElementwise, 1, 1},
      {"ReduceMax", importReduceMax, 1, 2},
      {"ReduceMean", importReduceMean, 1, 2},
      {"ReduceMin", importReduceMin, 1, 2},
      {"ReduceSum", importReduceSum, 1, 2},
      {"Relu", importElementwise, 1, 1},
      {"Reshape", importReshape, 2, 2},
      {"ScatterND", importScatterNd, 3, 3, 1, 11},
      {"Shape", importShape, 1, 1},
      {"Sigmoid", importElementwise, 1, 1},
      {"Sqrt", importElementwise, 1, 1},
      {"Sub", importElementwise, 2, 2},
      {"Tanh", importElementwise, 1, 1},
      {"Transpose", importTranspose, 1, 1},
  };
  return rows;
}

} // namespace sinter::compiler
