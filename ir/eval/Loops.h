//===- Loops.h - walking over elements in evaluations -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to ir/eval. Nothing here allocates per element, since folding
// evaluates tensors of many megabytes.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_EVAL_LOOPS_H
#define SINTER_IR_EVAL_LOOPS_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// Steps through the indices of a shape in row-major order. Keeps, for each of
/// several lists of strides, the position that belongs to the index.
template <unsigned Lists> class Odometer {
public:
  Odometer(llvm::ArrayRef<int64_t> shape,
           std::array<llvm::ArrayRef<int64_t>, Lists> strides,
           std::array<int64_t, Lists> start = {})
      : position(start), shape_(shape), strides_(strides),
        index_(shape.size(), 0) {}

  void step() {
    for (size_t dim = shape_.size(); dim-- > 0;) {
      for (unsigned list = 0; list < Lists; ++list)
        position[list] += strides_[list][dim];
      if (++index_[dim] < shape_[dim])
        return;
      index_[dim] = 0;
      for (unsigned list = 0; list < Lists; ++list)
        position[list] -= strides_[list][dim] * shape_[dim];
    }
  }
  llvm::ArrayRef<int64_t> index() const { return index_; }

  std::array<int64_t, Lists> position;

private:
  llvm::ArrayRef<int64_t> shape_;
  std::array<llvm::ArrayRef<int64_t>, Lists> strides_;
  llvm::SmallVector<int64_t> index_;
};

/// Number of elements of a shape that is known to be bounded.
inline int64_t sizeOf(llvm::ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t dim : shape)
    size *= dim;
  return size;
}

/// Calls f(i, position) for the i-th index of `shape`, with position = start +
/// index . strides.
template <class F>
void forEachPosition(llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<int64_t> strides, int64_t start, F f) {
  Odometer<1> odometer(shape, {strides}, {start});
  for (int64_t i = 0, size = sizeOf(shape); i < size; ++i, odometer.step())
    f(i, odometer.position[0]);
}

/// Calls f(from, to) with the elements of both tensors, which hold the same
/// kind of element.
template <class F> void withElements(const Tensor &from, Tensor &to, F f) {
  if (from.isFloat())
    f(from.floats, to.floats);
  else
    f(from.ints, to.ints);
}

/// Calls f(x, y, to) with the numbers of three tensors that hold the same kind
/// of element: double, or integers as uint64_t, whose arithmetic wraps around.
template <class F>
void withNumbers(F f, const Tensor &x, const Tensor &y, Tensor &to) {
  auto bits = [](const int64_t *ints) {
    return reinterpret_cast<const uint64_t *>(ints);
  };
  if (to.isFloat())
    f(x.floats.data(), y.floats.data(), to.floats.data());
  else
    f(bits(x.ints.data()), bits(y.ints.data()),
      reinterpret_cast<uint64_t *>(to.ints.data()));
}

/// Where a tensor has the elements of another one: at start + index . strides.
struct Walk {
  llvm::SmallVector<int64_t> strides;
  int64_t start = 0;
};

/// Where the operand of a broadcast, transpose, reverse or slice has the
/// elements of its result; nothing for other ops.
std::optional<Walk> walkOf(mlir::Operation *op);

/// Copies the elements of `from` along `walk` to a tensor of `shape`.
template <class T>
void moveElements(llvm::ArrayRef<int64_t> shape, const Walk &walk,
                  const T *from, T *to) {
  if (shape.empty()) {
    *to = from[walk.start];
    return;
  }
  const int64_t size = shape.back(), stride = walk.strides.back();
  llvm::ArrayRef<int64_t> outer = shape.drop_back();
  const int64_t rows = size == 0 ? 0 : sizeOf(outer);
  Odometer<1> odometer(outer, {llvm::ArrayRef(walk.strides).drop_back()},
                       {walk.start});
  for (int64_t row = 0; row < rows; ++row, odometer.step(), to += size) {
    const T *at = from + odometer.position[0];
    if (stride == 0)
      std::fill_n(to, size, *at);
    else if (stride == 1)
      std::copy_n(at, size, to);
    else
      for (int64_t i = 0; i < size; ++i)
        to[i] = at[i * stride];
  }
}

/// A tensor viewed as [outer, size, inner] around one dimension.
struct AxisView {
  int64_t outer = 1, size, inner = 1;

  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis) : size(shape[axis]) {
    for (int64_t dim : shape.take_front(axis))
      outer *= dim;
    for (int64_t dim : shape.drop_front(axis + 1))
      inner *= dim;
  }
  int64_t at(int64_t o, int64_t k, int64_t i) const {
    return (o * size + k) * inner + i;
  }
};

/// The elements of a sliding window that are inside a dimension of `size`. The
/// window has `count` elements, `dilation` apart, and begins at `begin`, which
/// may be negative.
struct Taps {
  int64_t first = 0, count = 0;

  Taps(int64_t begin, int64_t count_, int64_t dilation, int64_t size) {
    if (begin < 0)
      first = (-begin - 1) / dilation + 1;
    int64_t last = begin < size ? (size - 1 - begin) / dilation : -1;
    count = std::max<int64_t>(std::min(last, count_ - 1) - first + 1, 0);
  }
};

/// The lowest and the highest value of an integer type, as Tensor holds it.
inline int64_t leastInt(mlir::Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  return element.isUnsignedInteger() || width == 1 ? 0
                                                   : int64_t(-1) << (width - 1);
}
inline int64_t greatestInt(mlir::Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 1)
    return 1;
  bool isUnsigned = element.isUnsignedInteger();
  return static_cast<int64_t>(~uint64_t(0) >>
                              (64 - width + (isUnsigned ? 0 : 1)));
}

/// a < b as values of an integer type; ui64 is held by its bits.
inline bool lessInt(int64_t a, int64_t b, bool isUnsigned) {
  return isUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b)
                    : a < b;
}

/// IEEE 754-2019 maximum and minimum: NaN if either is, and -0 < +0.
double maximum(double x, double y);
double minimum(double x, double y);

/// Arithmetic modulo 2^64.
inline int64_t wrapAdd(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) +
                              static_cast<uint64_t>(y));
}
inline int64_t wrapSub(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) -
                              static_cast<uint64_t>(y));
}
inline int64_t wrapMul(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) *
                              static_cast<uint64_t>(y));
}

/// Wraps integers to their element type; floats stay.
inline void wrapIntegers(Tensor &tensor) {
  if (!tensor.isFloat())
    tensor.roundToStorage();
}

} // namespace sinter::ir

#endif // SINTER_IR_EVAL_LOOPS_H
