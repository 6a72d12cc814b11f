//===- SdpaPlan.cpp - attention as operation graphs of cuDNN --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/SdpaPlan.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace sinter;
using namespace sinter::cuda;

void SdpaShape::setDense() {
  query = result = queryGrad =
      resultGrad = {heads * queries * depth, queries * depth, depth};
  key = value = keyGrad =
      valueGrad = {heads * keys * depth, keys * depth, depth};
}

namespace {

using Dims = std::vector<int64_t>;

class Builder {
public:
  Builder(const SdpaShape &shape, DnnGraph &graph)
      : s_(shape), graph_(graph),
        scores_{s_.batch, s_.heads, s_.queries, s_.keys},
        lines_{s_.batch, s_.heads, s_.queries, 1} {}

  void forward(bool stats);
  void backward(bool deterministic);

private:
  bool takeType(std::initializer_list<const SdpaStrides *> operands);
  int real(uint32_t slice, Dims dims, Dims strides, int32_t type);
  /// Rows of an operand, or its transpose.
  int rows(uint32_t slice, int64_t count, const SdpaStrides &strides);
  int transposed(uint32_t slice, int64_t count, const SdpaStrides &strides);
  int lines(uint32_t slice) {
    return real(slice, lines_, {s_.heads * s_.queries, s_.queries, 1, 1},
                dnn::f32);
  }
  int between(Dims dims, int32_t type = dnn::f32);
  int number(float value);

  int pointwise(int32_t mode, int x, int w, int y, int t = -1,
                int32_t mathType = dnn::f32);
  int matmul(int x, int w, int y);
  int reduce(int32_t mode, int x, int y);
  int reshape(int x, int y);
  /// `scores` with the mask of slice `slice` added, if there is one.
  int addMask(int scores, uint32_t slice);
  /// `scores` where the key is not after the query, else -inf.
  int mask(int scores);
  /// The same values in 16 bits, with rows and columns swapped.
  int transpose(int scores);

  const SdpaShape &s_;
  DnnGraph &graph_;
  int32_t type_ = dnn::bf16;
  const Dims scores_, lines_;
};

} // namespace

bool Builder::takeType(std::initializer_list<const SdpaStrides *> operands) {
  if (s_.dtype == SINTER_F16)
    type_ = dnn::f16;
  if (s_.dtype != SINTER_F16 && s_.dtype != SINTER_BF16)
    graph_.refusal = "cuDNN's attention takes only 16-bit floats";
  else if (s_.depth % 8 || s_.depth > 256)
    graph_.refusal = "cuDNN's attention takes a depth of 8, 16, .. 256, not " +
                     std::to_string(s_.depth);
  for (const SdpaStrides *strides : operands)
    for (int64_t stride : *strides)
      if (graph_.refusal.empty() && (stride < 1 || stride % 8))
        graph_.refusal =
            "cuDNN's attention needs rows at multiples of 16 bytes";
  return graph_.refusal.empty();
}

int Builder::real(uint32_t slice, Dims dims, Dims strides, int32_t type) {
  DnnTensor tensor;
  tensor.type = type;
  tensor.dims = std::move(dims);
  tensor.strides = std::move(strides);
  tensor.slice = slice;
  return graph_.add(std::move(tensor));
}

int Builder::rows(uint32_t slice, int64_t count, const SdpaStrides &strides) {
  return real(slice, {s_.batch, s_.heads, count, s_.depth},
              {strides[0], strides[1], strides[2], 1}, type_);
}

int Builder::transposed(uint32_t slice, int64_t count,
                        const SdpaStrides &strides) {
  return real(slice, {s_.batch, s_.heads, s_.depth, count},
              {strides[0], strides[1], 1, strides[2]}, type_);
}

int Builder::between(Dims dims, int32_t type) {
  DnnTensor tensor;
  tensor.type = type;
  tensor.strides.assign(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    tensor.strides[i - 1] = tensor.strides[i] * dims[i];
  tensor.dims = std::move(dims);
  tensor.isVirtual = true;
  return graph_.add(std::move(tensor));
}

int Builder::number(float value) {
  DnnTensor tensor;
  tensor.dims = tensor.strides = {1, 1, 1, 1};
  tensor.isByValue = true;
  tensor.value = value;
  tensor.alignment = 4;
  return graph_.add(std::move(tensor));
}

int Builder::pointwise(int32_t mode, int x, int w, int y, int t,
                       int32_t mathType) {
  DnnOperation operation;
  operation.mode = mode;
  operation.x = x;
  operation.w = w;
  operation.t = t;
  operation.y = y;
  operation.mathType = mathType;
  graph_.operations.push_back(std::move(operation));
  return y;
}

int Builder::matmul(int x, int w, int y) {
  pointwise(0, x, w, y);
  graph_.operations.back().kind = DnnOperation::Matmul;
  return y;
}

int Builder::reduce(int32_t mode, int x, int y) {
  pointwise(mode, x, -1, y);
  graph_.operations.back().kind = DnnOperation::Reduction;
  return y;
}

int Builder::reshape(int x, int y) {
  pointwise(0, x, -1, y);
  graph_.operations.back().kind = DnnOperation::Reshape;
  return y;
}

int Builder::addMask(int scores, uint32_t slice) {
  if (!s_.masked)
    return scores;
  Dims dims = scores_, strides = {0, 0, 0, 1};
  // A dimension of size 1 repeats; its stride has no effect, but must be valid.
  int64_t dense = s_.keys;
  for (size_t i = 3; i-- > 0;) {
    strides[i] = s_.mask[i] ? s_.mask[i] : dense;
    if (!s_.mask[i])
      dims[i] = 1;
    dense = std::max(dense, dims[i] * strides[i]);
  }
  int mask = real(slice, dims, strides, dnn::f32);
  return pointwise(dnn::add, scores, mask, between(scores_));
}

int Builder::mask(int scores) {
  if (!s_.causal)
    return scores;
  int row = pointwise(dnn::genIndex, scores, -1, between(scores_, dnn::i32), -1,
                      dnn::i32);
  graph_.operations.back().axis = 2;
  int col = pointwise(dnn::genIndex, scores, -1, between(scores_, dnn::i32), -1,
                      dnn::i32);
  graph_.operations.back().axis = 3;
  int keep = pointwise(dnn::compareGe, row, col, between(scores_, dnn::boolean),
                       -1, dnn::boolean);
  int nothing = number(-std::numeric_limits<float>::infinity());
  return pointwise(dnn::binarySelect, scores, nothing, between(scores_), keep);
}

int Builder::transpose(int scores) {
  int result = between({s_.batch, s_.heads, s_.keys, s_.queries}, type_);
  graph_.tensors[static_cast<size_t>(result)].strides = {
      s_.heads * s_.queries * s_.keys, s_.queries * s_.keys, 1, s_.keys};
  return reshape(scores, result);
}

void Builder::forward(bool stats) {
  if (!takeType({&s_.query, &s_.key, &s_.value, &s_.result}))
    return;
  int q = rows(0, s_.queries, s_.query), kt = transposed(1, s_.keys, s_.key),
      v = rows(2, s_.keys, s_.value);
  int x = matmul(q, kt, between(scores_));
  x = pointwise(dnn::mul, x, number(s_.scale), between(scores_));
  const uint32_t next = s_.masked ? 4 : 3;
  x = mask(addMask(x, 3));
  int most = reduce(dnn::reduceMax, x, between(lines_));
  x = pointwise(dnn::sub, x, most, between(scores_));
  x = pointwise(dnn::exp, x, -1, between(scores_));
  int sum = reduce(dnn::reduceAdd, x, between(lines_));
  // The engines require the statistics even if nothing reads them.
  int log = pointwise(dnn::log, sum, -1, between(lines_));
  pointwise(dnn::add, most, log, stats ? lines(next) : between(lines_));
  int p = pointwise(dnn::div, x, sum, between(scores_, type_));
  matmul(p, v, rows(stats ? next + 1 : next, s_.queries, s_.result));
}

void Builder::backward(bool deterministic) {
  if (!takeType({&s_.query, &s_.key, &s_.value, &s_.result, &s_.resultGrad,
                 &s_.queryGrad, &s_.keyGrad, &s_.valueGrad}))
    return;
  enum { Q, K, V, O, DO, Stats, Mask };
  const uint32_t Sums = s_.masked ? 7 : 6, Accumulator = Sums + 1,
                 DQ = Sums + 2, DK = Sums + 3, DV = Sums + 4;
  int q = rows(Q, s_.queries, s_.query), kt = transposed(K, s_.keys, s_.key),
      vt = transposed(V, s_.keys, s_.value), o = rows(O, s_.queries, s_.result),
      dO = rows(DO, s_.queries, s_.resultGrad), stats = lines(Stats),
      sums = lines(Sums);
  Dims dense = {s_.batch, s_.heads, s_.queries, s_.depth};
  int product = pointwise(dnn::mul, dO, o, between(dense));
  int line = reduce(dnn::reduceAdd, product, between(lines_));
  pointwise(dnn::mul, line, number(1), sums);

  int x = matmul(q, kt, between(scores_));
  x = pointwise(dnn::mul, x, number(s_.scale), between(scores_));
  x = addMask(x, Mask);
  x = mask(pointwise(dnn::sub, x, stats, between(scores_)));
  int p = pointwise(dnn::exp, x, -1, between(scores_));
  matmul(transpose(p), dO, rows(DV, s_.keys, s_.valueGrad));

  int dp = matmul(dO, vt, between(scores_));
  dp = pointwise(dnn::sub, dp, sums, between(scores_));
  dp = pointwise(dnn::mul, dp, p, between(scores_));
  int ds = pointwise(dnn::mul, dp, number(s_.scale), between(scores_, type_));
  matmul(transpose(ds), q, rows(DK, s_.keys, s_.keyGrad));

  int k = between({s_.batch, s_.heads, s_.keys, s_.depth}, type_);
  graph_.tensors[static_cast<size_t>(k)].strides = {s_.key[0], s_.key[1],
                                                    s_.key[2], 1};
  reshape(kt, k);
  int dq = rows(DQ, s_.queries, s_.queryGrad);
  if (deterministic) {
    matmul(ds, k, dq);
    return;
  }
  int accumulator = real(
      Accumulator, dense,
      {s_.heads * s_.queries * s_.depth, s_.queries * s_.depth, s_.depth, 1},
      dnn::f32);
  matmul(ds, k, accumulator);
  pointwise(dnn::identity, accumulator, -1, dq);
}

DnnGraph sinter::cuda::sdpaForward(const SdpaShape &shape, bool stats) {
  DnnGraph graph;
  Builder(shape, graph).forward(stats);
  return graph;
}

DnnGraph sinter::cuda::sdpaBackward(const SdpaShape &shape,
                                    bool deterministic) {
  DnnGraph graph;
  Builder(shape, graph).backward(deterministic);
  return graph;
}
