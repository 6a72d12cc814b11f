//===- OneAttention.cpp - one attention and its gradients -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneAttention.h"
#include "test/runtime/Calls.h"

#include <algorithm>
#include <cmath>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::test;

AttentionReference::AttentionReference(const SdpaShape &s,
                                       const std::vector<double> &q,
                                       const std::vector<double> &k,
                                       const std::vector<double> &v,
                                       const std::vector<double> &dO,
                                       const std::vector<double> &mask)
    : o(q.size()), stats(static_cast<size_t>(s.batch * s.heads * s.queries)),
      dq(q.size()), dk(k.size()), dv(v.size()) {
  std::vector<double> p(static_cast<size_t>(s.keys)), dp(p.size());
  for (int64_t b = 0; b < s.batch * s.heads; ++b)
    for (int64_t i = 0; i < s.queries; ++i) {
      int64_t row = (b * s.queries + i) * s.depth, keys = b * s.keys * s.depth;
      double sum = 0, along = 0;
      int64_t count = s.causal ? std::min(s.keys, i + 1) : s.keys;
      for (int64_t j = 0; j < count; ++j) {
        double x = 0;
        for (int64_t d = 0; d < s.depth; ++d)
          x += q[row + d] * k[keys + j * s.depth + d];
        x *= s.scale;
        if (s.masked)
          x += mask[static_cast<size_t>(b / s.heads * s.mask[0] +
                                        b % s.heads * s.mask[1] +
                                        i * s.mask[2] + j)];
        sum += p[j] = std::exp(x);
      }
      stats[b * s.queries + i] = std::log(sum);
      for (int64_t j = 0; j < count; ++j) {
        p[j] /= sum;
        dp[j] = 0;
        for (int64_t d = 0; d < s.depth; ++d) {
          int64_t at = keys + j * s.depth + d;
          o[row + d] += p[j] * v[at];
          dv[at] += p[j] * dO[row + d];
          dp[j] += dO[row + d] * v[at];
        }
        along += p[j] * dp[j];
      }
      for (int64_t j = 0; j < count; ++j)
        for (int64_t d = 0; d < s.depth; ++d) {
          double ds = p[j] * (dp[j] - along) * s.scale;
          dq[row + d] += ds * k[keys + j * s.depth + d];
          dk[keys + j * s.depth + d] += ds * q[row + d];
        }
    }
}

void sinter::test::compareAttention(const Operand &found,
                                    const std::vector<double> &expected,
                                    const char *what, Comparison &comparison) {
  double rounding = roundingOf(found.dtype == SINTER_F32 ? uint32_t(SINTER_BF16)
                                                         : found.dtype);
  for (size_t i = 0; i < expected.size(); ++i) {
    auto index = static_cast<int64_t>(i);
    comparison.within(found.load(index), expected[i],
                      2 * rounding * (1 + std::abs(expected[i])), what, index);
  }
}

namespace {

sinter_heads headsOf(const SdpaStrides &strides) {
  return {strides[0], strides[1], strides[2]};
}

} // namespace

OneAttention::OneAttention(const SdpaShape &shape) : shape_(shape) {
  const int64_t rows = shape.batch * shape.heads;
  const int64_t q = rows * shape.queries * shape.depth,
                k = rows * shape.keys * shape.depth;
  auto random = [&](int64_t elements, uint32_t seed) {
    return Operand::random(shape.dtype, elements, seed);
  };
  forward = {random(q, 1), random(k, 2), random(k, 3)};
  if (shape.masked)
    forward.push_back(Operand::random(
        SINTER_F32,
        (shape.batch - 1) * shape.mask[0] + (shape.heads - 1) * shape.mask[1] +
            (shape.queries - 1) * shape.mask[2] + shape.keys,
        11));
  forward.push_back(Operand::random(SINTER_F32, rows * shape.queries, 9));
  forward.push_back(random(q, 4));
  outputGrad_ = random(q, 5);

  sinter_attention &p = forwardParams_;
  p.direction = SINTER_ATTENTION_FORWARD;
  p.dtype = shape.dtype;
  p.causal = shape.causal;
  p.hasStats = 1;
  p.batch = shape.batch;
  p.heads = shape.heads;
  p.queries = shape.queries;
  p.keys = shape.keys;
  p.depth = shape.depth;
  p.scale = shape.scale;
  p.hasMask = shape.masked;
  p.query = headsOf(shape.query);
  p.key = headsOf(shape.key);
  p.value = headsOf(shape.value);
  p.output = headsOf(shape.result);
  p.mask = headsOf(shape.mask);
  backwardParams_ = p;
  backwardParams_.direction = SINTER_ATTENTION_BACKWARD;
  backwardParams_.outputGrad = headsOf(shape.resultGrad);
  backwardParams_.queryGrad = headsOf(shape.queryGrad);
  backwardParams_.keyGrad = headsOf(shape.keyGrad);
  backwardParams_.valueGrad = headsOf(shape.valueGrad);
}

AttentionReference OneAttention::reference() const {
  return {shape_,
          forward[0].values,
          forward[1].values,
          forward[2].values,
          outputGrad_.values,
          shape_.masked ? forward[3].values : std::vector<double>()};
}

Ran OneAttention::runForward(const CommandRunner &runner) {
  return runner(callOf(&forwardParams_), forward, shape_.masked ? 4 : 3, false);
}

void OneAttention::compareForward(Comparison &comparison) const {
  const AttentionReference expected = reference();
  compareAttention(forward.back(), expected.o, "output", comparison);
  compareAttention(forward[forward.size() - 2], expected.stats, "statistics",
                   comparison);
}

Ran OneAttention::runBackward(const CommandRunner &runner) {
  backward = {forward[0],     forward[1],  forward[2],
              forward.back(), outputGrad_, forward[forward.size() - 2]};
  if (shape_.masked)
    backward.push_back(forward[3]);
  const auto numReads = static_cast<uint32_t>(backward.size());
  for (int i : {0, 1, 2})
    backward.push_back(forward[static_cast<size_t>(i)]);
  return runner(callOf(&backwardParams_), backward, numReads, false);
}

void OneAttention::compareBackward(Comparison &comparison) const {
  const AttentionReference expected = reference();
  const size_t first = backward.size() - 3;
  compareAttention(backward[first], expected.dq, "gradient of the query",
                   comparison);
  compareAttention(backward[first + 1], expected.dk, "gradient of the key",
                   comparison);
  compareAttention(backward[first + 2], expected.dv, "gradient of the value",
                   comparison);
}
