//===- Pool.cpp - pooling -------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Pool.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/Windows.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace sinter::compiler {

namespace {
struct Pool {
  Emit::Window window;
  Shape explicitHigh; // padding without that of ceil_mode
  Shape output;       // spatial
};
} // namespace

/// The window of a pool, with the padding that ceil_mode needs; nothing after
/// fail().
static std::optional<Pool> readPool(NodeImport &n, Value x) {
  std::optional<Shape> kernel = n.attrInts("kernel_shape");
  bool isCeil = n.attrInt("ceil_mode", 0);
  if (!n.requireRank(0, 3))
    return std::nullopt;
  Ints input = n.shapeOf(x).drop_front(2);
  if (!kernel || kernel->size() != input.size()) {
    n.fail("attribute 'kernel_shape' must have " +
           std::to_string(input.size()) + " entries");
    return std::nullopt;
  }
  std::optional<Shape> size = spatialList(n, "kernel_shape", input.size(), 1);
  if (!size)
    return std::nullopt;
  std::optional<Emit::Window> window = readWindow(n, *size, input);
  if (!window)
    return std::nullopt;

  Pool pool{*window, window->high, {}};
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t span = spanOf((*size)[i], window->dilations[i]);
    int64_t stride = window->strides[i];
    int64_t slack = input[i] + window->low[i] + window->high[i] - span;
    if (slack < 0) {
      n.fail("the dilated window (" + std::to_string(span) +
             ") is larger than the padded input (" +
             std::to_string(slack + span) + ") in spatial dimension " +
             std::to_string(i));
      return std::nullopt;
    }
    int64_t positions = slack / stride + 1;
    if (isCeil && slack % stride != 0 &&
        positions * stride < input[i] + window->low[i]) {
      // One more window, which starts inside the input or its low padding.
      pool.window.high[i] += positions * stride - slack;
      ++positions;
    }
    pool.output.push_back(positions);
  }
  return pool;
}

/// For every window along dimension `i`, the number of its elements that lie in
/// [-low, size + high).
static Shape countAlong(const Pool &pool, size_t i, int64_t size, int64_t low,
                        int64_t high) {
  const Emit::Window &window = pool.window;
  Shape counts;
  for (int64_t o = 0; o < pool.output[i]; ++o) {
    int64_t start = o * window.strides[i] - window.low[i], count = 0;
    for (int64_t k = 0; k < window.size[i]; ++k) {
      int64_t at = start + k * window.dilations[i];
      count += at >= -low && at < size + high;
    }
    counts.push_back(count);
  }
  return counts;
}

/// The divisors of window sums: a product over dimensions.
static Value emitCounts(NodeImport &n, Value x, const Pool &pool,
                        bool withPadding) {
  Ints input = n.shapeOf(x).drop_front(2);
  Type element = n.elementOf(x);
  Shape result = {n.shapeOf(x)[0], n.shapeOf(x)[1]};
  llvm::append_range(result, pool.output);
  double uniform = 1;
  Value counts;
  for (size_t i = 0; i < input.size(); ++i) {
    Shape along = withPadding
                      ? countAlong(pool, i, input[i], pool.window.low[i],
                                   pool.explicitHigh[i])
                      : countAlong(pool, i, input[i], 0, 0);
    if (along.empty())
      continue;
    if (llvm::all_equal(along)) {
      uniform *= along.front();
      continue;
    }
    SmallVector<double> values(along.begin(), along.end());
    Value table = n.floats(values, {int64_t(values.size())}, element);
    Shape spatial(pool.output);
    table = n.broadcastInDims(table, {int64_t(i)}, spatial);
    counts = counts ? n.mul(counts, table) : table;
  }
  if (!counts)
    return n.splat(result, element, uniform);
  if (uniform != 1)
    counts = n.mul(counts, uniform);
  return n.broadcast(counts, result);
}

Value emitAveragePool(NodeImport &n, Value x, bool countsBeyondPadding) {
  bool withPadding = n.attrInt("count_include_pad", 0);
  std::optional<Pool> pool = readPool(n, x);
  if (!pool)
    return {};
  if (countsBeyondPadding)
    pool->explicitHigh = pool->window.high;
  // emitCounts builds tables along each dimension.
  for (size_t i = 0; i < pool->output.size(); ++i)
    if (pool->output[i] > (1 << 20) ||
        pool->output[i] * pool->window.size[i] > (1 << 24))
      return n.unsupported("windows of this number and size");
  Value sum = n.reduceWindow(ir::ReduceKind::sum, x, pool->window);
  return n.div(sum, emitCounts(n, x, *pool, withPadding));
}

static void importAveragePool(NodeImport &n) {
  if (n.requireFloat())
    n.out(emitAveragePool(n, n.in(0)));
}

/// The index of each window's maximum in the whole input. The spatial
/// dimensions are in row-major or column-major order (storage_order). The
/// elements of all windows are put side by side, as one strided slice per
/// offset in the window.
static Value emitMaxIndices(NodeImport &n, const Pool &pool, bool columnMajor) {
  Value x = n.in(0);
  const Emit::Window &window = pool.window;
  Ints shape = n.shapeOf(x);
  int64_t rank = shape.size(), spatial = rank - 2, offsets = 1;
  for (int64_t size : window.size) {
    offsets *= size;
    if (offsets > 1024)
      return n.unsupported(
          "output Indices of a window of more than 1024 elements");
  }
  bool isFloat = n.isFloat(x);
  auto integer = dyn_cast<IntegerType>(n.elementOf(x));
  double least = isFloat ? -std::numeric_limits<double>::infinity()
                 : integer && integer.isUnsigned()
                     ? 0
                     : -std::ldexp(1.0, int(integer.getWidth()) - 1);
  Shape low(rank, 0), high(rank, 0);
  for (int64_t i = 0; i < spatial; ++i) {
    low[i + 2] = window.low[i];
    high[i + 2] = window.high[i];
  }
  Value padded = n.pad(x, n.scalar(n.elementOf(x), least), low, high);
  llvm::SmallVector<Value> slices;
  std::vector<Shape> tables(spatial); // offset in the window, per dimension
  for (int64_t k = 0; k < offsets; ++k) {
    Shape at = ir::delinearize(k, window.size);
    Shape starts(rank, 0), limits(shape.begin(), shape.end()), strides(rank, 1);
    for (int64_t i = 0; i < spatial; ++i) {
      starts[i + 2] = at[i] * window.dilations[i];
      strides[i + 2] = window.strides[i];
      limits[i + 2] = starts[i + 2] + (pool.output[i] - 1) * strides[i + 2] + 1;
      tables[i].push_back(starts[i + 2] - window.low[i]);
    }
    slices.push_back(
        n.expandDims(n.slice(padded, starts, limits, strides), {0}));
  }
  Value chosen = n.argReduce(ir::ReduceKind::max, n.concat(slices, 0), 0);
  if (!chosen)
    return {};
  Ints result = n.shapeOf(chosen);
  Value plane = n.add(n.mul(n.iota(result, 0, n.i64()), double(shape[1])),
                      n.iota(result, 1, n.i64()));
  Shape order(spatial);
  std::iota(order.begin(), order.end(), 0);
  if (columnMajor)
    std::reverse(order.begin(), order.end());
  Value index = plane;
  for (int64_t i : order) {
    Value position =
        n.add(n.mul(n.iota(result, i + 2, n.i64()), double(window.strides[i])),
              n.gather(n.ints(tables[i]), chosen, 0));
    index = n.add(n.mul(index, double(shape[i + 2])), position);
  }
  return index;
}

static void importMaxPool(NodeImport &n) {
  bool columnMajor = n.attrInt("storage_order", 0);
  std::optional<Pool> pool = readPool(n, n.in(0));
  if (!pool)
    return;
  n.out(n.reduceWindow(ir::ReduceKind::max, n.in(0), pool->window));
  if (n.wants(1))
    n.out(1, emitMaxIndices(n, *pool, columnMajor));
}

/// (sum |x|^p)^(1/p), where `sum` computes the sum.
template <class Sum> static Value emitLp(NodeImport &n, int64_t p, Sum sum) {
  Value x = n.in(0), magnitude = n.unary<ir::AbsOp>(x);
  if (p == 1)
    return sum(magnitude);
  if (p == 2)
    return n.unary<ir::SqrtOp>(sum(n.mul(x, x)));
  Value total = sum(n.binary<ir::PowOp>(magnitude, n.splatLike(x, double(p))));
  return n.binary<ir::PowOp>(total, n.splatLike(total, 1.0 / double(p)));
}

static int64_t readP(NodeImport &n) {
  int64_t p = n.attrInt("p", 2);
  if (p < 1)
    n.fail("attribute 'p' is " + std::to_string(p) + "; it must be positive");
  return p;
}

static void importLpPool(NodeImport &n) {
  int64_t p = readP(n);
  std::optional<Pool> pool = readPool(n, n.in(0));
  if (!pool || !n.requireFloat())
    return;
  n.out(emitLp(n, p, [&](Value v) {
    return n.reduceWindow(ir::ReduceKind::sum, v, pool->window);
  }));
}

static Shape spatialDims(NodeImport &n) {
  Shape dims;
  for (int64_t i = 2; i < n.rankOf(n.in(0)); ++i)
    dims.push_back(i);
  return dims;
}

static void importGlobalAveragePool(NodeImport &n) {
  if (n.requireFloat() && n.requireRank(0, 2))
    n.out(n.mean(n.in(0), spatialDims(n), /*keep=*/true));
}

static void importGlobalMaxPool(NodeImport &n) {
  if (n.requireRank(0, 2))
    n.out(
        n.reduce(ir::ReduceKind::max, n.in(0), spatialDims(n), /*keep=*/true));
}

static void importGlobalLpPool(NodeImport &n) {
  int64_t p = readP(n);
  if (n.requireFloat() && n.requireRank(0, 2))
    n.out(emitLp(n, p, [&](Value v) {
      return n.reduce(ir::ReduceKind::sum, v, spatialDims(n), /*keep=*/true);
    }));
}

/// Puts the values at the positions that MaxPool's Indices give, with zeros
/// elsewhere.
static void importMaxUnpool(NodeImport &n) {
  Value x = n.in(0), indices = n.in(1);
  if (!n.requireRank(0, 3))
    return;
  Ints input = n.shapeOf(x).drop_front(2);
  std::optional<Shape> size = spatialList(n, "kernel_shape", input.size(), 1);
  if (!size)
    return;
  std::optional<Emit::Window> window = readWindow(n, *size, input);
  if (!window)
    return;
  Shape shape = {n.shapeOf(x)[0], n.shapeOf(x)[1]};
  for (size_t i = 0; i < input.size(); ++i)
    shape.push_back((input[i] - 1) * window->strides[i] + (*size)[i] -
                    window->low[i] - window->high[i]);
  Shape result(shape);
  if (n.has(2)) {
    std::optional<Shape> given = n.knownInts(2, "output_shape");
    if (!given)
      return;
    result = *given;
  }
  int64_t elements = ir::tensorType(x).getNumElements();
  RankedTensorType type = n.typeOf(result, n.elementOf(x));
  if (!type)
    return;
  // Indices refer to the shape of the pooling's input. A larger output_shape is
  // filled from its corner.
  bool isLarger = Ints(result) != Ints(shape);
  bool fits = result.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = result[i] >= shape[i] && shape[i] >= 0;
  if (!fits || !n.typeOf(shape, n.elementOf(x))) {
    n.fail("an output of shape " + shownShape(result) + " is smaller than " +
           shownShape(shape));
    return;
  }
  int64_t positions = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                      std::multiplies<int64_t>());
  if (!n.checkIndices(indices, 0, positions))
    return;
  Value flat =
      n.scatter(ir::ScatterKind::set, n.splat({positions}, n.elementOf(x), 0),
                n.reshape(indices, {elements}), n.reshape(x, {elements}), 0);
  Value y = n.reshape(flat, shape);
  if (isLarger) {
    Shape low(shape.size(), 0), high;
    for (size_t i = 0; i < shape.size(); ++i)
      high.push_back(result[i] - shape[i]);
    y = n.pad(y, n.scalar(n.elementOf(x), 0), low, high);
  }
  n.out(y);
}

llvm::ArrayRef<OpRow> poolOps() {
  static constexpr OpRow rows[] = {
      {"AveragePool", importAveragePool, 1, 1},
      {"GlobalAveragePool", importGlobalAveragePool, 1, 1},
      {"GlobalLpPool", importGlobalLpPool, 1, 1},
      {"GlobalMaxPool", importGlobalMaxPool, 1, 1},
      {"LpPool", importLpPool, 1, 1},
      {"MaxPool", importMaxPool, 1, 1, 2},
      {"MaxUnpool", importMaxUnpool, 2, 3, 1, 9},
  };
  return rows;
}

} // namespace sinter::compiler
