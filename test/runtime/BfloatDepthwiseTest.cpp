//===- BfloatDepthwiseTest.cpp - one filter for each channel --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Depthwise convolutions of bf16. The reference is plain sums in double
// precision, and post-ops in the order of their definition.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Float16.h"
#include "test/runtime/OneCommand.h"

#include <cmath>
#include <limits>
#include <random>

using namespace sinter;
using namespace sinter::test;
using rt::Bfloat;

namespace {

using Values = std::vector<float>;

/// bf16 in the memory of floats: OneCommand moves bytes as floats.
Values packed(const Values &values) {
  Values bytes((values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    Bfloat element;
    rt::fromFloat(values[i], element);
    std::memcpy(reinterpret_cast<char *>(bytes.data()) + 2 * i, &element, 2);
  }
  return bytes;
}

Values unpacked(const Values &bytes, size_t count) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) {
    Bfloat element;
    std::memcpy(&element, reinterpret_cast<const char *>(bytes.data()) + 2 * i,
                2);
    values[i] = rt::toFloat(element);
  }
  return values;
}

Values rounded(const Values &values) {
  return unpacked(packed(values), values.size());
}

struct Window {
  int64_t batch, channels;
  int64_t in[2], kernel[2], stride[2], low[2], high[2];
  int64_t dilation[2] = {1, 1};

  sinter_conv params() const;
  int64_t inputs() const { return batch * in[0] * in[1] * channels; }
  int64_t weights() const { return channels * kernel[0] * kernel[1]; }
};

Window square(int64_t channels, int64_t size, int64_t kernel, int64_t stride) {
  const int64_t low = kernel / 2, high = (kernel - 1) / 2;
  return {
      1,          channels,    {size, size}, {kernel, kernel}, {stride, stride},
      {low, low}, {high, high}};
}

sinter_conv Window::params() const {
  sinter_conv p{};
  p.direction = SINTER_CONV_FORWARD;
  p.layout = SINTER_CHANNELS_LAST;
  p.spatialRank = 2;
  p.dtype = p.outDtype = SINTER_BF16;
  p.batch = batch;
  p.channels = p.filters = p.groups = channels;
  for (int d = 0; d < 2; ++d) {
    p.inputDims[d] = in[d];
    p.kernel[d] = kernel[d];
    p.strides[d] = stride[d];
    p.dilations[d] = dilation[d];
    p.padsLow[d] = low[d];
    p.padsHigh[d] = high[d];
    p.outputDims[d] =
        (in[d] + low[d] + high[d] - (kernel[d] - 1) * dilation[d] - 1) /
            stride[d] +
        1;
  }
  return p;
}

struct Operands {
  Values input, filter, bias, added;
  bool constantFilter = false;
};

Operands operandsOf(const Window &w) {
  const sinter_conv p = w.params();
  return {rounded(someValues(w.inputs(), 1)),
          rounded(someValues(w.weights(), 2)),
          rounded(someValues(w.channels, 3)),
          rounded(someValues(
              w.batch * p.outputDims[0] * p.outputDims[1] * w.channels, 4))};
}

/// The result of `p`, with the sums of the magnitudes of products.
struct Reference {
  std::vector<double> result, magnitudes;
};

Reference referenceOf(const Window &w, const sinter_conv &p,
                      const Operands &operands) {
  Reference reference;
  for (int64_t n = 0; n < w.batch; ++n)
    for (int64_t y = 0; y < p.outputDims[0]; ++y)
      for (int64_t x = 0; x < p.outputDims[1]; ++x)
        for (int64_t c = 0; c < w.channels; ++c) {
          double sum = 0, magnitude = 0;
          for (int64_t i = 0; i < w.kernel[0]; ++i)
            for (int64_t j = 0; j < w.kernel[1]; ++j) {
              const int64_t row =
                                y * w.stride[0] - w.low[0] + i * w.dilation[0],
                            column =
                                x * w.stride[1] - w.low[1] + j * w.dilation[1];
              if (row < 0 || row >= w.in[0] || column < 0 || column >= w.in[1])
                continue;
              const double product =
                  double(operands.input[static_cast<size_t>(
                      ((n * w.in[0] + row) * w.in[1] + column) * w.channels +
                      c)]) *
                  operands.filter[static_cast<size_t>(
                      (c * w.kernel[0] + i) * w.kernel[1] + j)];
              sum += product;
              magnitude += std::abs(product);
            }
          const size_t index = reference.result.size();
          for (uint32_t i = 0; i < p.numPostOps; ++i)
            sum = postOpReference(
                p.postOps[i], sum,
                p.postOps[i].kind == SINTER_POST_BIAS
                    ? double(operands.bias[static_cast<size_t>(c)])
                    : double(operands.added[index]));
          reference.result.push_back(sum);
          reference.magnitudes.push_back(magnitude);
        }
  return reference;
}

/// Runs with 1, 2 and 3 threads, requires equal bits, and compares. `result`
/// receives the result. Returns what was chosen.
std::string check(const Window &w, const sinter_conv &p,
                  const Operands &operands, Values *result = nullptr) {
  OneCommand command(callOf(&p));
  const bool isBfloat = p.outDtype == SINTER_BF16;
  auto resultOf = [&](const Values &values) {
    return isBfloat ? packed(values) : values;
  };
  command.operand(packed(operands.input));
  command.operand(packed(operands.filter));
  if (operands.constantFilter)
    command.constantFilter();
  for (uint32_t i = 0; i < p.numPostOps; ++i)
    if (p.postOps[i].kind == SINTER_POST_BIAS)
      command.operand(resultOf(operands.bias));
    else if (p.postOps[i].kind == SINTER_POST_ADD)
      command.operand(resultOf(operands.added));
  const Reference reference = referenceOf(w, p, operands);
  const size_t count = reference.result.size();
  const Values bytes = command.runOnThreads(resultOf(Values(count)));
  const Values got = isBfloat ? unpacked(bytes, count) : bytes;
  CAPTURE(w.batch, w.channels, w.in[0], w.in[1], w.kernel[0], w.kernel[1],
          w.stride[0], w.stride[1], w.low[0], w.low[1], w.dilation[0],
          w.dilation[1], isBfloat, command.description);
  for (size_t i = 0; i < count; ++i) {
    const double expected = reference.result[i];
    CAPTURE(i, expected, got[i]);
    if (!std::isfinite(expected)) {
      REQUIRE((std::isnan(expected) ? std::isnan(got[i])
                                    : double(got[i]) == expected));
      continue;
    }
    REQUIRE(std::abs(got[i] - expected) <=
            (isBfloat ? 0x1p-8 : 0) * std::abs(expected) +
                0x1p-20 * (1 + reference.magnitudes[i]));
  }
  if (result)
    *result = got;
  return command.description;
}

/// Whether vdpbf16ps was used, on a CPU with a unit for bf16.
void checkUse(const std::string &description, bool isUsed) {
  CAPTURE(description);
  if (description.starts_with("conv of bf16 channel by channel"))
    CHECK((description.find("vdpbf16ps") != std::string::npos) == isUsed);
}

} // namespace

TEST_CASE("depthwise bf16: windows in registers", "[narrow]") {
  for (int64_t kernel : {3, 5, 7})
    for (int64_t stride : {1, 2})
      for (int64_t channels : {1, 8, 15, 16, 17, 24, 31, 32, 33, 48, 65, 72})
        for (int64_t size : {1, 2, 7, 14, 37}) {
          Window w = square(channels, size, kernel, stride);
          sinter_conv p = w.params();
          addPostOp(p, SINTER_POST_BIAS);
          addPostOp(p, size % 2 ? SINTER_POST_HARD_SWISH : SINTER_POST_RELU);
          Operands operands = operandsOf(w);
          operands.constantFilter = size > 2;
          checkUse(check(w, p, operands), true);
        }
}

TEST_CASE("depthwise bf16: padding, strides and shapes of images", "[narrow]") {
  std::mt19937 random(5);
  auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(end));
  };
  for (int count = 0; count < 300;) {
    const int64_t kernel = 3 + 2 * below(3);
    Window w{1 + below(3),
             1 + below(70),
             {1 + below(12), 1 + below(80)},
             {kernel, kernel},
             {1 + below(3), 1 + below(2)},
             {below(kernel + 2), below(kernel + 2)},
             {below(kernel + 2), below(kernel + 2)},
             {1 + below(2), 1}};
    bool fits = true;
    for (int d = 0; d < 2; ++d)
      fits &= w.in[d] + w.low[d] + w.high[d] > (kernel - 1) * w.dilation[d];
    if (!fits)
      continue;
    ++count;
    sinter_conv p = w.params();
    addPostOp(p, SINTER_POST_BIAS);
    if (below(2))
      p.outDtype = SINTER_F32;
    checkUse(check(w, p, operandsOf(w)), true);
  }
}

TEST_CASE("depthwise bf16: other windows are widened", "[narrow]") {
  for (Window w : {square(40, 9, 2, 1), square(24, 12, 4, 2),
                   square(33, 9, 3, 3), square(8, 9, 1, 1)})
    checkUse(check(w, w.params(), operandsOf(w)), false);
  Window wide = square(40, 11, 3, 1);
  wide.kernel[1] = 5;
  checkUse(check(wide, wide.params(), operandsOf(wide)), false);
  Window dilated = square(40, 11, 3, 1);
  dilated.dilation[0] = dilated.dilation[1] = 2;
  checkUse(check(dilated, dilated.params(), operandsOf(dilated)), false);
}

TEST_CASE("depthwise bf16: post-ops", "[narrow]") {
  constexpr uint32_t none = SINTER_POST_BIAS;
  for (int64_t channels : {24, 40})
    for (uint32_t outDtype : {SINTER_BF16, SINTER_F32})
      for (bool hasBias : {false, true})
        for (bool hasAdded : {false, true})
          for (uint32_t kind :
               {none, uint32_t(SINTER_POST_RELU),
                uint32_t(SINTER_POST_HARD_SWISH), uint32_t(SINTER_POST_SWISH),
                uint32_t(SINTER_POST_GELU_ERF), uint32_t(SINTER_POST_CLIP)})
            for (uint32_t last : {none, uint32_t(SINTER_POST_RELU)}) {
              Window w = square(channels, 35, 3, 1);
              w.in[0] = 4;
              sinter_conv p = w.params();
              p.outDtype = outDtype;
              if (hasBias)
                addPostOp(p, SINTER_POST_BIAS);
              if (kind != none)
                addCommonPostOp(p, kind);
              if (hasAdded)
                addPostOp(p, SINTER_POST_ADD);
              if (last != none)
                addPostOp(p, last);
              checkUse(check(w, p, operandsOf(w)), true);
            }
}

TEST_CASE("depthwise bf16: inf and NaN stay in their windows", "[narrow]") {
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t kernel : {3, 5, 7})
    for (int64_t stride : {1, 2})
      for (int64_t channels : {16, 32, 41})
        for (uint32_t kind :
             {SINTER_POST_BIAS, SINTER_POST_RELU, SINTER_POST_HARD_SWISH}) {
          const Window w = square(channels, 23, kernel, stride);
          Operands operands = operandsOf(w);
          std::mt19937 random(3);
          for (float value : {infinity, -infinity, nan, -nan})
            for (int i = 0; i < 3; ++i)
              operands.input[random() % operands.input.size()] = value;
          sinter_conv p = w.params();
          addPostOp(p, kind);
          check(w, p, operands);
        }
}

TEST_CASE("depthwise bf16: bits do not depend on the batch", "[narrow]") {
  // Enough work for several threads.
  Window w = square(72, 57, 5, 1);
  w.batch = 3;
  sinter_conv p = w.params();
  addPostOp(p, SINTER_POST_BIAS);
  addPostOp(p, SINTER_POST_RELU);
  Operands operands = operandsOf(w);
  Values all;
  check(w, p, operands, &all);
  const size_t image = all.size() / 3, input = operands.input.size() / 3;
  w.batch = p.batch = 1;
  for (size_t n = 0; n < 3; ++n) {
    Operands one = operands;
    one.input.assign(operands.input.begin() + static_cast<ptrdiff_t>(n * input),
                     operands.input.begin() +
                         static_cast<ptrdiff_t>((n + 1) * input));
    Values alone;
    check(w, p, one, &alone);
    CHECK(std::equal(alone.begin(), alone.end(),
                     all.begin() + static_cast<ptrdiff_t>(n * image)));
  }
}
