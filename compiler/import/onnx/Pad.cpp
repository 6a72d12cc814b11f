//===- Pad.cpp - padding in all modes -------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace sinter::compiler {

/// A bound on the padding, of either sign, that no dimension can reach.
static constexpr int64_t kMaxPad = int64_t(1) << 40;
/// The largest number of entries of an index table.
static constexpr int64_t kMaxTable = int64_t(1) << 20;

namespace {
struct Padding {
  Shape low, high; // one entry per dimension; negative ones crop
};
} // namespace

static std::optional<Padding> readPadding(NodeImport &n) {
  int64_t rank = n.rankOf(n.in(0));
  std::optional<Shape> pads =
      n.version < 11 ? n.attrInts("pads") : n.knownInts(1, "pads");
  std::optional<Shape> axes =
      n.version >= 18 ? n.knownInts(3, "axes") : std::nullopt;
  if (n.failed())
    return std::nullopt;
  if (!axes) {
    axes.emplace(rank);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!pads || pads->size() != 2 * axes->size()) {
    n.fail("pads must have two entries for each of " +
           std::to_string(axes->size()) + " dimensions");
    return std::nullopt;
  }
  if (!n.normalised(*axes, rank))
    return std::nullopt;
  Padding padding{Shape(rank, 0), Shape(rank, 0)};
  for (size_t i = 0; i < axes->size(); ++i) {
    int64_t dim = *n.axis((*axes)[i], rank);
    int64_t low = (*pads)[i], high = (*pads)[i + axes->size()];
    int64_t size = n.shapeOf(n.in(0))[dim];
    bool isPossible =
        std::max(low, high) <= kMaxPad && std::min(low, high) >= -kMaxPad &&
        size + low + high >= 0 && size + low >= 0 && size + high >= 0;
    if (!isPossible) {
      n.fail("pads " + shownShape(*pads) + " do not fit dimension " +
             std::to_string(dim) + " of size " + std::to_string(size));
      return std::nullopt;
    }
    padding.low[dim] = low;
    padding.high[dim] = high;
  }
  return padding;
}

static Value padConstant(NodeImport &n, const Padding &padding, Value value) {
  Value x = n.in(0);
  Shape starts, limits, low, high;
  for (int64_t dim = 0; dim < n.rankOf(x); ++dim) {
    starts.push_back(std::max<int64_t>(-padding.low[dim], 0));
    limits.push_back(n.shapeOf(x)[dim] -
                     std::max<int64_t>(-padding.high[dim], 0));
    low.push_back(std::max<int64_t>(padding.low[dim], 0));
    high.push_back(std::max<int64_t>(padding.high[dim], 0));
  }
  return n.pad(n.slice(x, starts, limits), value, low, high);
}

/// Which element of a dimension of `size` > 0 is at position `at`, which may be
/// outside.
static int64_t sourceOf(int64_t at, int64_t size, llvm::StringRef mode) {
  if (mode == "edge")
    return std::clamp<int64_t>(at, 0, size - 1);
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * (size - 1), 1);
  int64_t within = (at % period + period) % period;
  return within < size ? within : period - within;
}

static Value padByIndex(NodeImport &n, const Padding &padding,
                        llvm::StringRef mode) {
  Value x = n.in(0);
  for (int64_t dim = 0; dim < n.rankOf(x); ++dim) {
    int64_t size = n.shapeOf(x)[dim], low = padding.low[dim],
            high = padding.high[dim];
    if (low == 0 && high == 0)
      continue;
    if (size == 0)
      return n.fail("dimension " + std::to_string(dim) +
                    " is empty; it cannot be padded " +
                    "with its own elements");
    // The order of cropping and padding matters then; ONNX does not give one.
    if (mode != "edge" && (low < 0) != (high < 0) && low != 0 && high != 0)
      return n.unsupported(
          "a negative pad beside a positive one in dimension " +
          std::to_string(dim) + ", in mode '" + mode.str() + "'");
    if (size + low + high > kMaxTable)
      return n.unsupported("padding to more than 2^20 elements");
    Shape table;
    for (int64_t at = -low; at < size + high; ++at)
      table.push_back(sourceOf(at, size, mode));
    x = n.gather(x, n.ints(table), dim);
    if (!x)
      return {};
  }
  return x;
}

static void importPad(NodeImport &n) {
  std::string mode = n.attrString("mode", "constant");
  Value x = n.in(0), value;
  if (n.version < 11)
    value = n.scalar(n.elementOf(x), n.attrFloat("value", 0));
  else if (!n.has(2))
    value = n.scalar(n.elementOf(x), 0);
  else if (ir::tensorType(n.in(2)).getNumElements() != 1 ||
           n.elementOf(n.in(2)) != n.elementOf(x))
    value = n.fail("constant_value must be a scalar of the input's type");
  else
    value = n.reshape(n.in(2), {});
  std::optional<Padding> padding = readPadding(n);
  if (!padding)
    return;
  if (mode == "constant")
    n.out(padConstant(n, *padding, value));
  else if (mode == "wrap" && n.version < 19)
    n.fail("the mode 'wrap' exists from operator set 19; the model imports " +
           std::to_string(n.version));
  else if (mode == "reflect" || mode == "edge" || mode == "wrap")
    n.out(padByIndex(n, *padding, mode));
  else
    n.fail("attribute 'mode' is " + quoted(mode) +
           "; it must be 'constant', 'reflect'" +
           (n.version < 19 ? " or 'edge'" : ", 'edge' or 'wrap'"));
}

static void importCenterCropPad(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> sizes = n.knownInts(1, "shape");
  std::optional<Shape> axes = n.attrInts("axes");
  if (!sizes)
    return;
  if (!axes)
    for (axes.emplace(); int64_t(axes->size()) < n.rankOf(x);)
      axes->push_back(int64_t(axes->size()));
  if (axes->size() != sizes->size() || !n.normalised(*axes, n.rankOf(x))) {
    n.fail("shape " + shownShape(*sizes) + " does not fit the axes " +
           shownShape(*axes));
    return;
  }
  for (auto [given, size] : llvm::zip_equal(*axes, *sizes)) {
    int64_t dim = *n.axis(given, n.rankOf(x)), old = n.shapeOf(x)[dim];
    Shape low(n.rankOf(x), 0), high(low);
    if (size < 0) {
      n.fail("shape " + shownShape(*sizes) + " has a negative size");
      return;
    }
    int64_t start = std::max<int64_t>(old - size, 0) / 2;
    x = n.sliceDim(x, dim, start, start + std::min(old, size));
    low[dim] = std::max<int64_t>(size - old, 0) / 2;
    high[dim] = std::max<int64_t>(size - old, 0) - low[dim];
    x = n.pad(x, n.scalar(n.elementOf(x), 0), low, high);
    if (!x)
      return;
  }
  n.out(x);
}

llvm::ArrayRef<OpRow> padOps() {
  static constexpr OpRow rows[] = {
      {"CenterCropPad", importCenterCropPad, 2, 2, 1, 18},
      {"Pad", importPad, 1, 4},
  };
  return rows;
}

} // namespace sinter::compiler
