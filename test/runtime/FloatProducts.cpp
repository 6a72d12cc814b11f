//===- FloatProducts.cpp - checks of fp32 products ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/runtime/FloatProducts.h"

#include <cmath>

using namespace sinter;
using namespace sinter::test;

/// The number of elements from the first to the last that the strides reach.
static int64_t extent(std::initializer_list<std::pair<int64_t, int64_t>> dims) {
  int64_t last = 0;
  for (auto [size, stride] : dims) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return last + 1;
}

void test::addBatch(sinter_matmul &p, int64_t size, int64_t a, int64_t b,
                    int64_t c) {
  uint32_t i = p.batchRank++;
  p.batch[i] = size;
  p.aBatchStrides[i] = a;
  p.bBatchStrides[i] = b;
  p.cBatchStrides[i] = c;
}

std::string test::checkProduct(const sinter_matmul &p, ProductOptions options) {
  int64_t batch[4] = {1, 1, 1, 1};
  for (uint32_t i = 0; i < p.batchRank; ++i)
    batch[i] = p.batch[i];
  auto span = [&](int64_t rows, int64_t rowStride, int64_t cols,
                  int64_t colStride, const int64_t *strides) {
    return extent({{rows, rowStride},
                   {cols, colStride},
                   {batch[0], strides[0]},
                   {batch[1], strides[1]},
                   {batch[2], strides[2]},
                   {batch[3], strides[3]}});
  };
  std::vector<float> a =
      someValues(span(p.m, p.aStrideM, p.k, p.aStrideK, p.aBatchStrides), 1);
  std::vector<float> b =
      someValues(span(p.k, p.bStrideK, p.n, p.bStrideN, p.bBatchStrides), 2);
  int64_t size = span(p.m, p.cStrideM, p.n, p.cStrideN, p.cBatchStrides);
  std::vector<float> before = someValues(size, 3);
  OneCommand command(callOf(&p));
  command.operand(a);
  command.operand(b);
  if (options.constantB)
    command.constantFilter();
  const std::vector<std::vector<float>> operands = command.postOperands(
      {p.postOps, p.numPostOps}, p.n, before, options.addResult);
  const std::vector<float> result = command.runOnThreads(before);

  std::vector<bool> written(static_cast<size_t>(size), false);
  int64_t wrong = 0;
  double worst = 0;
  for (int64_t i0 = 0; i0 < batch[0]; ++i0)
    for (int64_t i1 = 0; i1 < batch[1]; ++i1)
      for (int64_t i2 = 0; i2 < batch[2]; ++i2) {
        auto offset = [&](const int64_t *s) {
          return i0 * s[0] + i1 * s[1] + i2 * s[2];
        };
        for (int64_t i = 0; i < p.m; ++i)
          for (int64_t j = 0; j < p.n; ++j) {
            double sum = 0, magnitude = 0;
            for (int64_t l = 0; l < p.k; ++l) {
              double product =
                  double(a[offset(p.aBatchStrides) + i * p.aStrideM +
                           l * p.aStrideK]) *
                  b[offset(p.bBatchStrides) + l * p.bStrideK + j * p.bStrideN];
              sum += product;
              magnitude += std::abs(product);
            }
            int64_t at =
                offset(p.cBatchStrides) + i * p.cStrideM + j * p.cStrideN;
            double scale = 1;
            for (uint32_t op = 0; op < p.numPostOps; ++op) {
              const auto &values = operands[op];
              double operand = values.empty() ? 0
                               : p.postOps[op].kind == SINTER_POST_BIAS
                                   ? values[j]
                                   : values[at];
              sum = postOpReference(p.postOps[op], sum, operand);
              if (p.postOps[op].kind == SINTER_POST_SCALE)
                scale *= std::abs(p.postOps[op].alpha);
            }
            double error = std::abs(sum - result[at]);
            double allowed =
                1e-6 * magnitude * scale + 1e-5 * (1 + std::abs(sum));
            wrong += !(error <= allowed);
            worst = std::max(worst, error);
            written[at] = true;
          }
      }
  INFO(command.description << ", worst error " << worst);
  REQUIRE(wrong == 0);
  for (int64_t i = 0; i < size; ++i)
    if (!written[i])
      REQUIRE(result[i] == before[i]);
  REQUIRE(command.description.find("ref") == std::string::npos);
  return command.description;
}
