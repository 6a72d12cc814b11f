//===- PlainMatmulTest.cpp - fp64 and integer products --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/Calls.h"
#include "test/runtime/RunCall.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace sinter;
using namespace sinter::rt;

namespace {

template <typename T> std::vector<T> values(int64_t count, uint64_t seed) {
  std::vector<T> result(static_cast<size_t>(count));
  uint64_t state = seed;
  for (T &value : result) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(static_cast<int64_t>(state >> 20)) / T(1e12);
    else
      value = static_cast<T>(state >> 13);
  }
  return result;
}

Status prepareAndRun(const sinter_command &command, void *const *buffers,
                     int threads) {
  std::string description;
  return test::runCall(command, buffers, threads, nullptr, description);
}

template <typename In, typename Out>
void check(uint32_t dtype, uint32_t outDtype, int64_t m, int64_t n, int64_t k,
           bool transposed) {
  CAPTURE(dtype, outDtype, m, n, k, transposed);
  sinter_matmul p{};
  p.dtype = dtype;
  p.outDtype = outDtype;
  p.batchRank = 1;
  p.batch[0] = 2;
  p.m = m;
  p.n = n;
  p.k = k;
  p.aStrideM = transposed ? 1 : k;
  p.aStrideK = transposed ? m : 1;
  p.bStrideK = transposed ? 1 : n;
  p.bStrideN = transposed ? k : 1;
  p.cStrideM = n;
  p.cStrideN = 1;
  p.aBatchStrides[0] = m * k;
  p.cBatchStrides[0] = m * n;
  p.numPostOps = 2;
  p.postOps[0] = {SINTER_POST_BIAS, 2, 0, 0};
  p.postOps[1] = {SINTER_POST_RELU, 0, 0, 0};
  auto a = values<In>(2 * m * k, 1), b = values<In>(k * n, 2);
  auto bias = values<Out>(n, 3);
  std::vector<Out> c(static_cast<size_t>(2 * m * n)), again(c.size());
  sinter_slice slices[] = {
      {SINTER_SPACE_INPUT, 0, 0, sizeof(In) * a.size()},
      {SINTER_SPACE_INPUT, 1, 0, sizeof(In) * b.size()},
      {SINTER_SPACE_INPUT, 2, 0, sizeof(Out) * bias.size()},
      {SINTER_SPACE_OUTPUT, 0, 0, sizeof(Out) * c.size()}};
  sinter_command command = test::callOf(&p);
  command.slices = slices;
  command.numSlices = 4;
  command.numReads = 3;
  void *buffers[] = {a.data(), b.data(), bias.data(), c.data()};
  REQUIRE(prepareAndRun(command, buffers, 1).ok());
  buffers[3] = again.data();
  REQUIRE(prepareAndRun(command, buffers, 3).ok());
  REQUIRE((c.empty() ||
           std::memcmp(c.data(), again.data(), sizeof(Out) * c.size()) == 0));

  for (int64_t batch = 0; batch < 2; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Out result = c[(batch * m + i) * n + j];
        auto left = [&](int64_t l) {
          return a[batch * m * k + i * p.aStrideM + l * p.aStrideK];
        };
        auto right = [&](int64_t l) {
          return b[l * p.bStrideK + j * p.bStrideN];
        };
        if constexpr (std::is_floating_point_v<Out>) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += left(l) * right(l);
          sum = std::max(sum + bias[j], 0.0);
          REQUIRE(std::abs(sum - result) <= 1e-9 * (1 + std::abs(sum)));
        } else {
          // Modulo 2^64, then as the dtype.
          uint64_t sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += static_cast<uint64_t>(left(l)) *
                   static_cast<uint64_t>(right(l));
          auto expected =
              static_cast<Out>(sum + static_cast<uint64_t>(bias[j]));
          REQUIRE(result == (expected < Out(0) ? Out(0) : expected));
        }
      }
}

} // namespace

TEST_CASE("plain matmul: fp64 and integers", "[matmul]") {
  for (auto [m, n, k] : {std::tuple{1, 1, 1},
                         {33, 65, 129},
                         {64, 100, 17},
                         {5, 7, 0},
                         {0, 3, 4},
                         {40, 130, 300}})
    for (bool transposed : {false, true}) {
      check<double, double>(SINTER_F64, SINTER_F64, m, n, k, transposed);
      check<int32_t, int32_t>(SINTER_I32, SINTER_I32, m, n, k, transposed);
      check<uint32_t, uint32_t>(SINTER_U32, SINTER_U32, m, n, k, transposed);
      check<int64_t, int64_t>(SINTER_I64, SINTER_I64, m, n, k, transposed);
      check<uint64_t, uint64_t>(SINTER_U64, SINTER_U64, m, n, k, transposed);
      check<int8_t, int8_t>(SINTER_I8, SINTER_I8, m, n, k, transposed);
      check<uint8_t, uint8_t>(SINTER_U8, SINTER_U8, m, n, k, transposed);
      check<int16_t, int16_t>(SINTER_I16, SINTER_I16, m, n, k, transposed);
      check<uint16_t, uint16_t>(SINTER_U16, SINTER_U16, m, n, k, transposed);
      check<int8_t, int32_t>(SINTER_I8, SINTER_I32, m, n, k, transposed);
      check<uint8_t, int32_t>(SINTER_U8, SINTER_I32, m, n, k, transposed);
    }
}

TEST_CASE("plain matmul: what is not supported is refused clearly",
          "[matmul]") {
  sinter_matmul p{};
  p.m = p.n = p.k = 1;
  sinter_command command = test::callOf(&p);
  sinter_slice slices[3] = {};
  command.slices = slices;
  command.numSlices = 3;
  command.numReads = 2;
  auto refused = [&](uint32_t dtype, uint32_t outDtype) {
    p.dtype = dtype;
    p.outDtype = outDtype;
    Status status = prepareAndRun(command, nullptr, 1);
    REQUIRE(status.code() == SINTER_UNSUPPORTED);
    return status.message();
  };
  refused(SINTER_BF16, SINTER_F16);
  refused(SINTER_F32, SINTER_F16);
  refused(SINTER_TF32, SINTER_F32);
  refused(SINTER_I16, SINTER_I32);
  refused(SINTER_F32, SINTER_F64);
  p.numPostOps = 1;
  p.postOps[0].kind = SINTER_POST_TANH;
  REQUIRE(refused(SINTER_F64, SINTER_F64).find("bias, add and relu") !=
          std::string::npos);
  p.postOps[0].kind = SINTER_POST_RELU_BITS;
  REQUIRE(refused(SINTER_F32, SINTER_F32) ==
          "post-op relu_bits is not supported on the CPU");
}
