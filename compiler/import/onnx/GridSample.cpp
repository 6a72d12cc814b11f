//===- GridSample.cpp - samples at positions given by data ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// X is [N, C, H, W], the grid [N, P, Q, 2] with (x, y) in [-1, 1]. An output
// element is a weighted sum of taps, as in Resize, but indices and weights are
// computed at run time.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"

using namespace mlir;

namespace sinter::compiler {

namespace {

class GridSample {
public:
  explicit GridSample(NodeImport &n) : n(n) {}

  void run() {
    std::string mode =
        n.attrString("mode", n.version < 20 ? "bilinear" : "linear");
    padding_ = n.attrString("padding_mode", "zeros");
    aligns_ = n.attrInt("align_corners", 0);
    if (!n.requireFloat() || !n.requireFloat(1))
      return;
    if (n.rankOf(n.in(0)) != 4) {
      n.unsupported("inputs of rank " + std::to_string(n.rankOf(n.in(0))));
      return;
    }
    Shape x(n.shapeOf(n.in(0))), grid(n.shapeOf(n.in(1)));
    if (grid.size() != 4 || grid[0] != x[0] || grid[3] != 2 || x[2] < 1 ||
        x[3] < 1) {
      n.fail("grid has shape " + shownShape(grid) + " for an input of shape " +
             shownShape(x));
      return;
    }
    if (padding_ != "zeros" && padding_ != "border" &&
        padding_ != "reflection") {
      n.fail("attribute 'padding_mode' is " + quoted(padding_) +
             "; it must be 'zeros', 'border' or 'reflection'");
      return;
    }
    batch_ = x[0], channels_ = x[1], sizes_[0] = x[2], sizes_[1] = x[3];
    points_ = grid[1] * grid[2];
    flat_ = n.reshape(n.in(0), {batch_, channels_, x[2] * x[3]});
    Value y;
    if (mode == "nearest")
      y = nearest();
    else if (mode == "bilinear" || mode == "linear")
      y = interpolate(false);
    else if (mode == "bicubic" || mode == "cubic")
      y = interpolate(true);
    else
      y = n.fail("attribute 'mode' is " + quoted(mode) +
                 "; it must be nearest, linear or cubic");
    n.out(n.reshape(y, {batch_, channels_, grid[1], grid[2]}));
  }

private:
  Value clamp(Value v, double low, double high) {
    return n.min(n.max(v, n.splatLike(v, low)), n.splatLike(v, high));
  }

  /// Reflects `v` at the borders of dimension `d` (0 is y, 1 is x).
  Value reflect(Value v, int d) {
    double low = aligns_ ? 0 : -0.5;
    double range = double(sizes_[d]) - (aligns_ ? 1 : 0);
    if (range == 0)
      return n.splatLike(v, low);
    Value phase =
        n.binary<ir::ModOp>(n.add(v, -low), n.splatLike(v, 2 * range));
    Value back = n.add(n.unary<ir::NegOp>(phase), 2 * range);
    return n.add(n.min(phase, back), low);
  }

  /// Positions along dimension `d`, [N, 1, points], in units of input elements.
  /// In cubic mode, a position beyond the border is kept, and only the taps are
  /// clamped to the border (fetch), as in PyTorch and ONNX Runtime. The value
  /// there differs from that of the border.
  Value places(int d, bool isCubic = false) {
    Value v = n.sliceDim(n.in(1), 3, 1 - d, 2 - d);
    v = n.cast(n.reshape(v, {batch_, 1, points_}), n.elementOf(n.in(0)));
    double size = double(sizes_[d]);
    v = aligns_ ? n.mul(n.add(v, 1), (size - 1) / 2)
                : n.mul(n.add(n.mul(n.add(v, 1), size), -1), 0.5);
    if (padding_ == "border")
      return isCubic ? v : clamp(v, 0, size - 1);
    return padding_ == "reflection" ? reflect(v, d) : v;
  }

  /// Input elements at integral positions, zeros where the padding requires it.
  Value fetch(Value y, Value x) {
    Value places[] = {y, x}, isInside, index;
    for (int d : {0, 1}) {
      double last = double(sizes_[d] - 1);
      if (padding_ == "zeros") {
        Value zero = n.splatLike(places[d], 0),
              end = n.splatLike(places[d], last);
        Value inside =
            n.binary<ir::AndOp>(n.compare(ir::CompareKind::ge, places[d], zero),
                                n.compare(ir::CompareKind::le, places[d], end));
        isInside = isInside ? n.binary<ir::AndOp>(isInside, inside) : inside;
      } else if (padding_ == "reflection") {
        places[d] = reflect(places[d], d);
      }
      Value at = n.cast(clamp(places[d], 0, last), n.i64());
      index = index ? n.add(n.mul(index, double(sizes_[1])), at) : at;
    }
    Shape shape = {batch_, channels_, points_};
    Value values = n.gatherElements(flat_, n.broadcast(index, shape), 2);
    return isInside ? n.where(isInside, values, n.splatLike(values, 0))
                    : values;
  }

  Value nearest() {
    return fetch(n.unary<ir::RoundOp>(places(0)),
                 n.unary<ir::RoundOp>(places(1)));
  }

  /// The weight of the tap at `distance` >= 0.
  Value weight(Value distance, bool isCubic, bool isNear) {
    if (!isCubic)
      return n.add(n.unary<ir::NegOp>(distance), 1);
    constexpr double a = -0.75;
    Value d = distance, square = n.mul(d, d);
    if (isNear) // ((a + 2) d - (a + 3)) d^2 + 1
      return n.add(n.mul(n.add(n.mul(d, a + 2), -(a + 3)), square), 1);
    // ((a d - 5 a) d + 8 a) d - 4 a
    return n.add(n.mul(n.add(n.mul(n.add(n.mul(d, a), -5 * a), d), 8 * a), d),
                 -4 * a);
  }

  Value interpolate(bool isCubic) {
    Value place[] = {places(0, isCubic), places(1, isCubic)}, base[2],
          fraction[2];
    for (int d : {0, 1}) {
      base[d] = n.unary<ir::FloorOp>(place[d]);
      fraction[d] = n.sub(place[d], base[d]);
    }
    int first = isCubic ? -1 : 0, last = isCubic ? 2 : 1;
    auto weightAt = [&](int d, int tap) {
      Value distance =
          tap <= 0 ? n.add(fraction[d], double(-tap))
                   : n.add(n.unary<ir::NegOp>(fraction[d]), double(tap));
      return weight(distance, isCubic, tap == 0 || tap == 1);
    };
    Value sum;
    for (int i = first; i <= last; ++i) {
      Value row;
      for (int k = first; k <= last; ++k) {
        Value part =
            n.mul(fetch(n.add(base[0], double(i)), n.add(base[1], double(k))),
                  weightAt(1, k));
        row = row ? n.add(row, part) : part;
      }
      row = n.mul(row, weightAt(0, i));
      sum = sum ? n.add(sum, row) : row;
    }
    return sum;
  }

  NodeImport &n;
  std::string padding_;
  bool aligns_ = false;
  int64_t batch_ = 0, channels_ = 0, points_ = 0, sizes_[2] = {};
  Value flat_;
};

} // namespace

static void importGridSample(NodeImport &n) { GridSample(n).run(); }

/// theta * (x, y, [z,] 1) at every position of an image between -1 and 1.
static void importAffineGrid(NodeImport &n) {
  bool aligns = n.attrInt("align_corners", 0);
  std::optional<Shape> size = n.knownInts(1, "size");
  Value theta = n.in(0);
  if (!size || !n.requireFloat())
    return;
  int64_t count = int64_t(size->size()) - 2;
  Shape expected = {size->empty() ? 0 : size->front(), count, count + 1};
  if ((count != 2 && count != 3) || n.shapeOf(theta) != Ints(expected)) {
    n.fail("theta of shape " + shownShape(n.shapeOf(theta)) +
           " does not fit an image of shape " + shownShape(*size));
    return;
  }
  Shape image(size->begin() + 2, size->end());
  Type element = n.elementOf(theta);
  if (!n.typeOf(image, element))
    return;
  SmallVector<Value> places; // the last dimension is x
  Shape apart(image);
  apart.push_back(1);
  for (int64_t d = count; d-- > 0;) {
    double steps = double(aligns ? image[d] - 1 : image[d]);
    Value at = n.cast(n.iota(apart, d, n.i64()), element);
    // A single position is in the middle, at 0.
    at = aligns ? n.mul(at, steps > 0 ? 2 / steps : 0)
                : n.mul(n.add(at, 0.5), steps > 0 ? 2 / steps : 0);
    places.push_back(n.add(at, aligns && steps == 0 ? 0 : -1));
  }
  places.push_back(n.splat(apart, element, 1));
  Value y = n.dot(theta, n.concat(places, count), {}, {}, {2}, {count});
  // [N, count, D.., W] -> [N, D.., W, count]
  Shape perm = {0};
  for (int64_t d = 0; d < count; ++d)
    perm.push_back(d + 2);
  perm.push_back(1);
  n.out(n.transpose(y, perm));
}

llvm::ArrayRef<OpRow> gridSampleOps() {
  static constexpr OpRow rows[] = {
      {"AffineGrid", importAffineGrid, 2, 2, 1, 20},
      {"GridSample", importGridSample, 2, 2, 1, 16},
  };
  return rows;
}

} // namespace sinter::compiler
