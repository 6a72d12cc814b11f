//===- OneProduct.cpp - one matrix product, for tests ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneProduct.h"
#include "backends/cuda/library/LtPlan.h"
#include "runtime/base/Float16.h"
#include "test/runtime/Calls.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter::test;

namespace {

bool isWritten(uint32_t kind) {
  return kind == SINTER_POST_STORE || kind == SINTER_POST_RELU_BITS ||
         kind == SINTER_POST_BIAS_GRAD || kind == SINTER_POST_A_SUM ||
         kind == SINTER_POST_B_SUM;
}
bool isRead(uint32_t kind) {
  return kind == SINTER_POST_BIAS || kind == SINTER_POST_ADD ||
         kind == SINTER_POST_RELU_GRAD || kind == SINTER_POST_GELU_TANH_GRAD;
}
bool isBits(uint32_t kind) {
  return kind == SINTER_POST_RELU_BITS || kind == SINTER_POST_RELU_GRAD;
}

double geluTanhGrad(double x) {
  double c = std::sqrt(2 / M_PI), t = std::tanh(c * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
}

} // namespace

OneProduct::OneProduct(uint32_t dtype, uint32_t outDtype, int64_t m, int64_t n,
                       int64_t k) {
  params.dtype = dtype;
  params.outDtype = outDtype;
  params.m = m;
  params.n = n;
  params.k = k;
  params.aStrideM = k;
  params.bStrideK = params.cStrideM = n;
  params.aStrideK = params.bStrideN = params.cStrideN = 1;
}

OneProduct &OneProduct::transposeA() {
  params.aStrideM = 1;
  params.aStrideK = params.m;
  return *this;
}
OneProduct &OneProduct::transposeB() {
  params.bStrideK = 1;
  params.bStrideN = params.k;
  return *this;
}
OneProduct &OneProduct::transposeC() {
  params.cStrideM = 1;
  params.cStrideN = params.m;
  return *this;
}

OneProduct &OneProduct::batch(int64_t size, int64_t a, int64_t b, int64_t c) {
  uint32_t i = params.batchRank++;
  params.batch[i] = size;
  params.aBatchStrides[i] = a;
  params.bBatchStrides[i] = b;
  params.cBatchStrides[i] = c;
  return *this;
}

OneProduct &OneProduct::post(uint32_t kind, float alpha, float beta) {
  params.postOps[params.numPostOps++] = {kind, 0, alpha, beta};
  return *this;
}

OneProduct &OneProduct::workspace(uint64_t bytes) {
  workspaceBytes_ = bytes;
  return *this;
}

OneProduct &OneProduct::keepNan() {
  keepsNan_ = true;
  return *this;
}

OneProduct &OneProduct::poison() {
  isPoisoned_ = true;
  return *this;
}

int64_t OneProduct::extent(const int64_t *batchStrides, int64_t rows,
                           int64_t rowStride, int64_t cols,
                           int64_t colStride) const {
  int64_t last = (rows - 1) * rowStride + (cols - 1) * colStride;
  if (!rows || !cols)
    return 0;
  for (uint32_t i = 0; i < params.batchRank; ++i) {
    if (!params.batch[i])
      return 0;
    last += (params.batch[i] - 1) * batchStrides[i];
  }
  return last + 1;
}

/// Operands, and which slices the post-ops have.
OneProduct &OneProduct::build() {
  sinter_matmul &p = params;
  int64_t c = extent(p.cBatchStrides, p.m, p.cStrideM, p.n, p.cStrideN);
  int64_t lines = p.m;
  for (uint32_t i = 0; i < p.batchRank; ++i)
    lines *= p.batch[i];
  operands_.clear();
  auto add = [&](uint32_t dtype, int64_t elements) {
    auto seed = static_cast<uint32_t>(operands_.size() + 1);
    operands_.push_back(Operand::random(storageOf(dtype), elements, seed));
    if (dtype == SINTER_TF32) // what tensor cores do not round
      for (int64_t i = 0; i < elements; ++i)
        operands_.back().store(
            i, rt::toFloat(rt::Tf32{float(operands_.back().load(i))}));
  };
  add(p.dtype, extent(p.aBatchStrides, p.m, p.aStrideM, p.k, p.aStrideK));
  add(p.dtype, extent(p.bBatchStrides, p.k, p.bStrideK, p.n, p.bStrideN));
  for (bool written : {false, true}) {
    if (written)
      numReads_ = static_cast<uint32_t>(operands_.size());
    for (uint32_t i = 0; i < p.numPostOps; ++i) {
      sinter_post_op &op = p.postOps[i];
      if (written ? !isWritten(op.kind) : !isRead(op.kind))
        continue;
      op.slice = static_cast<uint32_t>(operands_.size());
      bool vector = op.kind == SINTER_POST_BIAS ||
                    op.kind == SINTER_POST_BIAS_GRAD ||
                    op.kind == SINTER_POST_B_SUM;
      if (op.kind == SINTER_POST_A_SUM)
        add(p.outDtype, p.m);
      else if (isBits(op.kind))
        add(SINTER_BOOL, lines * cuda::reluBitsPerLine(p.n) / 8);
      else
        add(p.outDtype, vector ? p.n : c);
    }
  }
  add(p.outDtype, c);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  int64_t line = 0;
  if (isPoisoned_)
    for (double value : {std::nan(""), infinity, -infinity, 3e4, -3e4})
      if (line < p.m)
        operands_[0].store(line++ * p.aStrideM, value);
  return *this;
}

Ran OneProduct::run(const CommandRunner &runner, bool onlyPrepare) {
  if (operands_.empty())
    build();
  return runner(callOf(&params), operands_, numReads_, onlyPrepare);
}

void OneProduct::compare(Comparison &comparison) const {
  auto expect = [&](int64_t element, double value, double magnitude,
                    const Operand &operand, const char *what,
                    double vendor = 0) {
    comparison.near(operand.load(element), value, operand.dtype, magnitude,
                    params.k, what, element, vendor);
  };
  const bool isNarrow =
      params.outDtype == SINTER_F16 || params.outDtype == SINTER_BF16;
  const sinter_matmul &p = params;
  int64_t count = 1;
  for (uint32_t i = 0; i < p.batchRank; ++i)
    count *= p.batch[i];
  std::vector<double> sums(static_cast<size_t>(p.n)),
      sumMagnitudes(static_cast<size_t>(p.n)),
      sumRoundings(static_cast<size_t>(p.n));
  const Operand *sumOperand = nullptr;
  int64_t bitLine = cuda::reluBitsPerLine(p.n);
  for (int64_t batch = 0; batch < count; ++batch) {
    int64_t a0 = 0, b0 = 0, c0 = 0, rest = batch;
    for (int i = static_cast<int>(p.batchRank) - 1; i >= 0; --i) {
      int64_t at = rest % p.batch[i];
      rest /= p.batch[i];
      a0 += at * p.aBatchStrides[i];
      b0 += at * p.bBatchStrides[i];
      c0 += at * p.cBatchStrides[i];
    }
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double x = 0, magnitude = 1, vendor = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          double product =
              operands_[0].values[a0 + i * p.aStrideM + l * p.aStrideK] *
              operands_[1].values[b0 + l * p.bStrideK + j * p.bStrideN];
          x += product;
          magnitude += std::abs(product);
        }
        int64_t at = c0 + i * p.cStrideM + j * p.cStrideN;
        int64_t bit = (batch * p.m + i) * bitLine + j;
        bool gated = false;
        for (uint32_t o = 0; o < p.numPostOps; ++o) {
          const sinter_post_op &op = p.postOps[o];
          const Operand &operand = operands_[op.slice];
          switch (op.kind) {
          case SINTER_POST_BIAS:
            x += operand.values[j];
            break;
          case SINTER_POST_ADD:
            x += operand.values[at];
            break;
          case SINTER_POST_SCALE:
            x *= op.alpha;
            magnitude *= std::abs(op.alpha);
            break;
          case SINTER_POST_RELU:
          case SINTER_POST_CLIP:
            x = std::max(x, 0.0);
            break;
          case SINTER_POST_GELU_TANH:
            x = 0.5 * x *
                (1 +
                 std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
            break;
          case SINTER_POST_STORE:
            expect(at, x, magnitude, operand, "stored");
            break;
          case SINTER_POST_RELU_BITS:
            if (std::abs(x) > 1e-3 * magnitude &&
                (operand.bytes[bit / 8] >> bit % 8 & 1) != (x > 0))
              comparison.fail("bit " + std::to_string(bit) +
                              " of the mask is wrong");
            x = std::max(x, 0.0);
            break;
          case SINTER_POST_RELU_GRAD:
            if (!(operand.bytes[bit / 8] >> bit % 8 & 1))
              x = 0, gated = true;
            break;
          case SINTER_POST_GELU_TANH_GRAD:
            x *= geluTanhGrad(operand.values[at]);
            // cuBLASLt rounds the product as if it were stored in between.
            if (isNarrow)
              vendor = roundingOf(p.outDtype) * std::abs(x);
            break;
          case SINTER_POST_BIAS_GRAD:
            sumOperand = &operand;
            sums[j] += x;
            // Either the stored values are added up or those before rounding.
            if (isNarrow)
              sumRoundings[j] +=
                  vendor * vendor + std::pow(roundingOf(p.outDtype) * x, 2);
            sumMagnitudes[j] += gated ? 0 : magnitude;
            break;
          case SINTER_POST_A_SUM:
          case SINTER_POST_B_SUM:
            break; // of the operands: compareSums
          default:
            comparison.fail("a post-op without a meaning here");
          }
        }
        expect(at, x, magnitude, operands_.back(), "result", vendor);
      }
  }
  if (sumOperand)
    for (int64_t j = 0; j < p.n; ++j)
      expect(j, sums[j], sumMagnitudes[j] * 4, *sumOperand, "bias gradient",
             3 * std::sqrt(sumRoundings[j]));
  compareSums(comparison);
}

/// The sums of A or B over k.
void OneProduct::compareSums(Comparison &comparison) const {
  const sinter_matmul &p = params;
  for (uint32_t o = 0; o < p.numPostOps; ++o) {
    const sinter_post_op &op = p.postOps[o];
    bool ofA = op.kind == SINTER_POST_A_SUM;
    if (!ofA && op.kind != SINTER_POST_B_SUM)
      continue;
    for (int64_t i = 0; i < (ofA ? p.m : p.n); ++i) {
      double sum = 0, magnitude = 1;
      for (int64_t l = 0; l < p.k; ++l) {
        double value = operands_[ofA ? 0 : 1]
                           .values[ofA ? i * p.aStrideM + l * p.aStrideK
                                       : l * p.bStrideK + i * p.bStrideN];
        sum += value;
        magnitude += std::abs(value);
      }
      const Operand &stored = operands_[op.slice];
      comparison.near(stored.load(i), sum, stored.dtype, magnitude, p.k,
                      "sum of an operand", i);
    }
  }
}
