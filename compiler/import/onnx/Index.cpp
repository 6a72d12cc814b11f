//===- Index.cpp - gather, scatter and operators built on them ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Open.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Signature.h"

#include <algorithm>

using namespace mlir;

namespace sinter::compiler {

/// Input `i` as an index tensor.
static Value indices(NodeImport &n, size_t i) {
  Value v = n.in(i);
  Type element = n.elementOf(v);
  if (!element.isInteger(32) && !element.isInteger(64))
    return n.fail("indices must be int32 or int64");
  return v;
}

/// Makes negative indices, which count from the end, positive. Sizes are
/// broadcast to the indices.
static Value wrapNegative(NodeImport &n, Value index, Value sizes) {
  if (std::optional<ir::Tensor> known = n.constantOf(index))
    if (llvm::all_of(known->ints, [](int64_t i) { return i >= 0; }))
      return index;
  Value isNegative =
      n.compare(ir::CompareKind::lt, index, n.splatLike(index, 0));
  return n.where(isNegative, n.add(index, sizes), index);
}

static Value wrapNegative(NodeImport &n, Value index, int64_t size) {
  return wrapNegative(n, index, n.splat({}, n.elementOf(index), double(size)));
}

/// Checks indices into a dimension of `size`; negative ones count from its end.
static bool checkIndices(NodeImport &n, Value index, int64_t size) {
  return n.checkIndices(index, -size, size);
}

/// Column i of `index` points into the i-th of `sizes`.
static bool checkTuples(NodeImport &n, Value index, Ints sizes) {
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Value column =
        n.sliceDim(index, n.rankOf(index) - 1, int64_t(i), int64_t(i) + 1);
    if (!checkIndices(n, column, size))
      return false;
  }
  return true;
}

/// The padding row of an embedding's table, which gets no gradient. Either the
/// call that the node came from names it, or the table's values show it.
static std::optional<int64_t> paddingRow(NodeImport &n) {
  if (!n.graph().options().train)
    return std::nullopt;
  if (std::optional<FxCall> call = readFxCall(n.node)) {
    int64_t row = -1;
    if (call->target != "aten.embedding" || call->arguments.size() < 3 ||
        llvm::StringRef(call->arguments[2].text).getAsInteger(10, row) ||
        row < 0)
      return std::nullopt;
    return row;
  }
  auto role = n.graph().model().roles.find(n.inputName(0));
  return role == n.graph().model().roles.end() ? std::nullopt
                                               : role->second.paddingRow;
}

static void importGather(NodeImport &n) {
  Value x = n.in(0), index = indices(n, 1);
  std::optional<int64_t> axis = n.axis(n.attrInt("axis", 0), n.rankOf(x));
  if (!axis || !index || !checkIndices(n, index, n.shapeOf(x)[*axis]))
    return;
  Value rows = n.gather(x, index, *axis);
  std::optional<int64_t> padding = paddingRow(n);
  if (rows && padding && *axis == 0) {
    Value number = n.splat(n.shapeOf(index), n.elementOf(index), *padding);
    Value isPadding = n.compare(ir::CompareKind::eq, index, number);
    Shape dims;
    for (int64_t i = 0; i < n.rankOf(index); ++i)
      dims.push_back(i);
    isPadding = n.broadcastInDims(isPadding, dims, n.shapeOf(rows));
    rows = n.where(isPadding, n.unary<ir::StopGradientOp>(rows), rows);
  }
  n.out(rows);
}

static void importGatherElements(NodeImport &n) {
  Value x = n.in(0), index = indices(n, 1);
  std::optional<int64_t> axis = n.axis(n.attrInt("axis", 0), n.rankOf(x));
  if (axis && index && checkIndices(n, index, n.shapeOf(x)[*axis]))
    n.out(n.gatherElements(x, index, *axis));
}

static void importGatherNd(NodeImport &n) {
  int64_t batchDims = n.attrInt("batch_dims", 0);
  if (batchDims < 0) {
    n.fail("attribute 'batch_dims' is negative");
    return;
  }
  Value x = n.in(0), index = indices(n, 1);
  Value y = index ? n.gatherNd(x, index, batchDims) : Value();
  if (y && checkTuples(n, index,
                       n.shapeOf(x).slice(size_t(batchDims),
                                          size_t(n.shapeOf(index).back()))))
    n.out(y);
}

static std::optional<ir::ScatterKind> readReduction(NodeImport &n) {
  std::string name =
      n.version >= 16 ? n.attrString("reduction", "none") : "none";
  if (name == "none")
    return ir::ScatterKind::set;
  if (name == "add")
    return ir::ScatterKind::sum;
  if (name == "mul")
    return ir::ScatterKind::prod;
  if (n.version >= 18 && name == "max")
    return ir::ScatterKind::max;
  if (n.version >= 18 && name == "min")
    return ir::ScatterKind::min;
  n.fail("attribute 'reduction' is " + quoted(name) +
         "; it must be 'none', 'add', 'mul', 'max' or 'min'");
  return std::nullopt;
}

static void importScatterElements(NodeImport &n) {
  Value x = n.in(0), index = indices(n, 1);
  std::optional<ir::ScatterKind> kind = readReduction(n);
  std::optional<int64_t> axis = n.axis(n.attrInt("axis", 0), n.rankOf(x));
  if (!axis || !kind || !index || !checkIndices(n, index, n.shapeOf(x)[*axis]))
    return;
  n.out(n.scatterElements(*kind, x, wrapNegative(n, index, n.shapeOf(x)[*axis]),
                          n.in(2), *axis));
}

static void importScatterNd(NodeImport &n) {
  Value x = n.in(0), index = indices(n, 1);
  std::optional<ir::ScatterKind> kind = readReduction(n);
  if (!kind || !index)
    return;
  if (n.rankOf(index) < 1 || n.shapeOf(index).back() > n.rankOf(x)) {
    n.fail("index tuples of shape " + shownShape(n.shapeOf(index)) +
           " are longer than the rank " + std::to_string(n.rankOf(x)));
    return;
  }
  Shape sizes(n.shapeOf(x).take_front(n.shapeOf(index).back()));
  if (!checkTuples(n, index, sizes))
    return;
  Value bounds = n.cast(n.ints(sizes), n.elementOf(index));
  n.out(n.scatterNd(*kind, x, wrapNegative(n, index, bounds), n.in(2)));
}

/// values[1] at the index and values[0] elsewhere, along a new dimension.
static void importOneHot(NodeImport &n) {
  Value index = n.in(0), values = n.in(2);
  int64_t given = n.attrInt("axis", -1);
  std::optional<ir::Tensor> depth = n.known(1, "depth");
  if (!depth)
    return;
  int64_t size = depth->size() != 1 ? -1
                 : depth->isFloat()
                     ? int64_t(std::clamp(depth->floats[0], -1.0, 1e12))
                     : depth->ints[0];
  if (size < 1 || n.shapeOf(values) != Ints({2})) {
    n.fail("depth must be one positive number, and values two");
    return;
  }
  std::optional<int64_t> axis = n.axis(given, n.rankOf(index) + 1);
  if (!axis)
    return;
  index = n.cast(index, n.i64());
  if (!checkIndices(n, index, size))
    return;
  index = wrapNegative(n, index, size);
  Value apart = n.expandDims(index, {*axis});
  Shape shape(n.shapeOf(apart));
  shape[*axis] = size;
  Value isHit =
      n.compare(ir::CompareKind::eq, n.iota(shape, *axis, n.i64()), apart);
  Value off = n.reshape(n.sliceDim(values, 0, 0, 1), {});
  Value on = n.reshape(n.sliceDim(values, 0, 1, 2), {});
  n.out(n.where(isHit, on, off));
}

/// The condition must be known, because it determines the output's size.
static void importCompress(NodeImport &n) {
  Value x = n.in(0);
  std::optional<int64_t> given = n.attrInt("axis");
  std::optional<ir::Tensor> condition = n.known(1, "condition");
  if (!condition || n.failed())
    return;
  if (condition->isFloat() || condition->rank() != 1) {
    n.fail("condition must be a list of bools");
    return;
  }
  int64_t axis = 0;
  if (given) {
    std::optional<int64_t> dim = n.axis(*given, n.rankOf(x));
    if (!dim)
      return;
    axis = *dim;
  } else {
    x = n.reshape(x, {ir::tensorType(x).getNumElements()});
  }
  Shape chosen;
  for (int64_t i = 0; i < condition->size() && i < n.shapeOf(x)[axis]; ++i)
    if (condition->ints[i])
      chosen.push_back(i);
  n.out(n.gather(x, n.ints(chosen), axis));
}

/// Row i of the result holds the i-th coordinates of all nonzero elements. If
/// the input is not known, the result is an open tensor.
static void importNonZero(NodeImport &n) {
  std::optional<ir::Tensor> x = n.constantOf(0);
  if (!x) {
    n.out(emitOpenNonZero(n, n.in(0)));
    return;
  }
  std::vector<Shape> found;
  for (int64_t i = 0; i < x->size(); ++i)
    if (x->isFloat() ? x->floats[i] != 0 : x->ints[i] != 0)
      found.push_back(ir::delinearize(i, x->shape()));
  if (int64_t(found.size()) * x->rank() > (1 << 22)) {
    n.unsupported("more than 2^22 coordinates");
    return;
  }
  Shape values;
  for (int64_t dim = 0; dim < x->rank(); ++dim)
    for (const Shape &index : found)
      values.push_back(index[dim]);
  n.out(n.ints(values, {x->rank(), int64_t(found.size())}));
}

/// The first sequence_lens[b] elements of sequence b in reverse order.
static void importReverseSequence(NodeImport &n) {
  int64_t batchAxis = n.attrInt("batch_axis", 1),
          timeAxis = n.attrInt("time_axis", 0);
  Value x = n.in(0);
  if (!n.requireRank(0, 2))
    return;
  if (batchAxis < 0 || batchAxis > 1 || timeAxis != 1 - batchAxis) {
    n.fail(
        "attributes 'batch_axis' and 'time_axis' must be 0 and 1, or 1 and 0");
    return;
  }
  if (n.shapeOf(n.in(1)) != Ints({n.shapeOf(x)[batchAxis]})) {
    n.fail("sequence_lens has shape " + shownShape(n.shapeOf(n.in(1))) +
           "; it must have one entry per sequence");
    return;
  }
  if (!n.checkIndices(n.in(1), 0, n.shapeOf(x)[timeAxis] + 1))
    return;
  Shape plane = {n.shapeOf(x)[0], n.shapeOf(x)[1]};
  Value length =
      n.broadcastInDims(n.cast(n.in(1), n.i64()), {batchAxis}, plane);
  Value time = n.iota(plane, timeAxis, n.i64());
  Value mirrored = n.sub(n.add(length, -1), time);
  Value source =
      n.where(n.compare(ir::CompareKind::lt, time, length), mirrored, time);
  n.out(n.gatherElements(x, n.broadcastInDims(source, {0, 1}, n.shapeOf(x)),
                         timeAxis));
}

/// Overwrites the elements of the cache from write_indices[b] on, along `axis`,
/// with the update. In circular mode, the cache is a ring.
static void importTensorScatter(NodeImport &n) {
  std::string mode = n.attrString("mode", "linear");
  Value cache = n.in(0), update = n.in(1);
  std::optional<int64_t> axis = n.axis(n.attrInt("axis", -2), n.rankOf(cache));
  if (!axis)
    return;
  Shape expected(n.shapeOf(cache)), shape(n.shapeOf(update));
  if (shape.size() == expected.size())
    expected[*axis] = shape[*axis];
  if (*axis == 0 || shape != expected ||
      expected[*axis] > n.shapeOf(cache)[*axis] ||
      (mode != "linear" && mode != "circular")) {
    n.fail("an update of shape " + shownShape(shape) +
           " does not fit a cache of shape " + shownShape(n.shapeOf(cache)) +
           " along dimension " + std::to_string(*axis) + " in mode " +
           quoted(mode));
    return;
  }
  Shape apart(shape.size(), 1);
  apart[*axis] = shape[*axis];
  Value index = n.iota(apart, *axis, n.i64());
  if (n.has(2)) {
    const int64_t last = n.shapeOf(cache)[*axis] - shape[*axis];
    if (mode == "linear" && !n.checkIndices(n.in(2), 0, last + 1))
      return;
    apart[0] = shape[0];
    apart[*axis] = 1;
    index = n.add(index, n.reshape(n.cast(n.in(2), n.i64()), apart));
  }
  if (mode == "circular")
    index = n.binary<ir::ModOp>(index, n.ints({n.shapeOf(cache)[*axis]}, {}));
  n.out(n.scatterElements(ir::ScatterKind::set, cache,
                          n.broadcast(index, shape), update, *axis));
}

llvm::ArrayRef<OpRow> indexOps() {
  static constexpr OpRow rows[] = {
      {"Compress", importCompress, 2, 2, 1, 9},
      {"Gather", importGather, 2, 2},
      {"GatherElements", importGatherElements, 2, 2, 1, 11},
      {"GatherND", importGatherNd, 2, 2, 1, 11},
      {"NonZero", importNonZero, 1, 1, 1, 9},
      {"OneHot", importOneHot, 3, 3, 1, 9},
      {"ReverseSequence", importReverseSequence, 2, 2, 1, 10},
      {"Scatter", importScatterElements, 3, 3, 1, 9},
      {"ScatterElements", importScatterElements, 3, 3, 1, 11},
      {"ScatterND", importScatterNd, 3, 3, 1, 11},
      {"TensorScatter", importTensorScatter, 2, 3, 1, 24},
  };
  return rows;
}

} // namespace sinter::compiler
