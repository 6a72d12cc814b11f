//===- Shape.cpp - rearranging elements -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/GraphImport.h"
#include "compiler/import/onnx/Open.h"
#include "compiler/import/onnx/Registry.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace sinter::compiler {

/// The product; nothing if it overflows or a factor is negative.
static std::optional<int64_t> product(Ints sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    if (size < 0 || llvm::MulOverflow(total, size, total))
      return std::nullopt;
  return total;
}

/// Rewrites the entry of a static export's Reshape that contains the exported
/// batch size. When scaled to the new batch, it must give the right number of
/// elements, and no other entry may. Nothing if that is not certain.
static std::optional<Shape> rebatch(NodeImport &n, Ints shape,
                                    int64_t elements) {
  int64_t exported = n.graph().boundInputs().exportedBatch;
  int64_t batch = n.graph().options().batch.value_or(0);
  if (!exported || !batch)
    return std::nullopt;
  std::optional<Shape> found;
  bool isAmbiguous = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= 0 || shape[i] % exported != 0)
      continue;
    Shape scaled(shape);
    if (llvm::MulOverflow(shape[i] / exported, batch, scaled[i]))
      continue;
    if (product(scaled) != elements)
      continue;
    // If the leading dimensions are the batch, the entry is certain: the batch
    // is also the outermost part of the result.
    if (i == 0 && shape[0] == exported && !n.shapeOf(n.in(0)).empty() &&
        n.shapeOf(n.in(0))[0] == batch)
      return scaled;
    isAmbiguous |= found.has_value();
    found = scaled;
  }
  return isAmbiguous ? std::nullopt : found;
}

static void importReshape(NodeImport &n) {
  bool allowZero = n.attrInt("allowzero", 0);
  std::optional<Shape> shape = n.knownInts(1, "shape");
  if (!shape)
    return;
  Value x = n.in(0);
  int64_t elements = ir::tensorType(x).getNumElements(), open = -1;
  for (size_t i = 0; i < shape->size(); ++i) {
    int64_t &size = (*shape)[i];
    if (size == 0 && !allowZero) {
      if (int64_t(i) >= n.rankOf(x)) {
        n.fail("shape " + shownShape(*shape) + " copies dimension " +
               std::to_string(i) + " of an input of rank " +
               std::to_string(n.rankOf(x)));
        return;
      }
      size = n.shapeOf(x)[i];
    } else if (size == -1 && open < 0) {
      open = int64_t(i);
    } else if (size < 0) {
      n.fail("shape " + shownShape(*shape) + " has " +
             (size == -1 ? "more than one -1" : "a negative size"));
      return;
    }
  }
  if (open >= 0) {
    Shape rest(*shape);
    rest.erase(rest.begin() + open);
    std::optional<int64_t> known = product(rest);
    if (!known || *known == 0 || elements % *known != 0) {
      n.fail("a tensor of shape " + shownShape(n.shapeOf(x)) +
             " cannot be reshaped to " + shownShape(*shape));
      return;
    }
    (*shape)[open] = elements / *known;
  } else if (product(*shape) != elements) {
    if (std::optional<Shape> scaled = rebatch(n, *shape, elements))
      shape = scaled;
  }
  n.out(n.reshape(x, *shape));
}

static void importFlatten(NodeImport &n) {
  Value x = n.in(0);
  int64_t rank = n.rankOf(x), axis = n.attrInt("axis", 1);
  if (axis < -rank || axis > rank) {
    n.fail("attribute 'axis' is " + std::to_string(axis) +
           ", out of range for rank " + std::to_string(rank));
    return;
  }
  if (axis < 0)
    axis += rank;
  std::optional<int64_t> rows = product(n.shapeOf(x).take_front(axis));
  std::optional<int64_t> columns = product(n.shapeOf(x).drop_front(axis));
  n.out(n.reshape(x, {rows.value_or(0), columns.value_or(0)}));
}

static void importTranspose(NodeImport &n) {
  std::optional<Shape> perm = n.attrInts("perm");
  if (!perm) {
    perm.emplace(n.rankOf(n.in(0)));
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  n.out(n.transpose(n.in(0), *perm));
}

static void importSqueeze(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> dims = n.axes(1, 13, n.rankOf(x));
  if (!dims) {
    dims.emplace();
    for (int64_t i = 0; i < n.rankOf(x); ++i)
      if (n.shapeOf(x)[i] == 1)
        dims->push_back(i);
  }
  for (int64_t dim : *dims)
    if (n.shapeOf(x)[dim] != 1) {
      n.fail("dimension " + std::to_string(dim) + " has size " +
             std::to_string(n.shapeOf(x)[dim]) + "; only 1 can be squeezed");
      return;
    }
  n.out(n.squeeze(x, *dims));
}

static void importUnsqueeze(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> axes =
      n.version >= 13 ? n.knownInts(1, "axes") : n.attrInts("axes");
  if (!axes) {
    n.fail("axes are missing");
    return;
  }
  std::optional<Shape> dims =
      n.normalised(*axes, n.rankOf(x) + int64_t(axes->size()));
  if (dims)
    n.out(n.expandDims(x, *dims));
}

static void importConcat(NodeImport &n) {
  std::optional<int64_t> given = n.attrInt("axis");
  if (!given) {
    n.fail("attribute 'axis' is missing");
    return;
  }
  for (size_t i = 0; i < n.numInputs(); ++i)
    if (!n.has(i) || n.elementOf(n.in(i)) != n.elementOf(n.in(0))) {
      n.fail("input " + std::to_string(i) +
             (n.has(i) ? " has another element type than input 0"
                       : " is missing"));
      return;
    }
  if (std::optional<int64_t> axis = n.axis(*given, n.rankOf(n.in(0))))
    n.out(n.concat(n.inputs(), *axis));
}

/// The sizes of a Split's parts; nothing after fail().
static std::optional<Shape> splitSizes(NodeImport &n, int64_t size) {
  int64_t parts = int64_t(n.numOutputs());
  std::optional<Shape> sizes =
      n.version >= 13 ? n.knownInts(1, "split") : n.attrInts("split");
  std::optional<int64_t> given =
      n.version >= 18 ? n.attrInt("num_outputs") : std::nullopt;
  if (n.failed())
    return std::nullopt;
  if (given && (sizes || *given != parts)) {
    n.fail("attribute 'num_outputs' is " + std::to_string(*given) +
           (sizes ? "; it excludes the input 'split'"
                  : "; the node has " + std::to_string(parts) + " outputs"));
    return std::nullopt;
  }
  if (!sizes) {
    if (!given && size % parts != 0) {
      n.fail("a dimension of size " + std::to_string(size) + " has no " +
             std::to_string(parts) + " equal parts");
      return std::nullopt;
    }
    int64_t chunk = (size + parts - 1) / parts;
    sizes.emplace();
    for (int64_t i = 0; i < parts; ++i)
      sizes->push_back(std::clamp<int64_t>(size - i * chunk, 0, chunk));
  }
  if (product(*sizes) == std::nullopt || int64_t(sizes->size()) != parts ||
      std::accumulate(sizes->begin(), sizes->end(), int64_t(0)) != size) {
    n.fail("split sizes " + shownShape(*sizes) +
           " do not make up the dimension's " + std::to_string(size) + " for " +
           std::to_string(parts) + " outputs");
    return std::nullopt;
  }
  return sizes;
}

static void importSplit(NodeImport &n) {
  Value x = n.in(0);
  std::optional<int64_t> axis = n.axis(n.attrInt("axis", 0), n.rankOf(x));
  if (!axis || n.numOutputs() == 0)
    return;
  std::optional<Shape> sizes = splitSizes(n, n.shapeOf(x)[*axis]);
  if (!sizes)
    return;
  int64_t start = 0;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if (n.wants(i))
      n.out(i, n.sliceDim(x, *axis, start, start + (*sizes)[i]));
    start += (*sizes)[i];
  }
}

/// One dimension of ONNX's Slice. It clamps like NumPy; negative steps go
/// backwards.
static Value sliceOne(NodeImport &n, Value x, int64_t dim, int64_t start,
                      int64_t end, int64_t step) {
  int64_t size = n.shapeOf(x)[dim];
  step = std::clamp(step, -size - 1, size + 1);
  auto clampTo = [&](int64_t at, int64_t least, int64_t greatest) {
    return std::clamp(at < 0 ? at + size : at, least, greatest);
  };
  if (step > 0) {
    start = clampTo(start, 0, size);
    end = clampTo(end, start, std::max(size, start));
  } else {
    x = n.reverse(x, {dim});
    start = size - 1 - clampTo(start, -1, size - 1);
    end = std::max(size - 1 - clampTo(end, -1, size - 1), start);
    step = -step;
  }
  return n.sliceDim(x, dim, start, end, step);
}

static void importSlice(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> starts, ends, axes, steps;
  if (n.version < 10) {
    starts = n.attrInts("starts");
    ends = n.attrInts("ends");
    axes = n.attrInts("axes");
  } else {
    if (n.has(1) && n.has(2) && !(n.constantOf(1) && n.constantOf(2)))
      if (Value open = emitOpenSlice(n)) {
        n.out(open);
        return;
      }
    starts = n.knownInts(1, "starts");
    ends = n.knownInts(2, "ends");
    axes = n.knownInts(3, "axes");
    steps = n.knownInts(4, "steps");
  }
  if (!starts || !ends) {
    n.fail("starts and ends are missing");
    return;
  }
  size_t count = starts->size();
  if (!axes) {
    axes.emplace(count);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps)
    steps.emplace(count, 1);
  if (ends->size() != count || axes->size() != count ||
      steps->size() != count) {
    n.fail("starts, ends, axes and steps have different lengths");
    return;
  }
  if (!n.normalised(*axes, n.rankOf(x)))
    return;
  for (size_t i = 0; i < count; ++i) {
    if ((*steps)[i] == 0) {
      n.fail("a step is 0");
      return;
    }
    std::optional<int64_t> axis = n.axis((*axes)[i], n.rankOf(x));
    x = sliceOne(n, x, *axis, (*starts)[i], (*ends)[i], (*steps)[i]);
    if (!x)
      return;
  }
  n.out(x);
}

static void importExpand(NodeImport &n) {
  if (!n.constantOf(1))
    if (Value open = emitOpenExpand(n, n.in(0), n.in(1))) {
      n.out(open);
      return;
    }
  std::optional<Shape> shape = n.knownInts(1, "shape");
  if (!shape)
    return;
  if (!n.typeOf(*shape, n.elementOf(n.in(0))))
    return;
  std::optional<Shape> result = ir::broadcastShapes(n.shapeOf(n.in(0)), *shape);
  if (!result) {
    n.fail("shape " + shownShape(n.shapeOf(n.in(0))) +
           " does not broadcast with " + shownShape(*shape));
    return;
  }
  n.out(n.broadcast(n.in(0), *result));
}

static void importTile(NodeImport &n) {
  Value x = n.in(0);
  std::optional<Shape> repeats = n.knownInts(1, "repeats");
  if (!repeats)
    return;
  bool isNegative = llvm::any_of(*repeats, [](int64_t r) { return r < 0; });
  if (int64_t(repeats->size()) != n.rankOf(x) || isNegative) {
    n.fail("repeats " + shownShape(*repeats) + " do not fit an input of rank " +
           std::to_string(n.rankOf(x)));
    return;
  }
  // [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r a, s b], with pairs only where
  // needed.
  Shape apart, spread, result, unit;
  for (int64_t i = 0; i < n.rankOf(x); ++i) {
    int64_t size = n.shapeOf(x)[i], times = (*repeats)[i], total;
    if (times != 1) {
      apart.push_back(1);
      spread.push_back(times);
    }
    apart.push_back(size);
    spread.push_back(size);
    if (llvm::MulOverflow(size, times, total))
      total = INT64_MAX;
    result.push_back(total);
  }
  if (!n.typeOf(result, n.elementOf(x)))
    return;
  n.out(n.reshape(n.broadcast(n.reshape(x, apart), spread), result));
}

static void importShape(NodeImport &n) {
  Value x = n.in(0);
  int64_t rank = n.rankOf(x), start = 0, end = rank;
  if (n.version >= 15) {
    start = n.attrInt("start", 0);
    end = n.attrInt("end", rank);
  }
  start = std::clamp(start < 0 ? start + rank : start, int64_t(0), rank);
  end = std::clamp(end < 0 ? end + rank : end, start, rank);
  n.out(n.ints(n.shapeOf(x).slice(start, end - start)));
}

static void importSize(NodeImport &n) {
  n.out(n.ints({ir::tensorType(n.in(0)).getNumElements()}, {}));
}

/// For [N, C, H, W] with blocks of b x b that move between C and H, W.
static std::optional<int64_t> readBlock(NodeImport &n) {
  std::optional<int64_t> block = n.attrInt("blocksize");
  if (n.failed())
    return std::nullopt;
  if (!block || *block < 1 || *block > (1 << 20) || n.rankOf(n.in(0)) != 4) {
    n.fail("needs a positive attribute 'blocksize' and an input of rank 4");
    return std::nullopt;
  }
  return block;
}

static void importDepthToSpace(NodeImport &n) {
  std::string mode = n.attrString("mode", "DCR");
  std::optional<int64_t> block = readBlock(n);
  if (!block)
    return;
  if (mode != "DCR" && mode != "CRD") {
    n.fail("attribute 'mode' is " + quoted(mode) +
           "; it must be 'DCR' or 'CRD'");
    return;
  }
  Value x = n.in(0);
  Shape s(n.shapeOf(x));
  int64_t b = *block, depth = s[1] / (b * b);
  if (s[1] % (b * b) != 0) {
    n.fail("blocks of " + std::to_string(b) + " x " + std::to_string(b) +
           " do not divide " + std::to_string(s[1]) + " channels");
    return;
  }
  bool isDcr = mode == "DCR";
  Value apart = n.reshape(x, isDcr ? Shape{s[0], b, b, depth, s[2], s[3]}
                                   : Shape{s[0], depth, b, b, s[2], s[3]});
  Value moved = n.transpose(apart, isDcr ? Shape{0, 3, 4, 1, 5, 2}
                                         : Shape{0, 1, 4, 2, 5, 3});
  n.out(n.reshape(moved, {s[0], depth, s[2] * b, s[3] * b}));
}

static void importSpaceToDepth(NodeImport &n) {
  std::optional<int64_t> block = readBlock(n);
  if (!block)
    return;
  Value x = n.in(0);
  Shape s(n.shapeOf(x));
  int64_t b = *block;
  if (s[2] % b != 0 || s[3] % b != 0) {
    n.fail("blocks of " + std::to_string(b) + " x " + std::to_string(b) +
           " do not divide " + std::to_string(s[2]) + " x " +
           std::to_string(s[3]));
    return;
  }
  Value apart = n.reshape(x, {s[0], s[1], s[2] / b, b, s[3] / b, b});
  n.out(n.reshape(n.transpose(apart, {0, 3, 5, 1, 2, 4}),
                  {s[0], s[1] * b * b, s[2] / b, s[3] / b}));
}

static void importTrilu(NodeImport &n) {
  bool isUpper = n.attrInt("upper", 1);
  Value x = n.in(0);
  int64_t k = 0;
  if (n.has(1)) {
    std::optional<int64_t> given = n.knownInt(1, "k");
    if (!given)
      return;
    k = *given;
  }
  if (!n.requireRank(0, 2))
    return;
  Shape plane(n.shapeOf(x).take_back(2));
  k = std::clamp(k, -plane[0] - 1, plane[1] + 1);
  Value row = n.iota(plane, 0, n.i64()), column = n.iota(plane, 1, n.i64());
  Value diagonal = n.add(row, n.ints({k}, {}));
  Value isKept = n.compare(isUpper ? ir::CompareKind::ge : ir::CompareKind::le,
                           column, diagonal);
  n.out(n.where(isKept, x, n.splatLike(x, 0)));
}

llvm::ArrayRef<OpRow> shapeOps() {
  static constexpr OpRow rows[] = {
      {"Concat", importConcat, 1, kAny},
      {"DepthToSpace", importDepthToSpace, 1, 1},
      {"Expand", importExpand, 2, 2, 1, 8},
      {"Flatten", importFlatten, 1, 1},
      {"Reshape", importReshape, 2, 2},
      {"Shape", importShape, 1, 1},
      {"Size", importSize, 1, 1},
      {"Slice", importSlice, 1, 5},
      {"SpaceToDepth", importSpaceToDepth, 1, 1},
      {"Split", importSplit, 1, 2, kAny},
      {"Squeeze", importSqueeze, 1, 2},
      {"Tile", importTile, 2, 2},
      {"Transpose", importTranspose, 1, 1},
      {"Trilu", importTrilu, 1, 2, 1, 14},
      {"Unsqueeze", importUnsqueeze, 1, 2},
  };
  return rows;
}

} // namespace sinter::compiler
