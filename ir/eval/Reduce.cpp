//===- Reduce.cpp - meaning of reductions ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace sinter::ir;

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

namespace {
/// A ReduceKind over one element type.
class Combiner {
public:
  Combiner(ReduceKind kind, Type element)
      : kind_(kind), element_(element),
        isUnsigned_(element.isUnsignedInteger()) {}

  /// The value of an empty reduction.
  void fillEmpty(Tensor &tensor) const {
    std::fill(tensor.floats.begin(), tensor.floats.end(), emptyFloat());
    std::fill(tensor.ints.begin(), tensor.ints.end(),
              tensor.isFloat() ? 0 : emptyInt());
  }
  double operator()(double a, double b) const {
    switch (kind_) {
    case ReduceKind::prod:
      return a * b;
    case ReduceKind::max:
      return maximum(a, b);
    case ReduceKind::min:
      return minimum(a, b);
    default:
      return a + b;
    }
  }
  int64_t operator()(int64_t a, int64_t b) const {
    switch (kind_) {
    case ReduceKind::sum:
      return wrapAdd(a, b);
    case ReduceKind::prod:
      return wrapMul(a, b);
    case ReduceKind::max:
      return lessInt(a, b, isUnsigned_) ? b : a;
    case ReduceKind::min:
      return lessInt(a, b, isUnsigned_) ? a : b;
    case ReduceKind::all:
      return a & b;
    case ReduceKind::any:
      return a | b;
    }
    return a;
  }

private:
  double emptyFloat() const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (kind_) {
    case ReduceKind::prod:
      return 1;
    case ReduceKind::max:
      return -kInfinity;
    case ReduceKind::min:
      return kInfinity;
    default:
      return 0;
    }
  }
  int64_t emptyInt() const {
    switch (kind_) {
    case ReduceKind::sum:
    case ReduceKind::any:
      return 0;
    case ReduceKind::prod:
    case ReduceKind::all:
      return 1;
    case ReduceKind::max:
      return leastInt(element_);
    case ReduceKind::min:
      return greatestInt(element_);
    }
    return 0;
  }

  ReduceKind kind_;
  Type element_;
  bool isUnsigned_;
};
} // namespace

LogicalResult ReduceOp::evaluate(ArrayRef<Tensor> operands,
                                 SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(getType());
  Combiner combine(getKind(), getType().getElementType());
  combine.fillEmpty(result);
  // Reduced dimensions have stride 0 in the result.
  SmallVector<int64_t> to = rowMajorStrides(result.shape()),
                       strides(x.rank(), 0);
  for (int64_t dim = 0, kept = 0; dim < x.rank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      strides[dim] = to[kept++];
  withElements(x, result, [&](const auto &from, auto &elements) {
    forEachPosition(x.shape(), strides, 0, [&](int64_t i, int64_t position) {
      elements[position] = combine(elements[position], from[i]);
    });
  });
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

/// Computes running sums of `x` into `result`, which start again after each
/// `part` elements. `starts` (null: there is one part) has the values from
/// which all parts but the first continue.
template <class ScanOp>
static void evaluateScan(ScanOp op, const Tensor &x, const Tensor *starts,
                         int64_t part, Tensor &result) {
  Tensor none(RankedTensorType::get({}, op.getType().getElementType()));
  Combiner combine(op.getKind(), op.getType().getElementType());
  combine.fillEmpty(none);
  AxisView view(x.shape(), op.getAxis());
  bool isExclusive = op.getExclusive(), isReverse = op.getReverse();
  int64_t count = starts ? starts->shape()[op.getAxis()] : 0;
  auto run = [&](const auto &from, auto &to, auto empty, const auto *goesOn) {
    for (int64_t outer = 0; outer < view.outer; ++outer)
      for (int64_t inner = 0; inner < view.inner; ++inner) {
        auto sum = empty;
        for (int64_t step = 0; step < view.size; ++step) {
          if (step > 0 && step % part == 0) {
            int64_t number = step / part - 1;
            if (isReverse)
              number = count - 1 - number;
            sum = (*goesOn)[(outer * count + number) * view.inner + inner];
          }
          int64_t at =
              view.at(outer, isReverse ? view.size - 1 - step : step, inner);
          auto before = sum;
          sum = combine(sum, from[at]);
          to[at] = isExclusive ? before : sum;
        }
      }
  };
  if (x.isFloat())
    run(x.floats, result.floats, none.floats[0],
        starts ? &starts->floats : nullptr);
  else
    run(x.ints, result.ints, none.ints[0], starts ? &starts->ints : nullptr);
  wrapIntegers(result);
}

LogicalResult CumulativeOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  evaluateScan(*this, operands[0], nullptr,
               std::max<int64_t>(getType().getDimSize(getAxis()), 1), result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult CumulativePartsOp::evaluate(ArrayRef<Tensor> operands,
                                          SmallVectorImpl<Tensor> &results) {
  Tensor result(getType());
  evaluateScan(*this, operands[0], &operands[1], getPart(), result);
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// a < b, with NaN greater than every number.
static bool lessNanLast(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

LogicalResult ArgReduceOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(getType());
  AxisView view(x.shape(), getAxis());
  bool isMax = getKind() == ReduceKind::max, isUnsigned = x.isUnsigned();
  // True when the element at `a` beats the one at `b`; neither does if they are
  // equal.
  auto beats = [&](int64_t a, int64_t b) {
    if (!x.isFloat())
      return isMax ? lessInt(x.ints[b], x.ints[a], isUnsigned)
                   : lessInt(x.ints[a], x.ints[b], isUnsigned);
    // NaN always wins: it is above every number for max, and below for min.
    double left = isMax ? x.floats[a] : -x.floats[a],
           right = isMax ? x.floats[b] : -x.floats[b];
    return lessNanLast(right, left);
  };
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      int64_t best = 0;
      for (int64_t k = 1; k < view.size; ++k) {
        int64_t at = view.at(outer, k, inner),
                bestAt = view.at(outer, best, inner);
        if (getSelectLast() ? !beats(bestAt, at) : beats(at, bestAt))
          best = k;
      }
      result.ints[outer * view.inner + inner] = best;
    }
  results.push_back(std::move(result));
  return success();
}

LogicalResult TopKOp::evaluate(ArrayRef<Tensor> operands,
                               SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor values(getValues().getType()), indices(getIndices().getType());
  AxisView from(x.shape(), getAxis()), to(values.shape(), getAxis());
  bool isLargest = getLargest(), isUnsigned = x.isUnsigned();
  auto less = [&](int64_t a, int64_t b) {
    return x.isFloat() ? lessNanLast(x.floats[a], x.floats[b])
                       : lessInt(x.ints[a], x.ints[b], isUnsigned);
  };
  std::vector<int64_t> order(from.size);
  for (int64_t outer = 0; outer < from.outer; ++outer)
    for (int64_t inner = 0; inner < from.inner; ++inner) {
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        int64_t left = from.at(outer, a, inner),
                right = from.at(outer, b, inner);
        bool isLess = less(left, right), isGreater = less(right, left);
        return isLess || isGreater ? isLess != isLargest : a < b;
      });
      for (int64_t k = 0; k < to.size; ++k) {
        values.copyElement(to.at(outer, k, inner), x,
                           from.at(outer, order[k], inner));
        indices.ints[to.at(outer, k, inner)] = order[k];
      }
    }
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  return success();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Calls f(output, input) for every element of every window of `x`, windows in
/// row-major order and the elements of each in row-major order.
template <class WindowOp, class F>
static void forEachWindowElement(WindowOp op, ArrayRef<int64_t> inputShape,
                                 ArrayRef<int64_t> outputShape, F f) {
  SmallVector<int64_t> from = rowMajorStrides(inputShape);
  int64_t rank = inputShape.size();
  SmallVector<int64_t> counts(rank), strides(rank);
  Odometer<0> at(outputShape, {});
  for (int64_t i = 0, windows = sizeOf(outputShape); i < windows;
       ++i, at.step()) {
    int64_t start = 0;
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t dilation = op.getDilations()[dim];
      int64_t begin =
          at.index()[dim] * op.getStrides()[dim] - op.getPadsLow()[dim];
      Taps taps(begin, op.getWindow()[dim], dilation, inputShape[dim]);
      counts[dim] = taps.count;
      strides[dim] = taps.count > 1 ? dilation * from[dim] : 0;
      start += taps.count > 0 ? (begin + taps.first * dilation) * from[dim] : 0;
    }
    forEachPosition(counts, strides, start,
                    [&](int64_t, int64_t input) { f(i, input); });
  }
}

LogicalResult ReduceWindowOp::evaluate(ArrayRef<Tensor> operands,
                                       SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0];
  Tensor result(getType());
  Combiner combine(getKind(), getType().getElementType());
  combine.fillEmpty(result);
  withElements(x, result, [&](const auto &from, auto &to) {
    forEachWindowElement(*this, x.shape(), result.shape(),
                         [&](int64_t output, int64_t input) {
                           to[output] = combine(to[output], from[input]);
                         });
  });
  wrapIntegers(result);
  results.push_back(std::move(result));
  return success();
}

LogicalResult ReduceWindowGradOp::evaluate(ArrayRef<Tensor> operands,
                                           SmallVectorImpl<Tensor> &results) {
  const Tensor &x = operands[0], &grad = operands[1];
  Tensor result(getType());
  if (getKind() == ReduceKind::sum) {
    forEachWindowElement(*this, x.shape(), grad.shape(),
                         [&](int64_t output, int64_t input) {
                           result.floats[input] += grad.floats[output];
                         });
    results.push_back(std::move(result));
    return success();
  }
  // The position of the first maximum of each window; a window of only padding
  // has none.
  std::vector<int64_t> winner(grad.size(), -1);
  forEachWindowElement(
      *this, x.shape(), grad.shape(), [&](int64_t output, int64_t input) {
        int64_t &best = winner[output];
        if (best < 0 || lessNanLast(x.floats[best], x.floats[input]))
          best = input;
      });
  for (int64_t output = 0; output < grad.size(); ++output)
    if (winner[output] >= 0)
      result.floats[winner[output]] += grad.floats[output];
  results.push_back(std::move(result));
  return success();
}
