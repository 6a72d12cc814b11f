//===- NarrowContractionTest.cpp - 16-bit contractions on the CPU ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The reference is the fp32 call on the same values, widened; other tests check
// it. Sums are fp32 in both, in a different order on AMX
// and in vdpbf16ps.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatUnit.h"
#include "runtime/base/CpuRates.h"
#include "runtime/base/Float16.h"
#include "runtime/base/UserCache.h"
#include "test/runtime/OneCommand.h"

#include <cmath>
#include <random>

using namespace sinter;
using namespace sinter::test;

namespace {

/// 16-bit values in the memory of floats: OneCommand moves bytes as floats.
using Packed = std::vector<float>;

uint16_t bitsOf(uint32_t dtype, float value) {
  if (dtype == SINTER_BF16) {
    rt::Bfloat to;
    rt::fromFloat(value, to);
    return to.bits;
  }
  rt::Half to;
  rt::fromFloat(value, to);
  return to.bits;
}

float valueOf(uint32_t dtype, uint16_t bits) {
  return dtype == SINTER_BF16 ? rt::toFloat(rt::Bfloat{bits})
                              : rt::toFloat(rt::Half{bits});
}

Packed pack(uint32_t dtype, const std::vector<float> &values) {
  if (dtype == SINTER_F32)
    return values;
  Packed packed((values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = bitsOf(dtype, values[i]);
    std::memcpy(reinterpret_cast<char *>(packed.data()) + 2 * i, &bits, 2);
  }
  return packed;
}

std::vector<float> unpack(uint32_t dtype, const Packed &packed, size_t count) {
  if (dtype == SINTER_F32)
    return packed;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, reinterpret_cast<const char *>(packed.data()) + 2 * i,
                2);
    values[i] = valueOf(dtype, bits);
  }
  return values;
}

std::vector<float> rounded(uint32_t dtype, std::vector<float> values) {
  if (dtype != SINTER_F32)
    for (float &value : values)
      value = valueOf(dtype, bitsOf(dtype, value));
  return values;
}

struct Operand {
  std::vector<float> values;
  bool isMultiplied; // else an operand of a post-op, with the result's dtype
  bool mayBeResult = false; // the result may be stored onto it
};

/// Runs `narrow` with 1, 2 and 3 threads, requires equal bits, also where the
/// result is stored onto an operand, and compares with `wide`. Returns what was
/// chosen.
template <typename Params>
std::string check(const Params &narrow, const Params &wide,
                  const std::vector<Operand> &operands, size_t resultSize,
                  bool constantSecond = false) {
  OneCommand reference(callOf(&wide)), command(callOf(&narrow));
  for (const Operand &operand : operands) {
    uint32_t dtype = operand.isMultiplied ? narrow.dtype : narrow.outDtype;
    reference.operand(rounded(dtype, operand.values));
    command.operand(pack(dtype, operand.values));
  }
  if (constantSecond) {
    reference.constantFilter();
    command.constantFilter();
  }
  std::vector<float> expected(resultSize, 0);
  reference.run(1, expected);
  REQUIRE(reference.status.ok());
  Packed first = pack(narrow.outDtype, std::vector<float>(resultSize, 0));
  command.run(1, first);
  INFO(command.status.message());
  REQUIRE(command.status.ok());
  for (int threads : {2, 3}) {
    Packed other = pack(narrow.outDtype, std::vector<float>(resultSize, 0));
    command.run(threads, other);
    REQUIRE(sameBits(first, other));
  }
  double largest = 0;
  for (float value : expected)
    largest = std::max(largest, std::abs(double(value)));
  // Half a unit in the last place of the result's type, and of a sum in fp32.
  double place = narrow.outDtype == SINTER_BF16  ? 0x1p-8
                 : narrow.outDtype == SINTER_F16 ? 0x1p-11
                                                 : 0;
  auto requireNear = [&](const Packed &result) {
    std::vector<float> got = unpack(narrow.outDtype, result, resultSize);
    for (size_t i = 0; i < resultSize; ++i) {
      CAPTURE(i, expected[i], got[i], command.description);
      REQUIRE(std::abs(double(got[i]) - expected[i]) <=
              place * std::abs(double(expected[i])) + 0x1p-17 * largest);
    }
  };
  requireNear(first);
  // oneDNN fuses fewer post-ops into what it computes in scratch.
  const bool hasUnit = cpu::bfloatUnit() != rt::Bf16Unit::Widened;
  for (const Operand &shared : operands) {
    if (!shared.mayBeResult)
      continue;
    OneCommand inPlace(callOf(&narrow));
    for (const Operand &operand : operands)
      if (&operand == &shared)
        inPlace.resultAsOperand();
      else
        inPlace.operand(
            pack(operand.isMultiplied ? narrow.dtype : narrow.outDtype,
                 operand.values));
    if (constantSecond)
      inPlace.constantFilter();
    for (int threads : {1, 3}) {
      Packed result = pack(narrow.outDtype, shared.values);
      inPlace.run(threads, result);
      REQUIRE(inPlace.status.ok());
      if (hasUnit) {
        REQUIRE(inPlace.description == command.description);
        REQUIRE(sameBits(first, result));
      } else {
        requireNear(result);
      }
    }
  }
  return command.description;
}

std::string checkMatmul(sinter_matmul p, uint32_t dtype, uint32_t outDtype,
                        std::initializer_list<uint32_t> postOps = {},
                        bool constantB = false) {
  int64_t batch = p.batchRank ? p.batch[0] : 1;
  std::vector<Operand> operands{{someValues(batch * p.m * p.k, 1), true},
                                {someValues(batch * p.k * p.n, 2), true}};
  for (uint32_t op : postOps) {
    bool reads = op == SINTER_POST_BIAS || op == SINTER_POST_ADD;
    p.postOps[p.numPostOps++] = {
        op, reads ? static_cast<uint32_t>(operands.size()) : 0, 0.25f, 0.75f};
    if (reads)
      operands.push_back(
          {someValues(op == SINTER_POST_BIAS ? p.n : batch * p.m * p.n, 7 + op),
           false});
  }
  sinter_matmul wide = p;
  p.dtype = dtype;
  p.outDtype = outDtype;
  wide.dtype = wide.outDtype = SINTER_F32;
  return check(p, wide, operands, static_cast<size_t>(batch * p.m * p.n),
               constantB);
}

const std::pair<uint32_t, uint32_t> types[] = {{SINTER_BF16, SINTER_BF16},
                                               {SINTER_BF16, SINTER_F32},
                                               {SINTER_F16, SINTER_F16},
                                               {SINTER_F16, SINTER_F32}};

} // namespace

TEST_CASE("16-bit matmul: shapes and layouts", "[narrow]") {
  for (auto [in, out] : types) {
    for (auto [m, n, k] : {std::tuple{1, 1, 1},
                           {17, 31, 7},
                           {64, 96, 130},
                           {3, 200, 64},
                           {0, 4, 3},
                           {5, 4, 0},
                           {130, 1, 64}}) {
      CAPTURE(in, out, m, n, k);
      checkMatmul(dense(m, n, k), in, out);
      sinter_matmul transposed = dense(m, n, k);
      transposed.aStrideM = 1;
      transposed.aStrideK = m;
      transposed.bStrideK = 1;
      transposed.bStrideN = k;
      checkMatmul(transposed, in, out);
      sinter_matmul columns = dense(m, n, k);
      columns.cStrideM = 1;
      columns.cStrideN = m;
      checkMatmul(columns, in, out, {SINTER_POST_BIAS});
    }
    // A long sum with a small result is divided.
    checkMatmul(dense(16, 16, 20000), in, out);
    sinter_matmul heads = dense(24, 40, 16);
    heads.batchRank = 1;
    heads.batch[0] = 6;
    heads.aBatchStrides[0] = 24 * 16;
    heads.bBatchStrides[0] = 16 * 40;
    heads.cBatchStrides[0] = 24 * 40;
    checkMatmul(heads, in, out, {SINTER_POST_SCALE});
  }
}

TEST_CASE("16-bit matmul: post-ops happen before the rounding", "[narrow]") {
  for (auto [in, out] : types)
    for (bool constantB : {false, true})
      for (auto postOps :
           std::initializer_list<std::initializer_list<uint32_t>>{
               {SINTER_POST_BIAS},
               {SINTER_POST_BIAS, SINTER_POST_RELU},
               {SINTER_POST_RELU},
               {SINTER_POST_ADD},
               {SINTER_POST_BIAS, SINTER_POST_ADD, SINTER_POST_RELU},
               {SINTER_POST_BIAS, SINTER_POST_GELU_ERF},
               {SINTER_POST_GELU_TANH},
               {SINTER_POST_BIAS, SINTER_POST_SIGMOID, SINTER_POST_RELU},
               {SINTER_POST_HARD_SWISH, SINTER_POST_ADD},
               {SINTER_POST_ADD, SINTER_POST_SWISH, SINTER_POST_SWISH},
               {SINTER_POST_TANH, SINTER_POST_ADD},
               {SINTER_POST_BIAS, SINTER_POST_SWISH, SINTER_POST_CLIP},
               {SINTER_POST_RELU, SINTER_POST_ADD},
               {SINTER_POST_BIAS, SINTER_POST_CLIP, SINTER_POST_SCALE}})
        for (auto [m, n] :
             {std::pair{48, 128}, {1, 200}, {3, 64}, {4, 65}, {77, 33}}) {
          CAPTURE(in, out, constantB, m, n);
          std::string chosen =
              checkMatmul(dense(m, n, 64), in, out, postOps, constantB);
          if (in == SINTER_BF16 && constantB && m <= 4)
            CHECK(chosen.find("weights packed at load") != std::string::npos);
        }
}

/// A convolution over two dimensions whose output has the size of its input.
static sinter_conv sameSizeConv(uint32_t direction, int64_t batch,
                                int64_t channels, int64_t filters,
                                std::pair<int64_t, int64_t> size,
                                int64_t kernel) {
  sinter_conv p{};
  p.direction = direction;
  p.layout = SINTER_CHANNELS_LAST;
  p.spatialRank = 2;
  p.batch = batch;
  p.channels = channels;
  p.filters = filters;
  p.groups = 1;
  p.inputDims[0] = p.outputDims[0] = size.first;
  p.inputDims[1] = p.outputDims[1] = size.second;
  for (int d = 0; d < 2; ++d) {
    p.kernel[d] = kernel;
    p.strides[d] = p.dilations[d] = 1;
    p.padsLow[d] = p.padsHigh[d] = kernel / 2;
  }
  return p;
}

TEST_CASE("16-bit convolutions", "[narrow]") {
  for (auto [in, out] : types)
    for (uint32_t layout : {SINTER_CHANNELS_FIRST, SINTER_CHANNELS_LAST})
      for (uint32_t direction : {SINTER_CONV_FORWARD, SINTER_CONV_INPUT_GRAD,
                                 SINTER_CONV_FILTER_GRAD})
        for (int64_t kernel : {1, 3})
          for (bool constantFilter : {false, true}) {
            bool isFilterGrad = direction == SINTER_CONV_FILTER_GRAD;
            if (constantFilter && isFilterGrad)
              continue;
            sinter_conv p = sameSizeConv(direction, 3, 8, 12, {9, 9}, kernel);
            p.layout = layout;
            int64_t x = 3 * 8 * 81, w = 12 * 8 * kernel * kernel,
                    y = 3 * 12 * 81;
            bool isForward = direction == SINTER_CONV_FORWARD;
            std::vector<Operand> operands{
                {someValues(isForward || isFilterGrad ? x : y, 1), true},
                {someValues(isFilterGrad ? y : w, 2), true}};
            if (!isFilterGrad) {
              operands.push_back({someValues(isForward ? 12 : 8, 3), false});
              p.postOps[p.numPostOps++] = {SINTER_POST_BIAS, 2, 0, 0};
              p.postOps[p.numPostOps++] = {SINTER_POST_RELU, 0, 0, 0};
            }
            sinter_conv wide = p;
            p.dtype = in;
            p.outDtype = out;
            wide.dtype = wide.outDtype = SINTER_F32;
            CAPTURE(in, out, layout, direction, kernel, constantFilter);
            check(p, wide, operands,
                  static_cast<size_t>(isForward      ? y
                                      : isFilterGrad ? w
                                                     : x),
                  constantFilter);
          }
}

TEST_CASE("16-bit convolutions: 1x1 input gradients of odd channels",
          "[narrow]") {
  for (auto [in, out] : types)
    for (int64_t filters : {1, 2, 7, 17, 33, 49})
      for (auto [rows, columns] : {std::pair<int64_t, int64_t>{5, 6},
                                   {59, 1},
                                   {6, 10},
                                   {9, 9},
                                   {15, 16}}) {
        sinter_conv p = sameSizeConv(SINTER_CONV_INPUT_GRAD, 2, 32, filters,
                                     {rows, columns}, 1);
        sinter_conv wide = p;
        p.dtype = in;
        p.outDtype = out;
        wide.dtype = wide.outDtype = SINTER_F32;
        CAPTURE(in, out, filters, rows, columns);
        const int64_t points = 2 * rows * columns;
        check(p, wide,
              {{someValues(points * filters, 1), true},
               {someValues(filters * 32, 2), true}},
              static_cast<size_t>(points * 32));
      }
}

TEST_CASE("16-bit convolutions: groups and each post-op", "[narrow]") {
  constexpr int64_t channels = 32, points = 14 * 14;
  for (uint32_t dtype : {SINTER_BF16, SINTER_F16})
    for (int64_t groups : {int64_t(1), int64_t(4), channels})
      for (uint32_t kind : commonPostOps) {
        sinter_conv p = sameSizeConv(SINTER_CONV_FORWARD, 1, channels, channels,
                                     {14, 14}, 3);
        p.groups = groups;
        std::vector<Operand> operands{
            {someValues(points * channels, 1), true},
            {someValues(channels * (channels / groups) * 9, 2), true}};
        if (kind != SINTER_POST_BIAS) {
          addPostOp(p, SINTER_POST_BIAS);
          operands.push_back({someValues(channels, 3), false});
        }
        addCommonPostOp(p, kind);
        if (kind == SINTER_POST_BIAS || kind == SINTER_POST_ADD)
          operands.push_back(
              {someValues(
                   kind == SINTER_POST_ADD ? points * channels : channels, 4),
               false});
        sinter_conv wide = p;
        p.dtype = p.outDtype = dtype;
        wide.dtype = wide.outDtype = SINTER_F32;
        CAPTURE(dtype, groups, kind);
        check(p, wide, operands, points * channels);
      }
}

/// A convolution that the panels of the CPU's bf16 unit can compute.
struct Window {
  int64_t batch, rows, columns, channels, filters, kernel, stride, dilation,
      padLow, padHigh;
  bool isDepthwise = false;                   // one filter for each channel
  int64_t columnKernel = 0, columnStride = 0; // 0: as those of the rows
};

static std::string checkWindow(const Window &w, uint32_t out,
                               bool constantFilter, bool adds) {
  sinter_conv p{};
  p.direction = SINTER_CONV_FORWARD;
  p.layout = SINTER_CHANNELS_LAST;
  p.spatialRank = 2;
  p.batch = w.batch;
  p.channels = w.channels;
  p.filters = w.filters;
  p.groups = w.isDepthwise ? w.channels : 1;
  p.inputDims[0] = w.rows;
  p.inputDims[1] = w.columns;
  int64_t points = 1;
  for (int d = 0; d < 2; ++d) {
    p.kernel[d] = d && w.columnKernel ? w.columnKernel : w.kernel;
    p.strides[d] = d && w.columnStride ? w.columnStride : w.stride;
    p.dilations[d] = w.dilation;
    p.padsLow[d] = w.padLow;
    p.padsHigh[d] = w.padHigh;
    p.outputDims[d] = (p.inputDims[d] + w.padLow + w.padHigh -
                       (p.kernel[d] - 1) * w.dilation - 1) /
                          p.strides[d] +
                      1;
    points *= p.outputDims[d];
  }
  const int64_t results = w.batch * points * w.filters;
  std::vector<Operand> operands{
      {someValues(w.batch * w.rows * w.columns * w.channels, 1), true},
      {someValues(
           w.filters * (w.channels / p.groups) * p.kernel[0] * p.kernel[1], 2),
       true},
      {someValues(w.filters, 3), false}};
  p.postOps[p.numPostOps++] = {SINTER_POST_BIAS, 2, 0, 0};
  if (adds) {
    p.postOps[p.numPostOps++] = {SINTER_POST_SWISH, 0, 0, 0};
    // What mayAddInPlace (passes/fuse/FusionInfo.h) plans.
    operands.push_back(
        {someValues(results, 4), false, w.isDepthwise || w.channels >= 16});
    p.postOps[p.numPostOps++] = {SINTER_POST_ADD, 3, 0, 0};
  }
  p.postOps[p.numPostOps++] = {SINTER_POST_RELU, 0, 0, 0};
  sinter_conv wide = p;
  p.dtype = SINTER_BF16;
  p.outDtype = out;
  wide.dtype = wide.outDtype = SINTER_F32;
  CAPTURE(w.batch, w.rows, w.columns, w.channels, w.filters, w.kernel, w.stride,
          w.dilation, w.padLow, w.isDepthwise, w.columnKernel, w.columnStride,
          out, constantFilter, adds);
  std::string chosen =
      check(p, wide, operands, static_cast<size_t>(results), constantFilter);
  return chosen;
}

TEST_CASE("16-bit convolutions: windows in panels", "[narrow]") {
  for (const Window &w : {Window{1, 9, 7, 32, 12, 3, 1, 1, 1, 1},
                          {1, 14, 14, 64, 64, 1, 1, 1, 0, 0},
                          {5, 7, 7, 32, 40, 3, 1, 1, 1, 1},
                          {2, 9, 11, 32, 33, 3, 2, 1, 1, 1},
                          {5, 8, 70, 32, 32, 1, 2, 1, 0, 0},
                          {1, 70, 5, 32, 32, 5, 3, 1, 2, 1},
                          {1, 12, 12, 96, 8, 3, 1, 2, 2, 2},
                          {1, 12, 13, 32, 8, 3, 1, 2, 0, 3},
                          {1, 6, 45, 32, 8, 3, 2, 1, 0, 0},
                          {4, 1, 1, 64, 70, 1, 1, 1, 0, 0},
                          {1, 13, 12, 32, 8, 3, 2, 2, 2, 1},
                          {2, 14, 17, 32, 8, 4, 3, 2, 1, 3},
                          {1, 5, 5, 32, 8, 2, 4, 1, 0, 0},
                          {1, 3, 4, 640, 8, 3, 1, 1, 1, 1},
                          {1, 14, 13, 512, 8, 3, 1, 1, 1, 1},
                          {1, 16, 7, 7, 8, 7, 1, 1, 3, 3},
                          {1, 9, 9, 32, 8, 3, 1, 1, 1, 1},
                          {2, 40, 29, 32, 8, 4, 1, 1, 2, 2},
                          {1, 12, 13, 3, 40, 7, 2, 1, 3, 3},
                          {5, 9, 11, 3, 16, 3, 2, 1, 1, 0},
                          {2, 9, 8, 3, 8, 5, 1, 1, 0, 2},
                          {1, 9, 8, 1, 33, 3, 3, 1, 1, 1},
                          {1, 9, 40, 6, 8, 3, 1, 1, 1, 1},
                          {1, 7, 9, 12, 8, 2, 2, 1, 0, 0},
                          {1, 1, 3, 8200, 8, 1, 1, 1, 0, 0},
                          {2, 9, 11, 24, 40, 1, 1, 1, 0, 0},
                          {1, 9, 11, 184, 33, 1, 1, 1, 0, 0},
                          {5, 7, 7, 120, 20, 3, 1, 1, 1, 1},
                          {1, 9, 9, 22, 8, 3, 2, 1, 1, 1},
                          {1, 8, 8, 17, 8, 1, 2, 1, 0, 0},
                          {2, 9, 40, 24, 24, 3, 1, 1, 1, 1, true},
                          {1, 9, 11, 72, 72, 5, 2, 1, 2, 1, true},
                          {1, 8, 9, 33, 33, 3, 1, 2, 2, 3, true},
                          {1, 2, 3, 32, 32, 5, 1, 1, 4, 4, true},
                          {5, 4, 35, 16, 16, 3, 1, 1, 0, 0, true}})
    for (uint32_t out : {SINTER_BF16, SINTER_F32})
      for (bool constantFilter : {false, true})
        for (bool adds : {false, true}) {
          std::string chosen = checkWindow(w, out, constantFilter, adds);
          CHECK(!chosen.starts_with("bf16 conv")); // the library's
        }
}

TEST_CASE("16-bit convolutions: random windows", "[narrow]") {
  std::mt19937 random(7);
  auto of = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  auto upTo = [&](int64_t most) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most));
  };
  for (int i = 0; i < 400;) {
    Window w{of({1, 1, 2, 5}),
             upTo(20),
             upTo(40),
             of({1, 3, 6, 16, 24, 32, 40, 50, 64}),
             upTo(40),
             upTo(5),
             upTo(3),
             upTo(2),
             0,
             0,
             random() % 4 == 0,
             upTo(5),
             upTo(3)};
    w.padLow = upTo(w.kernel) - 1;
    w.padHigh = upTo(w.kernel) - 1;
    if (w.isDepthwise)
      w.filters = w.channels;
    const int64_t window =
        (std::max(w.kernel, w.columnKernel) - 1) * w.dilation + 1;
    if (window > std::min(w.rows, w.columns) + w.padLow + w.padHigh)
      continue;
    ++i;
    checkWindow(w, of({SINTER_BF16, SINTER_F32}), random() % 2, random() % 2);
  }
}

TEST_CASE("16-bit matmul: products of a batch in panels", "[narrow]") {
  for (int64_t batch : {2, 4, 7})
    for (auto [m, n, k] :
         {std::tuple{33, 70, 64}, {64, 32, 33}, {128, 128, 96}})
      for (bool isTransposed : {false, true}) {
        sinter_matmul p = dense(m, n, k);
        p.batchRank = 1;
        p.batch[0] = batch;
        p.aBatchStrides[0] = m * k;
        p.bBatchStrides[0] = k * n;
        p.cBatchStrides[0] = m * n;
        if (isTransposed) { // A and B
          p.aStrideM = 1;
          p.aStrideK = m;
          p.bStrideK = 1;
          p.bStrideN = k;
        }
        CAPTURE(batch, m, n, k, isTransposed);
        checkMatmul(p, SINTER_BF16, SINTER_BF16,
                    {SINTER_POST_ADD, SINTER_POST_SCALE});
        checkMatmul(p, SINTER_BF16, SINTER_F32);
      }
}

TEST_CASE("16-bit matmul: random products", "[narrow]") {
  std::mt19937 random(8);
  auto upTo = [&](int64_t most) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most));
  };
  for (int i = 0; i < 300; ++i) {
    const int64_t m = upTo(random() % 4 ? 70 : 400), n = upTo(100),
                  k = upTo(random() % 8 ? 150 : 9000), batch = upTo(6);
    sinter_matmul p = dense(m, n, k);
    if (random() % 2) { // A, B or C may be transposed, or have gaps
      p.aStrideM = 1;
      p.aStrideK = m;
    }
    if (random() % 2) {
      p.bStrideK = 1;
      p.bStrideN = k;
    }
    const bool hasBatch = random() % 2;
    if (hasBatch) {
      p.batchRank = 1;
      p.batch[0] = batch;
      p.aBatchStrides[0] = m * k;
      p.bBatchStrides[0] = random() % 3 ? k * n : 0;
      p.cBatchStrides[0] = m * n;
    } else if (random() % 4 == 0) {
      p.cStrideM = 1;
      p.cStrideN = m;
    }
    CAPTURE(m, n, k, hasBatch, batch, p.aStrideM, p.bStrideN, p.cStrideN,
            p.bBatchStrides[0]);
    checkMatmul(p, SINTER_BF16, random() % 2 ? SINTER_BF16 : SINTER_F32,
                {SINTER_POST_BIAS, SINTER_POST_GELU_TANH, SINTER_POST_ADD},
                !hasBatch && random() % 2);
  }
}

// Hidden; bf16-dot.test runs these two, in this order, with a cache folder of
// its own and an oneDNN that leaves AMX alone.
TEST_CASE("16-bit contractions: a cache of a CPU with a fast vdpbf16ps",
          "[.][fast-dot-cache]") {
  rt::CpuRates rates;
  rates.source = "set by a test";
  rates[rt::CpuRate::Fp32] = 1e11;
  rates[rt::CpuRate::Bf16] = 2e11;
  rt::CpuRateCache cache(rt::userCacheFolder("cpu-rates"));
  REQUIRE(cache.store(rt::hostCpuId(), rates).ok());
}
TEST_CASE("16-bit contractions: vdpbf16ps is used where it is fast",
          "[.][fast-dot]") {
  std::string product =
      checkMatmul(dense(64, 96, 128), SINTER_BF16, SINTER_BF16);
  CAPTURE(product);
  REQUIRE(product.starts_with("product of bf16 by vdpbf16ps"));
}
