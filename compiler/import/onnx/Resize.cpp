//===- Resize.cpp - interpolation along dimensions ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All modes are separable. Along each dimension, an output element is a
// weighted sum of a few input elements, whose positions and weights are known
// at compile time.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace sinter::compiler {

static constexpr int64_t kMaxTable = int64_t(1) << 22;

namespace {
enum class Mode { Nearest, Linear, Cubic };

struct Axis {
  int64_t dim, input, output;
  double scale = 1;
  /// The length of the output; with 'scales' it may be no whole number.
  double length = 0;
  double roiStart = 0, roiEnd = 1;

  Axis(int64_t dim, int64_t input)
      : dim(dim), input(input), output(input), length(double(input)) {}
};

struct ResizeOptions {
  Mode mode;
  std::string coordinates, nearest;
  bool nearestByScale = false; // opset 10: ceil if scale < 1, else floor
  double cubicA = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

/// The input elements and weights of one output element.
struct Taps {
  llvm::SmallVector<int64_t, 4> at;
  llvm::SmallVector<double, 4> weight;
};
} // namespace

/// The position of output element `o` in the input; it may be fractional or
/// outside.
static double placeOf(const ResizeOptions &options, const Axis &axis,
                      int64_t o) {
  double x = double(o), length = axis.length;
  double half = (x + 0.5) / axis.scale - 0.5;
  const std::string &mode = options.coordinates;
  if (mode == "half_pixel")
    return half;
  if (mode == "pytorch_half_pixel")
    return length > 1 ? half : 0;
  if (mode == "half_pixel_symmetric") {
    // The order of additions decides which element 'nearest' takes; it is that
    // of ONNX's reference evaluator.
    double offset = double(axis.input) / 2 * (1 - double(axis.output) / length);
    return offset + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "align_corners")
    return length == 1 ? 0 : x * double(axis.input - 1) / (length - 1);
  if (mode == "asymmetric")
    return x / axis.scale;
  if (mode == "tf_half_pixel_for_nn")
    return (x + 0.5) / axis.scale;
  // tf_crop_and_resize
  double last = double(axis.input - 1);
  if (axis.output <= 1)
    return 0.5 * (axis.roiStart + axis.roiEnd) * last;
  return axis.roiStart * last +
         x * (axis.roiEnd - axis.roiStart) * last / double(axis.output - 1);
}

static bool isKnownMode(const std::string &mode) {
  return llvm::is_contained({"half_pixel", "pytorch_half_pixel",
                             "half_pixel_symmetric", "align_corners",
                             "asymmetric", "tf_half_pixel_for_nn",
                             "tf_crop_and_resize"},
                            mode);
}

static double roundNearest(const std::string &mode, double place) {
  if (mode == "round_prefer_floor")
    return std::ceil(place - 0.5);
  if (mode == "round_prefer_ceil")
    return std::floor(place + 0.5);
  return mode == "floor" ? std::floor(place) : std::ceil(place);
}

/// The interpolation kernel at distance `d`.
static double kernelAt(const ResizeOptions &options, double d) {
  d = std::abs(d);
  if (options.mode == Mode::Linear)
    return std::max(0.0, 1 - d);
  double a = options.cubicA;
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static Taps tapsOf(const ResizeOptions &options, const Axis &axis, int64_t o) {
  double place = placeOf(options, axis, o);
  // Far outside, the position has no effect; the bound keeps casts defined.
  place =
      std::clamp(place, -4.0 - double(axis.input), 4 + 2 * double(axis.input));
  Taps taps;
  auto inside = [&](double at) {
    return int64_t(std::clamp(at, 0.0, double(axis.input - 1)));
  };
  if (options.mode == Mode::Nearest) {
    std::string mode = options.nearest;
    if (options.nearestByScale)
      mode = axis.scale < 1 ? "ceil" : "floor";
    taps.at.push_back(inside(roundNearest(mode, place)));
    taps.weight.push_back(1);
    return taps;
  }
  bool smooths = options.antialias && axis.scale < 1;
  double stretch = smooths ? axis.scale : 1;
  double reach = (options.mode == Mode::Linear ? 1 : 2) / stretch;
  double first =
      smooths ? std::ceil(place - reach) : std::floor(place) - (reach - 1);
  double last = smooths ? std::floor(place + reach) : first + 2 * reach - 1;
  bool excludes = options.excludeOutside;
  double total = 0;
  for (double at = first; at <= last; ++at) {
    double weight = kernelAt(options, (at - place) * stretch);
    if (excludes && (at < 0 || at >= double(axis.input)))
      weight = 0;
    taps.at.push_back(inside(at));
    taps.weight.push_back(weight);
    total += weight;
  }
  if ((excludes || smooths) && total != 0)
    for (double &weight : taps.weight)
      weight /= total;
  return taps;
}

/// Warns if the results for 'align_corners' are not those of implementations
/// that round the length of the output to its size. Returns whether it did.
static bool warnOfFraction(NodeImport &n, const ResizeOptions &options,
                           const Axis &axis) {
  Axis whole = axis;
  whole.length = double(axis.output);
  if (options.coordinates != "align_corners" || whole.length == axis.length)
    return false;
  for (int64_t o = 0; o < axis.output; ++o) {
    // Below that, a difference is only the rounding of a float32 scale.
    double moved = placeOf(options, axis, o) - placeOf(options, whole, o);
    bool differs =
        options.mode == Mode::Nearest
            ? tapsOf(options, axis, o).at != tapsOf(options, whole, o).at
            : std::abs(moved) > 1e-6 * double(axis.input);
    if (!differs)
      continue;
    std::string length;
    llvm::raw_string_ostream(length) << llvm::format("%.9g", axis.length);
    n.warn("align_corners uses " + length + " as the length of dimension " +
           std::to_string(axis.dim) +
           ", like ONNX's reference evaluator; ONNX Runtime and PyTorch use " +
           std::to_string(axis.output) +
           ", so their results differ (with 'sizes' they are the same)");
    return true;
  }
  return false;
}

/// Repeats every element `times` times along `dim`.
static Value repeat(NodeImport &n, Value x, int64_t dim, int64_t times) {
  Shape spread(n.shapeOf(x)), result(n.shapeOf(x));
  spread.insert(spread.begin() + dim + 1, times);
  result[dim] *= times;
  return n.reshape(n.broadcast(n.expandDims(x, {dim + 1}), spread), result);
}

static Value resizeAxis(NodeImport &n, Value x, const ResizeOptions &options,
                        const Axis &axis) {
  std::vector<Taps> all;
  size_t width = 0;
  for (int64_t o = 0; o < axis.output; ++o) {
    all.push_back(tapsOf(options, axis, o));
    width = std::max(width, all.back().at.size());
    if (width * size_t(axis.output) > size_t(kMaxTable))
      return n.unsupported("interpolation tables of more than 2^22 entries");
  }
  if (options.mode == Mode::Nearest) {
    Shape table;
    for (const Taps &taps : all)
      table.push_back(taps.at.front());
    int64_t times = axis.input ? axis.output / axis.input : 0;
    bool isRepeat = times * axis.input == axis.output;
    for (int64_t o = 0; isRepeat && o < axis.output; ++o)
      isRepeat = table[o] == o / times;
    return isRepeat ? repeat(n, x, axis.dim, times)
                    : n.gather(x, n.ints(table), axis.dim);
  }
  Type element = n.elementOf(x);
  if (width > 4) {
    // Wide filters become a matrix along the dimension.
    std::vector<double> matrix(size_t(axis.input * axis.output));
    if (axis.input * axis.output > kMaxTable)
      return n.unsupported("interpolation tables of more than 2^22 entries");
    for (int64_t o = 0; o < axis.output; ++o)
      for (auto [at, weight] : llvm::zip_equal(all[o].at, all[o].weight))
        matrix[size_t(at * axis.output + o)] += weight;
    Value table = n.floats(matrix, {axis.input, axis.output}, element);
    Value y = n.dot(x, table, {}, {}, {axis.dim}, {0});
    Shape perm; // the product puts the contracted dimension last
    for (int64_t i = 0; i < n.rankOf(x); ++i)
      perm.push_back(i < axis.dim    ? i
                     : i == axis.dim ? n.rankOf(x) - 1
                                     : i - 1);
    return n.transpose(y, perm);
  }
  Shape result(n.shapeOf(x));
  result[axis.dim] = axis.output;
  // There may be no sum: outside of a region all weights can be zero, and an
  // empty result has no taps.
  Value sum;
  for (size_t k = 0; k < width; ++k) {
    Shape table;
    llvm::SmallVector<double> weights;
    for (const Taps &taps : all) {
      table.push_back(k < taps.at.size() ? taps.at[k] : 0);
      weights.push_back(k < taps.at.size() ? taps.weight[k] : 0);
    }
    if (llvm::all_of(weights, [](double w) { return w == 0; }))
      continue;
    Value part = n.gather(x, n.ints(table), axis.dim);
    if (!llvm::all_of(weights, [](double w) { return w == 1; })) {
      Value factors = n.floats(weights, {int64_t(weights.size())}, element);
      part =
          n.mul(part, n.broadcastInDims(factors, {axis.dim}, n.shapeOf(part)));
    }
    sum = sum ? n.add(sum, part) : part;
  }
  return sum ? sum : n.splat(result, element, 0);
}

static Value resize(NodeImport &n, Value x, const ResizeOptions &options,
                    ArrayRef<Axis> axes) {
  Type element = n.elementOf(x);
  bool widens = options.mode != Mode::Nearest && !n.isFloat(x);
  if (widens)
    x = n.cast(x, n.f32());
  bool crops = options.coordinates == "tf_crop_and_resize", hasWarned = false;
  for (const Axis &axis : axes) {
    if (axis.input == 0 && axis.output != 0)
      return n.fail("dimension " + std::to_string(axis.dim) +
                    " is empty; it cannot grow");
    if (axis.output > kMaxTable)
      return n.unsupported("a dimension of more than 2^22 elements");
    if (axis.output == axis.input && axis.scale == 1 && !crops)
      continue;
    hasWarned = hasWarned || warnOfFraction(n, options, axis);
    x = resizeAxis(n, x, options, axis);
    if (!x)
      return {};
  }
  for (const Axis &axis : axes) {
    if (!crops)
      break;
    ir::Tensor isInside(RankedTensorType::get({axis.output}, n.i1()));
    bool anyOutside = false;
    for (int64_t o = 0; o < axis.output; ++o) {
      double place = placeOf(options, axis, o);
      isInside.ints[o] = place >= 0 && place <= double(axis.input - 1);
      anyOutside |= !isInside.ints[o];
    }
    if (anyOutside)
      x = n.where(
          n.broadcastInDims(n.constant(isInside), {axis.dim}, n.shapeOf(x)), x,
          n.splatLike(x, options.extrapolation));
  }
  return widens ? n.cast(x, element) : x;
}

//===----------------------------------------------------------------------===//
// Inputs and attributes
//===----------------------------------------------------------------------===//

static bool readMode(NodeImport &n, ResizeOptions &options) {
  std::string mode = n.attrString("mode", "nearest");
  if (mode == "nearest")
    options.mode = Mode::Nearest;
  else if (mode == "linear" || mode == "bilinear")
    options.mode = Mode::Linear;
  else if (mode == "cubic" && n.version >= 11)
    options.mode = Mode::Cubic;
  else if (mode == "cubic")
    n.fail("the mode 'cubic' exists in Resize from operator set 11; the model "
           "imports " +
           std::to_string(n.version));
  else
    n.fail("attribute 'mode' is " + quoted(mode) + "; it must be 'nearest'" +
           (n.version < 11 ? " or 'linear'" : ", 'linear' or 'cubic'"));
  return !n.failed();
}

/// The output size is that of ONNX Runtime and of PyTorch's exporter: the floor
/// of a product in float32. 20 x 0.7 is 14; in float64 it would be 13.
static bool setScale(NodeImport &n, Axis &axis, double scale) {
  axis.scale = scale;
  axis.length = double(axis.input) * scale;
  float output = std::floor(float(axis.input) * float(scale));
  if (!(scale > 0) || !(output >= 0) || output > 1e12f) {
    n.fail("a scale is " + std::to_string(scale) + "; it must be positive");
    return false;
  }
  axis.output = int64_t(output);
  return true;
}

static bool setSizes(NodeImport &n, SmallVectorImpl<Axis> &axes, Ints sizes,
                     const std::string &policy) {
  double chosen = policy == "not_larger" ? INFINITY : 0;
  for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
    if (size < 0 || size > (int64_t(1) << 40) ||
        (size > 0 && axis.input == 0)) {
      n.fail("size " + std::to_string(size) +
             " is not possible for a dimension of " +
             std::to_string(axis.input));
      return false;
    }
    axis.output = size;
    axis.length = double(size);
    axis.scale = axis.input ? double(size) / double(axis.input) : 1;
    chosen = policy == "not_larger" ? std::min(chosen, axis.scale)
                                    : std::max(chosen, axis.scale);
  }
  if (policy == "stretch")
    return true;
  if (policy != "not_larger" && policy != "not_smaller") {
    n.fail("attribute 'keep_aspect_ratio_policy' is " + quoted(policy) +
           "; it must be 'stretch', 'not_larger' or 'not_smaller'");
    return false;
  }
  for (Axis &axis : axes) {
    axis.scale = chosen;
    axis.length = chosen * double(axis.input);
    axis.output = int64_t(std::floor(axis.length + 0.5));
  }
  return true;
}

static void importResize(NodeImport &n) {
  Value x = n.in(0);
  int64_t rank = n.rankOf(x);
  ResizeOptions options;
  if (!readMode(n, options))
    return;
  options.coordinates = "asymmetric";
  options.nearest = "floor";
  options.nearestByScale = n.version == 10;
  std::string policy = "stretch";
  Shape dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(i);
  if (n.version >= 11) {
    options.coordinates =
        n.attrString("coordinate_transformation_mode", "half_pixel");
    options.nearest = n.attrString("nearest_mode", "round_prefer_floor");
    options.cubicA = n.attrFloat("cubic_coeff_a", -0.75);
    options.extrapolation = n.attrFloat("extrapolation_value", 0);
    options.excludeOutside = n.attrInt("exclude_outside", 0);
  }
  if (n.version >= 18) {
    options.antialias = n.attrInt("antialias", 0);
    policy = n.attrString("keep_aspect_ratio_policy", "stretch");
    if (std::optional<Shape> given = n.attrInts("axes")) {
      if (!n.normalised(*given, rank))
        return;
      dims.clear();
      for (int64_t axis : *given)
        dims.push_back(*n.axis(axis, rank));
    }
  }
  if (n.failed())
    return;
  if (!isKnownMode(options.coordinates)) {
    n.fail("attribute 'coordinate_transformation_mode' is " +
           quoted(options.coordinates) + ", which is not a mode");
    return;
  }
  if (!llvm::is_contained(
          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
          options.nearest)) {
    n.fail("attribute 'nearest_mode' is " + quoted(options.nearest) +
           ", which is not a mode");
    return;
  }

  llvm::SmallVector<Axis> axes;
  for (int64_t dim : dims)
    axes.push_back({dim, n.shapeOf(x)[dim]});
  size_t scalesAt = n.version < 11 ? 1 : 2;
  bool agreesOnScales = true;
  auto floatsOf = [&](size_t i, StringRef field, size_t count) {
    std::optional<ir::Tensor> tensor = n.known(i, field);
    if (tensor && (!tensor->isFloat() || size_t(tensor->size()) != count)) {
      n.fail("input " + quoted(field) + " must be " + std::to_string(count) +
             " floats");
      return std::optional<ir::Tensor>();
    }
    return tensor;
  };
  if (options.coordinates == "tf_crop_and_resize") {
    std::optional<ir::Tensor> roi = floatsOf(1, "roi", 2 * axes.size());
    if (!roi)
      n.fail("input 'roi' is missing");
    if (n.failed())
      return;
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].roiStart = roi->floats[i];
      axes[i].roiEnd = roi->floats[i + axes.size()];
      // ONNX's specification scales the region's size; ONNX Runtime and ONNX's
      // own evaluator scale the input's size.
      if (axes[i].roiStart != 0 || axes[i].roiEnd != 1)
        agreesOnScales = false;
    }
  } else if (n.version >= 11) {
    n.ignoreInput(1); // only tf_crop_and_resize uses roi
  }
  // An empty tensor stands for an absent input in operator set 11.
  bool hasScales =
      n.has(scalesAt) && ir::tensorType(n.in(scalesAt)).getNumElements() > 0;
  bool hasSizes = n.has(3) && ir::tensorType(n.in(3)).getNumElements() > 0;
  if (hasScales == hasSizes) {
    n.fail("exactly one of 'scales' and 'sizes' must be given");
    return;
  }
  if (hasScales && !agreesOnScales) {
    n.unsupported("tf_crop_and_resize of a part of the input with 'scales' "
                  "(implementations disagree on the size of the result; use "
                  "'sizes')");
    return;
  }
  if (hasScales) {
    std::optional<ir::Tensor> scales =
        floatsOf(scalesAt, "scales", axes.size());
    if (!scales)
      return;
    for (size_t i = 0; i < axes.size(); ++i)
      if (!setScale(n, axes[i], scales->floats[i]))
        return;
  } else {
    std::optional<Shape> sizes = n.knownInts(3, "sizes");
    if (!sizes)
      return;
    if (sizes->size() != axes.size()) {
      n.fail("input 'sizes' must have " + std::to_string(axes.size()) +
             " entries");
      return;
    }
    if (!setSizes(n, axes, *sizes, policy))
      return;
  }
  n.out(resize(n, x, options, axes));
}

static void importUpsample(NodeImport &n) {
  Value x = n.in(0);
  ResizeOptions options;
  options.coordinates = "asymmetric";
  options.nearest = "floor";
  if (!readMode(n, options))
    return;
  llvm::SmallVector<double> scales;
  if (n.version < 9) {
    if (auto given = n.attrFloats("scales"))
      scales = *given;
  } else if (std::optional<ir::Tensor> given = n.known(1, "scales")) {
    scales.assign(given->floats.begin(), given->floats.end());
  }
  if (n.failed())
    return;
  if (int64_t(scales.size()) != n.rankOf(x)) {
    n.fail("scales must have " + std::to_string(n.rankOf(x)) + " entries");
    return;
  }
  llvm::SmallVector<Axis> axes;
  for (int64_t dim = 0; dim < n.rankOf(x); ++dim) {
    axes.push_back({dim, n.shapeOf(x)[dim]});
    if (!setScale(n, axes.back(), scales[dim]))
      return;
  }
  n.out(resize(n, x, options, axes));
}

llvm::ArrayRef<OpRow> resizeOps() {
  static constexpr OpRow rows[] = {
      {"Resize", importResize, 1, 4, 1, 10},
      {"Upsample", importUpsample, 1, 2, 1, 7, 10},
  };
  return rows;
}

} // namespace sinter::compiler
