//===- SimDnnCompute.cpp - operation graphs of cuDNN by loops -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Every tensor is stored dense, in fp32 (fp64 for fp64). 16-bit tensors are
// rounded when they are written.
//
//===----------------------------------------------------------------------===//

#include "backends/common/device/PlainConvolution.h"
#include "backends/common/device/PlainProduct.h"
#include "backends/sim/library/SimDnnGraph.h"
#include "runtime/base/Float16.h"
#include "runtime/base/Gelu.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::plain;
namespace dnn = sinter::cuda::dnn;

namespace {

std::vector<int64_t> denseStrides(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Calls f(dense index, offset) over all elements of `dims`, where the offset
/// is the sum of index * strides.
template <typename F>
void forEach(const std::vector<int64_t> &dims,
             const std::vector<int64_t> &strides, F &&f) {
  std::vector<int64_t> index(dims.size(), 0);
  int64_t count = 1, offset = 0;
  for (int64_t dim : dims)
    count *= dim;
  for (int64_t i = 0; i < count; ++i) {
    f(i, offset);
    for (size_t d = dims.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < dims[d])
        break;
      offset -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
}

/// The strides of a dense operand along the dims of a result; 0 where it
/// repeats.
std::vector<int64_t> broadcastStrides(const SimTensor &operand,
                                      const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides = denseStrides(operand.dims);
  for (size_t i = 0; i < dims.size(); ++i)
    if (operand.dims[i] == 1)
      strides[i] = 0;
  return strides;
}

template <typename T> class Evaluation {
public:
  Evaluation(const SimDnnGraph &graph,
             const std::map<int64_t, void *> &addresses, bool roundsOperands,
             bool isUnordered)
      : graph_(graph), addresses_(addresses), roundsOperands_(roundsOperands),
        isUnordered_(isUnordered) {}

  void run() {
    for (const SimOperation &operation : graph_.operations) {
      std::vector<T> result(
          static_cast<size_t>(tensor(operation.output).elements()), T(0));
      evaluate(operation, result);
      keep(operation.output, std::move(result));
    }
  }

private:
  const SimTensor &tensor(int64_t id) const { return graph_.tensors.at(id); }

  template <typename E>
  void loadAs(const SimTensor &tensor, const void *from, std::vector<T> &to) {
    const E *elements = static_cast<const E *>(from);
    forEach(tensor.dims, tensor.strides, [&](int64_t i, int64_t offset) {
      if constexpr (std::is_integral_v<E>)
        to[i] = static_cast<T>(elements[offset]);
      else
        to[i] = static_cast<T>(rt::toFloat(elements[offset]));
    });
  }

  const std::vector<T> &value(int64_t id) {
    auto found = values_.find(id);
    if (found != values_.end())
      return found->second;
    const SimTensor &of = tensor(id);
    const void *from = addresses_.at(id);
    std::vector<T> dense(static_cast<size_t>(of.elements()));
    switch (of.type) {
    case dnn::f64:
      loadAs<double>(of, from, dense);
      break;
    case dnn::f16:
      loadAs<rt::Half>(of, from, dense);
      break;
    case dnn::bf16:
      loadAs<rt::Bfloat>(of, from, dense);
      break;
    case dnn::i32:
      loadAs<int32_t>(of, from, dense);
      break;
    default:
      loadAs<float>(of, from, dense);
      break;
    }
    return values_[id] = std::move(dense);
  }

  template <typename E>
  void storeAs(const SimTensor &tensor, void *to, std::vector<T> &from) {
    E *elements = static_cast<E *>(to);
    forEach(tensor.dims, tensor.strides, [&](int64_t i, int64_t offset) {
      E element;
      if constexpr (std::is_same_v<E, double>)
        element = from[i];
      else
        rt::fromFloat(static_cast<float>(from[i]), element);
      from[i] = static_cast<T>(rt::toFloat(element));
      if (elements)
        elements[offset] = element;
    });
  }

  /// Rounds to the tensor's type, and writes the tensor if it is in memory.
  void store(int64_t id, std::vector<T> &values) {
    const SimTensor &of = tensor(id);
    void *to = of.isVirtual ? nullptr : addresses_.at(id);
    switch (of.type) {
    case dnn::f64:
      return storeAs<double>(of, to, values);
    case dnn::f16:
      return storeAs<rt::Half>(of, to, values);
    case dnn::bf16:
      return storeAs<rt::Bfloat>(of, to, values);
    case dnn::f32:
      return storeAs<float>(of, to, values);
    default: // indices and bools are virtual
      return;
    }
  }

  void keep(int64_t id, std::vector<T> result) {
    store(id, result);
    values_[id] = std::move(result);
  }

  void evaluate(const SimOperation &operation, std::vector<T> &result) {
    switch (operation.kind) {
    case dnn::opPointwise:
      return pointwise(operation, result);
    case dnn::opReshape:
      return reshape(operation, result);
    case dnn::opGenStats:
      return statistics(operation, result);
    case dnn::opMatmul:
      matmul(operation, result);
      break;
    case dnn::opReduction:
      reduce(operation, result);
      if (operation.mode != dnn::reduceAdd)
        return;
      break;
    default:
      convolve(operation, result);
    }
    if (isUnordered_)
      disturb(result);
  }

  /// Sums in another order in each call have other last bits.
  static void disturb(std::vector<T> &sums) {
    static std::atomic<uint64_t> numCalls;
    std::minstd_rand random(static_cast<unsigned>(++numCalls));
    for (T &sum : sums)
      if (random() & 1)
        sum = std::nextafter(sum, T(0));
  }

  static ConvTensor convTensor(const SimTensor &tensor) {
    std::vector<int64_t> strides = denseStrides(tensor.dims);
    ConvTensor result;
    result.outerStride = strides[0];
    result.innerStride = strides[1];
    int missing = convRank + 2 - static_cast<int>(tensor.dims.size());
    for (int d = 0; d < convRank; ++d) {
      result.dims[d] = d < missing ? 1 : tensor.dims[2 + d - missing];
      result.strides[d] = d < missing ? 0 : strides[2 + d - missing];
    }
    return result;
  }

  /// The operand of a convolution; in `rounded` if it differs from the value.
  const T *operand(int64_t id, std::vector<T> &rounded) {
    const std::vector<T> &values = value(id);
    if (!roundsOperands_)
      return values.data();
    rounded.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      rounded[i] = rt::toFloat(rt::Tf32{static_cast<float>(values[i])});
    return rounded.data();
  }

  void convolve(const SimOperation &operation, std::vector<T> &result) {
    bool forward = operation.kind == dnn::opConvForward,
         inputGrad = operation.kind == dnn::opConvInputGrad;
    const SimTensor &first = tensor(operation.inputs[0]),
                    &second = tensor(operation.inputs[1]),
                    &out = tensor(operation.output);
    const SimTensor &x = inputGrad ? out : first,
                    &w = forward || inputGrad ? second : out,
                    &y = forward     ? out
                         : inputGrad ? first
                                     : second;
    Convolution conv;
    conv.batch = x.dims[0];
    conv.channels = x.dims[1];
    conv.filters = w.dims[0];
    conv.groups = x.dims[1] / w.dims[1];
    conv.input = convTensor(x);
    conv.filter = convTensor(w);
    conv.output = convTensor(y);
    int missing = convRank - static_cast<int>(operation.strides.size());
    for (int d = 0; d < convRank; ++d) {
      conv.stride[d] = d < missing ? 1 : operation.strides[d - missing];
      conv.dilation[d] = d < missing ? 1 : operation.dilations[d - missing];
      conv.padLow[d] = d < missing ? 0 : operation.prePads[d - missing];
    }
    std::vector<T> roundedA, roundedB;
    const T *a = operand(operation.inputs[0], roundedA),
            *b = operand(operation.inputs[1], roundedB);
    int64_t units = forward     ? conv.forwardUnits()
                    : inputGrad ? conv.inputGradUnits()
                                : conv.filterGradUnits();
    for (int64_t unit = 0; unit < units; ++unit)
      if (forward)
        conv.forward(unit, a, b, result.data());
      else if (inputGrad)
        conv.inputGrad(unit, a, b, result.data());
      else
        conv.filterGrad(unit, a, b, result.data());
  }

  static T apply(const SimOperation &op, T x, T b, T t) {
    switch (op.mode) {
    case dnn::add:
      return x + b;
    case dnn::mul:
      return x * b;
    case dnn::sub:
      return x - b;
    case dnn::div:
      return x / b;
    case dnn::exp:
      return std::exp(x);
    case dnn::log:
      return std::log(x);
    case dnn::compareGe:
      return x >= b ? T(1) : T(0);
    case dnn::binarySelect:
      return t != T(0) ? x : b;
    case dnn::reluForward:
      if (std::isnan(x) && !op.propagatesNan)
        return T(op.lower);
      x = x <= T(op.lower) ? T(op.lower) : x;
      return op.hasUpper && x > T(op.upper) ? T(op.upper) : x;
    case dnn::tanhForward:
      return std::tanh(x);
    case dnn::sigmoidForward:
      return T(1) / (T(1) + std::exp(-x));
    case dnn::swishForward:
      return x / (T(1) + std::exp(-T(op.swishBeta) * x));
    case dnn::geluForward:
      return rt::gelu::erfForm(x);
    case dnn::geluTanhForward:
      return rt::gelu::tanhForm(x);
    default:
      return x;
    }
  }

  void pointwise(const SimOperation &op, std::vector<T> &result) {
    const std::vector<int64_t> &dims = tensor(op.output).dims;
    if (op.mode == dnn::genIndex) {
      int64_t inner = 1;
      for (size_t i = static_cast<size_t>(op.axis) + 1; i < dims.size(); ++i)
        inner *= dims[i];
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = static_cast<T>(static_cast<int64_t>(i) / inner %
                                   dims[static_cast<size_t>(op.axis)]);
      return;
    }
    // One operand after the other, in the order x, b, t.
    std::vector<T> operands[3];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const std::vector<T> &from = value(op.inputs[i]);
      operands[i].resize(result.size());
      forEach(
          dims, broadcastStrides(tensor(op.inputs[i]), dims),
          [&](int64_t at, int64_t offset) { operands[i][at] = from[offset]; });
    }
    for (size_t i = 0; i < result.size(); ++i)
      result[i] =
          apply(op, operands[0][i], operands[1].empty() ? T(0) : operands[1][i],
                operands[2].empty() ? T(0) : operands[2][i]);
  }

  void matmul(const SimOperation &op, std::vector<T> &result) {
    const SimTensor &a = tensor(op.inputs[0]), &b = tensor(op.inputs[1]),
                    &c = tensor(op.output);
    const T *aAt = value(op.inputs[0]).data(),
            *bAt = value(op.inputs[1]).data();
    size_t rank = c.dims.size();
    int64_t m = c.dims[rank - 2], n = c.dims[rank - 1], k = a.dims[rank - 1];
    int64_t count = static_cast<int64_t>(result.size()) / (m * n);
    std::vector<T> sums(tileRows * tileCols), packed(packedElements);
    for (int64_t batch = 0; batch < count; ++batch) {
      // Operands may have fewer batches, each used for several of c's.
      int64_t aBatch = 0, bBatch = 0, rest = batch, aStep = 1, bStep = 1;
      for (size_t i = rank - 2; i-- > 0;) {
        int64_t at = rest % c.dims[i];
        rest /= c.dims[i];
        aBatch += at / (c.dims[i] / a.dims[i]) * aStep;
        bBatch += at / (c.dims[i] / b.dims[i]) * bStep;
        aStep *= a.dims[i];
        bStep *= b.dims[i];
      }
      for (int64_t i0 = 0; i0 < m; i0 += tileRows)
        for (int64_t j0 = 0; j0 < n; j0 += tileCols) {
          int64_t rows = std::min(tileRows, m - i0),
                  cols = std::min(tileCols, n - j0);
          sumTile(TileOperand<T>{aAt + (aBatch * m + i0) * k, k, 1},
                  TileOperand<T>{bAt + bBatch * k * n + j0, 1, n}, rows, cols,
                  k, sums.data(), packed.data(), [](T x) { return x; });
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j)
              result[(batch * m + i0 + i) * n + j0 + j] =
                  sums[i * tileCols + j];
        }
    }
  }

  void reduce(const SimOperation &op, std::vector<T> &result) {
    const SimTensor &x = tensor(op.inputs[0]), &y = tensor(op.output);
    const std::vector<T> &from = value(op.inputs[0]);
    bool isMax = op.mode == dnn::reduceMax;
    if (isMax)
      std::fill(result.begin(), result.end(),
                -std::numeric_limits<T>::infinity());
    std::vector<int64_t> strides = denseStrides(y.dims), index(x.dims.size());
    for (size_t i = 0; i < from.size(); ++i) {
      // If a dim of y divides that of x, groups of adjacent elements are
      // reduced.
      int64_t offset = 0, rest = static_cast<int64_t>(i);
      for (size_t d = x.dims.size(); d-- > 0;) {
        offset += rest % x.dims[d] / (x.dims[d] / y.dims[d]) * strides[d];
        rest /= x.dims[d];
      }
      T &to = result[offset];
      to = isMax ? (from[i] > to ? from[i] : to) : to + from[i];
    }
  }

  /// The sums and the sums of squares over all dimensions except 1, each
  /// rounded once.
  void statistics(const SimOperation &op, std::vector<T> &result) {
    const SimTensor &x = tensor(op.inputs[0]);
    const std::vector<T> &from = value(op.inputs[0]);
    const auto channels = static_cast<size_t>(x.dims[1]);
    size_t points = 1;
    for (size_t d = 2; d < x.dims.size(); ++d)
      points *= static_cast<size_t>(x.dims[d]);
    std::vector<double> sums(channels, 0), squares(channels, 0);
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t channel = i / points % channels;
      const double element = from[i];
      sums[channel] += element;
      squares[channel] += element * element;
    }
    result.assign(sums.begin(), sums.end());
    keep(op.squares, std::vector<T>(squares.begin(), squares.end()));
  }

  /// The elements keep their positions in memory, which the strides define.
  void reshape(const SimOperation &op, std::vector<T> &result) {
    const SimTensor &x = tensor(op.inputs[0]), &y = tensor(op.output);
    const std::vector<T> &from = value(op.inputs[0]);
    std::vector<T> memory(
        static_cast<size_t>(std::max(x.extentBytes() / x.elementBytes(),
                                     y.extentBytes() / y.elementBytes())));
    forEach(x.dims, x.strides,
            [&](int64_t i, int64_t offset) { memory[offset] = from[i]; });
    forEach(y.dims, y.strides,
            [&](int64_t i, int64_t offset) { result[i] = memory[offset]; });
  }

  const SimDnnGraph &graph_;
  const std::map<int64_t, void *> &addresses_;
  const bool roundsOperands_, isUnordered_;
  std::map<int64_t, std::vector<T>> values_;
};

} // namespace

void SimDnnGraph::compute(const std::map<int64_t, void *> &addresses,
                          bool roundsOperands, bool isUnordered) const {
  bool wide = false;
  for (const SimOperation &operation : operations)
    wide |= operation.computeType == dnn::f64;
  if (wide)
    Evaluation<double>(*this, addresses, false, isUnordered).run();
  else
    Evaluation<float>(*this, addresses, roundsOperands, isUnordered).run();
}
