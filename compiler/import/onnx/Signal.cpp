//===- Signal.cpp - window functions and Fourier transforms ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/base/Text.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Registry.h"
#include "compiler/import/onnx/TensorReader.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

/// a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), where N is the size, or the
/// size minus 1 if symmetric.
static void importWindow(NodeImport &n, double a0, double a1, double a2) {
  bool periodic = n.attrInt("periodic", 1);
  int64_t dataType = n.attrInt("output_datatype", 1);
  Type element = dataType > 0 && dataType < 64
                     ? elementTypeOf(int32_t(dataType), n.context())
                     : Type();
  std::optional<int64_t> size = n.knownInt(0, "size");
  if (!size)
    return;
  if (!element || *size < 0 || *size > (1 << 20)) {
    n.fail("size must lie between 0 and 2^20, and output_datatype be a number "
           "type");
    return;
  }
  double period = double(periodic ? *size : std::max<int64_t>(*size - 1, 1));
  llvm::SmallVector<double> values;
  for (int64_t i = 0; i < *size; ++i) {
    double angle = 2 * M_PI * double(i) / period;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  n.out(n.cast(n.floats(values, {*size}, n.f32()), element));
}

static void importHann(NodeImport &n) { importWindow(n, 0.5, 0.5, 0); }
static void importHamming(NodeImport &n) {
  importWindow(n, 25.0 / 46, 21.0 / 46, 0);
}
static void importBlackman(NodeImport &n) { importWindow(n, 0.42, 0.5, 0.08); }

//===----------------------------------------------------------------------===//
// Fourier transforms
//===----------------------------------------------------------------------===//

namespace {

/// A complex value; a null imaginary part stands for 0.
struct Complex {
  Value real, imaginary;
};

} // namespace

static constexpr int64_t kMaxTable = 1 << 22;

/// x [.., rows, ..] times [rows, columns] along `dim`.
static Value transform(NodeImport &n, Value x, int64_t dim,
                       ArrayRef<double> table, int64_t columns) {
  if (!x)
    return {};
  int64_t rows = n.shapeOf(x)[dim], rank = n.rankOf(x);
  Value y = n.dot(x, n.floats(table, {rows, columns}, n.elementOf(x)), {}, {},
                  {dim}, {0});
  Shape perm; // the product puts the new dimension last
  for (int64_t i = 0; i < rank; ++i)
    perm.push_back(i < dim ? i : i == dim ? rank - 1 : i - 1);
  return n.transpose(y, perm);
}

/// The first `size` elements of `dim`, padded with zeros if there are fewer.
static Value fit(NodeImport &n, Value x, int64_t dim, int64_t size) {
  if (!x)
    return {};
  int64_t old = n.shapeOf(x)[dim];
  Shape low(n.rankOf(x), 0), high(low);
  high[dim] = std::max<int64_t>(size - old, 0);
  x = n.sliceDim(x, dim, 0, std::min(old, size));
  return n.pad(x, n.scalar(n.elementOf(x), 0), low, high);
}

/// Splits x [.., 1 or 2] into its parts, which have one dimension less.
static Complex split(NodeImport &n, Value x) {
  int64_t last = n.rankOf(x) - 1;
  auto part = [&](int64_t i) {
    return n.squeeze(n.sliceDim(x, last, i, i + 1), {last});
  };
  return {part(0), n.shapeOf(x)[last] == 2 ? part(1) : Value()};
}

static Value join(NodeImport &n, Complex x) {
  int64_t last = n.rankOf(x.real);
  return n.concat(
      {n.expandDims(x.real, {last}), n.expandDims(x.imaginary, {last})}, last);
}

/// sum over i of x[i] * weight(i) * e^(sign 2 pi j i k / length) for the first
/// `bins` k; without `weight` all are 1.
static Complex emitDft(NodeImport &n, Complex x, int64_t dim, int64_t length,
                       int64_t bins, double sign,
                       llvm::function_ref<double(int64_t)> weight = nullptr) {
  int64_t rows = n.shapeOf(x.real)[dim];
  if (bins > kMaxTable || rows * bins > kMaxTable) {
    n.unsupported("of more than 2048 elements");
    return {};
  }
  std::vector<double> cosine, sine, negated;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < bins; ++k) {
      double angle = 2 * M_PI * double(i * k % length) / double(length);
      double factor = weight ? weight(i) : 1;
      // Quarter turns are exact.
      auto exact = [](double v) { return std::abs(v) < 1e-15 ? 0 : v; };
      cosine.push_back(factor * exact(std::cos(angle)));
      sine.push_back(factor * sign * exact(std::sin(angle)));
      negated.push_back(-sine.back());
    }
  auto times = [&](Value v, ArrayRef<double> table) {
    return transform(n, v, dim, table, bins);
  };
  Complex y{times(x.real, cosine), times(x.real, sine)};
  if (x.imaginary) {
    y.real = n.add(y.real, times(x.imaginary, negated));
    y.imaginary = n.add(y.imaginary, times(x.imaginary, cosine));
  }
  return y;
}

/// Requires a rank of at least 2 and a last dimension of 1 or 2.
static bool requireComplex(NodeImport &n, size_t i) {
  if (!n.requireFloat(i) || !n.requireRank(i, 2))
    return false;
  int64_t last = n.shapeOf(n.in(i)).back();
  if (last != 1 && last != 2)
    n.fail("the last dimension has " + std::to_string(last) +
           " elements; it must have 1 (real) or 2 (complex)");
  return !n.failed();
}

static void importDft(NodeImport &n) {
  bool isInverse = n.attrInt("inverse", 0),
       isOneSided = n.attrInt("onesided", 0);
  int64_t given = n.version < 20 ? n.attrInt("axis", 1) : -2;
  if (n.version >= 20 && n.has(2))
    given = n.knownInt(2, "axis").value_or(-2);
  if (!requireComplex(n, 0))
    return;
  Value input = n.in(0);
  std::optional<int64_t> dim = n.axis(given, n.rankOf(input));
  std::optional<int64_t> length = n.knownInt(1, "dft_length");
  if (!dim || n.failed())
    return;
  int64_t size = n.shapeOf(input)[*dim];
  bool isReal = isInverse && isOneSided;
  if (!length)
    length = isReal ? 2 * (size - 1) : size;
  if (*dim == n.rankOf(input) - 1 || *length < 1 || *length > kMaxTable ||
      (isOneSided && !isInverse && n.shapeOf(input).back() != 1)) {
    n.fail("no transform of length " + std::to_string(*length) +
           " along dimension " + std::to_string(*dim) + " of shape " +
           shownShape(n.shapeOf(input)));
    return;
  }
  int64_t half = *length / 2 + 1, used = isReal ? half : *length;
  Complex x = split(n, input);
  x.real = fit(n, x.real, *dim, used);
  x.imaginary = fit(n, x.imaginary, *dim, used);
  double scale = isInverse ? 1 / double(*length) : 1;
  // The missing half of a one-sided spectrum mirrors the given half.
  auto weight = [&](int64_t i) {
    bool isSingle = !isReal || i == 0 || 2 * i == *length;
    return isSingle ? scale : 2 * scale;
  };
  Complex y =
      emitDft(n, x, *dim, *length, isOneSided && !isInverse ? half : *length,
              isInverse ? 1 : -1, weight);
  if (n.failed())
    return;
  n.out(isReal ? n.expandDims(y.real, {n.rankOf(y.real)}) : join(n, y));
}

/// Transforms frames that begin every frame_step samples.
static void importStft(NodeImport &n) {
  bool isOneSided = n.attrInt("onesided", 1);
  std::optional<int64_t> step = n.knownInt(1, "frame_step"),
                         length = n.knownInt(3, "frame_length");
  if (!step || n.failed())
    return;
  Value signal = n.in(0), window = n.in(2);
  // A real signal may omit the last dimension.
  if (n.rankOf(signal) == 2)
    signal = n.expandDims(signal, {2});
  if (n.rankOf(signal) != 3 || !n.requireFloat() ||
      (n.shapeOf(signal)[2] != 1 && n.shapeOf(signal)[2] != 2)) {
    n.fail("the signal must be [batch, length, 1 or 2]");
    return;
  }
  int64_t size = n.shapeOf(signal)[1];
  if (!length)
    length = window && n.rankOf(window) == 1 ? n.shapeOf(window)[0] : size;
  if (*step < 1 || *length < 1 || *length > size ||
      (window && n.shapeOf(window) != Ints({*length})) ||
      (isOneSided && n.shapeOf(signal)[2] == 2)) {
    n.fail("frames of " + std::to_string(*length) + " every " +
           std::to_string(*step) + " samples do not fit a signal of shape " +
           shownShape(n.shapeOf(signal)));
    return;
  }
  int64_t frames = (size - *length) / *step + 1;
  if (*length > kMaxTable || frames * *length > kMaxTable) {
    n.unsupported("frames of more than 2^22 samples in all");
    return;
  }
  Shape table;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < *length; ++i)
      table.push_back(f * *step + i);
  Value index = n.ints(table, {frames, *length});
  Complex x = split(n, signal);
  for (Value *part : {&x.real, &x.imaginary}) {
    if (!*part)
      continue;
    *part = n.gather(*part, index, 1);
    if (window)
      *part = n.mul(*part, n.cast(window, n.elementOf(*part)));
  }
  Complex y =
      emitDft(n, x, 2, *length, isOneSided ? *length / 2 + 1 : *length, -1);
  if (!n.failed())
    n.out(join(n, y));
}

llvm::ArrayRef<OpRow> signalOps() {
  static constexpr OpRow rows[] = {
      {"BlackmanWindow", importBlackman, 1, 1, 1, 17},
      {"DFT", importDft, 1, 3, 1, 17},
      {"HammingWindow", importHamming, 1, 1, 1, 17},
      {"HannWindow", importHann, 1, 1, 1, 17},
      {"STFT", importStft, 2, 4, 1, 17},
  };
  return rows;
}

} // namespace sinter::compiler
