//===- ByteWindowTest.cpp - convolutions of 8-bit integers ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The reference is plain sums, and post-ops in the order of their definition.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BytePanels.h"
#include "backends/cpu/device/CpuDevice.h"
#include "runtime/base/AlignedBlock.h"
#include "test/runtime/Calls.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace sinter;
using namespace sinter::rt;

namespace {

/// What follows the sums.
enum class Epilogue { None, Integers, Floats, Codes };

struct Window {
  uint32_t dtype, dtypeOfFilter;
  int64_t batch, channels, filters, groups;
  int64_t in[2], kernel[2], stride[2], dilation[2], low[2], high[2];
  bool isLast = true; // channels
  Epilogue epilogue = Epilogue::None;
  uint32_t codeType = SINTER_U8;
  bool hasRelu = false;
  bool extremes = false;  // of operands
  bool isAdded = false;   // codes, to codes that are dequantised again
  bool isInPlace = false; // the result replaces the added codes
  int32_t padValue = 0;
  bool leavesOutPadding = false; // must not multiply it
  /// One of so many weights has the largest magnitude, and others are small; 0:
  /// random ones.
  uint32_t largeWeights = 0;

  void check() const;
};

int32_t widen(uint8_t byte, uint32_t dtype) {
  return dtype == SINTER_I8 ? static_cast<int8_t>(byte) : byte;
}

/// QUANTIZE as it is defined.
uint8_t codeOf(float x, float scale, float zero, uint32_t dtype) {
  const float least = dtype == SINTER_U8 ? 0 : -128,
              greatest = dtype == SINTER_U8 ? 255 : 127;
  const float code = std::nearbyintf(x / scale) + zero;
  if (std::isnan(code))
    return 0;
  return static_cast<uint8_t>(
      static_cast<int32_t>(std::fmin(std::fmax(code, least), greatest)));
}

bool describes(const LibraryCall &call, const char *text) {
  return call.description().find(text) != std::string::npos;
}
bool isByPanels(const LibraryCall &call) {
  return describes(call, "of 8 bits");
}
bool isLeavingOut(const LibraryCall &call) {
  return describes(call, "padding left out");
}

constexpr float codeScale = 0.37f, codeZero = 3, fakeScale = 0.21f,
                fakeZero = 5, addedScale = 0.43f, addedZero = 120;

void Window::check() const {
  std::mt19937 random(static_cast<uint32_t>(channels * 31 + filters));
  sinter_conv p{};
  p.direction = SINTER_CONV_FORWARD;
  p.dtype = dtype;
  p.outDtype = epilogue == Epilogue::Codes    ? codeType
               : epilogue == Epilogue::Floats ? uint32_t(SINTER_F32)
                                              : uint32_t(SINTER_I32);
  p.padValue = padValue;
  p.layout = isLast ? SINTER_CHANNELS_LAST : SINTER_CHANNELS_FIRST;
  p.spatialRank = 2;
  p.batch = batch;
  p.channels = channels;
  p.filters = filters;
  p.groups = groups;
  for (int d = 0; d < 2; ++d) {
    p.inputDims[d] = in[d];
    p.kernel[d] = kernel[d];
    p.strides[d] = stride[d];
    p.dilations[d] = dilation[d];
    p.padsLow[d] = low[d];
    p.padsHigh[d] = high[d];
    const int64_t room =
        in[d] + low[d] + high[d] - ((kernel[d] - 1) * dilation[d] + 1);
    if (room < 0)
      return;
    p.outputDims[d] = room / stride[d] + 1;
  }
  CAPTURE(dtype, dtypeOfFilter, batch, channels, filters, groups, in[0], in[1],
          kernel[0], kernel[1], stride[0], stride[1], dilation[0], dilation[1],
          low[0], low[1], high[0], high[1], int(epilogue), codeType, hasRelu,
          isAdded, isInPlace, padValue, largeWeights);
  const int64_t h = p.outputDims[0], w = p.outputDims[1],
                group = channels / groups;
  std::vector<uint8_t> input(
      static_cast<size_t>(batch * channels * in[0] * in[1])),
      filter(static_cast<size_t>(filters * group * kernel[0] * kernel[1]));
  for (std::vector<uint8_t> *bytes : {&input, &filter})
    for (uint8_t &byte : *bytes)
      byte = static_cast<uint8_t>(extremes ? 0x7f + random() % 2 : random());
  if (largeWeights)
    for (uint8_t &byte : filter)
      byte = random() % largeWeights == 0
                 ? static_cast<uint8_t>(0x7f + random() % 3)
                 : static_cast<uint8_t>(static_cast<int8_t>(byte) / 8);
  std::vector<uint32_t> correction(static_cast<size_t>(filters));
  std::vector<float> scales(correction.size()), bias(correction.size());
  // Quotients that are often halves, and in some windows NaN.
  const float tied = (isAdded ? fakeScale : codeScale) / 128;
  const bool hasNan = random() % 3 == 0;
  for (size_t i = 0; i < scales.size(); ++i) {
    const bool meetsTies = i % 7 == 0;
    correction[i] = static_cast<uint32_t>(random() % 2000) - 1000u;
    scales[i] = meetsTies ? tied
                : i == 5 && hasNan
                    ? std::numeric_limits<float>::quiet_NaN()
                    : 1e-5f * static_cast<float>(1 + random() % 9999);
    bias[i] = meetsTies ? 0 : static_cast<float>(random() % 100) - 50;
  }
  auto inputAt = [&](int64_t n, int64_t c, int64_t y, int64_t x) {
    return isLast ? ((n * in[0] + y) * in[1] + x) * channels + c
                  : ((n * channels + c) * in[0] + y) * in[1] + x;
  };
  auto outputAt = [&](int64_t n, int64_t o, int64_t y, int64_t x) {
    return isLast ? ((n * h + y) * w + x) * filters + o
                  : ((n * filters + o) * h + y) * w + x;
  };
  std::vector<uint8_t> added(
      static_cast<size_t>(isAdded ? batch * filters * h * w : 0));
  for (uint8_t &byte : added)
    byte = static_cast<uint8_t>(random());
  const size_t elementBytes = epilogue == Epilogue::Codes ? 1 : 4;
  std::vector<uint8_t> expected(static_cast<size_t>(batch * filters * h * w) *
                                elementBytes);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t o = 0; o < filters; ++o)
      for (int64_t y = 0; y < h; ++y)
        for (int64_t x = 0; x < w; ++x) {
          uint32_t sum = 0;
          for (int64_t c = 0; c < group; ++c)
            for (int64_t i = 0; i < kernel[0]; ++i)
              for (int64_t j = 0; j < kernel[1]; ++j) {
                const int64_t row = y * stride[0] + i * dilation[0] - low[0],
                              column = x * stride[1] + j * dilation[1] - low[1];
                const int64_t channel = o / (filters / groups) * group + c;
                const bool isInside =
                    row >= 0 && row < in[0] && column >= 0 && column < in[1];
                sum += static_cast<uint32_t>(
                    (isInside ? widen(input[static_cast<size_t>(
                                          inputAt(n, channel, row, column))],
                                      dtype)
                              : padValue) *
                    widen(
                        filter[static_cast<size_t>(
                            ((o * group + c) * kernel[0] + i) * kernel[1] + j)],
                        dtypeOfFilter));
              }
          const auto at = static_cast<size_t>(o);
          if (epilogue != Epilogue::None)
            sum += correction[at];
          const auto place =
              static_cast<size_t>(outputAt(n, o, y, x)) * elementBytes;
          if (epilogue == Epilogue::None || epilogue == Epilogue::Integers) {
            std::memcpy(&expected[place], &sum, 4);
            continue;
          }
          float value =
              static_cast<float>(static_cast<int32_t>(sum)) * scales[at];
          value += bias[at];
          if (isAdded) {
            const uint8_t code = codeOf(value, fakeScale, fakeZero, codeType);
            const auto fake =
                static_cast<float>(widen(code, codeType) - int(fakeZero));
            const auto other = static_cast<float>(
                widen(added[place], codeType) - int(addedZero));
            const float x = fake * fakeScale, y = other * addedScale;
            value = x + y;
          }
          if (hasRelu)
            value = value <= 0 ? 0 : value;
          if (epilogue == Epilogue::Codes)
            expected[place] = codeOf(value, codeScale, codeZero, codeType);
          else
            std::memcpy(&expected[place], &value, 4);
        }
  auto append = [&](uint32_t kind, uint32_t slice, float alpha, float beta) {
    p.postOps[p.numPostOps++] = {kind, slice, alpha, beta};
  };
  if (epilogue != Epilogue::None)
    append(SINTER_POST_BIAS, 2, 0, 0);
  if (epilogue == Epilogue::Floats || epilogue == Epilogue::Codes) {
    append(SINTER_POST_DEQUANTIZE, 3, 0, 0);
    append(SINTER_POST_BIAS, 4, 0, 0);
    if (isAdded) {
      append(SINTER_POST_FAKE_QUANTIZE, 0, fakeScale, fakeZero);
      append(SINTER_POST_ADD_CODES, 5, addedScale, addedZero);
    }
    if (hasRelu)
      append(SINTER_POST_RELU, 0, 0, 0);
  }
  if (epilogue == Epilogue::Codes)
    append(SINTER_POST_QUANTIZE, 0, codeScale, codeZero);
  std::vector<uint8_t> result(expected.size());
  sinter_slice slices[] = {{SINTER_SPACE_INPUT, 0, 0, input.size()},
                           {SINTER_SPACE_CONSTANT, 0, 0, filter.size()},
                           {SINTER_SPACE_INPUT, 2, 0, 4 * correction.size()},
                           {SINTER_SPACE_INPUT, 3, 0, 4 * scales.size()},
                           {SINTER_SPACE_INPUT, 4, 0, 4 * bias.size()},
                           {SINTER_SPACE_INPUT, 5, 0, added.size()},
                           {SINTER_SPACE_OUTPUT, 0, 0, result.size()}};
  if (isInPlace)
    slices[5] = slices[6];
  sinter_command command = test::callOf(&p);
  command.conv.dtypeOfFilter = dtypeOfFilter == dtype ? 0 : dtypeOfFilter;
  command.slices = slices;
  command.numSlices = 7;
  command.numReads = 6;
  const bool isWindow =
      isLast && (groups == 1 || (groups == channels && groups == filters));
  for (int threads : {1, 3})
    for (uint32_t way : {SINTER_BY_LIBRARY, SINTER_BY_LOOPS})
      for (bool isConstant : {false, true}) {
        // Loops over int32 have no post-ops.
        if (way == SINTER_BY_LOOPS && epilogue == Epilogue::Integers)
          continue;
        command.conv.way = way;
        slices[1].space =
            isConstant ? SINTER_SPACE_CONSTANT : SINTER_SPACE_INPUT;
        std::fill(result.begin(), result.end(), uint8_t(0xdb));
        if (isInPlace)
          result = added;
        void *buffers[] = {
            input.data(),      filter.data(),
            correction.data(), scales.data(),
            bias.data(),       isInPlace ? result.data() : added.data(),
            result.data()};
        auto device = cpu::createCpuDevice(threads);
        REQUIRE(device.ok());
        CallMeans means{filter.data(), threads};
        auto call = (*(*device)->library())->prepare(command, means);
        REQUIRE(call.ok());
        CAPTURE((*call)->description(), threads);
        if (isWindow && way == SINTER_BY_LIBRARY)
          REQUIRE(isByPanels(**call));
        if (isWindow && way == SINTER_BY_LIBRARY && isConstant &&
            largeWeights && groups == 1 && dtypeOfFilter == SINTER_I8 &&
            cpu::byteUnit() == cpu::ByteUnit::Pairs)
          REQUIRE(describes(**call, cpu::nameOf(cpu::ByteUnit::Sums16)));
        if (isLeavingOut(**call))
          REQUIRE((dtype == SINTER_U8 && dtypeOfFilter == SINTER_I8 &&
                   padValue == 0));
        else
          REQUIRE_FALSE((leavesOutPadding && isByPanels(**call) &&
                         cpu::byteUnit() != cpu::ByteUnit::Tiles));
        Scratch scratch;
        scratch.perWorkerStride = ((*call)->perWorkerBytes() + 63) / 64 * 64;
        auto shared = AlignedBlock::allocate((*call)->sharedBytes(), "a test");
        auto mine = AlignedBlock::allocate(
            scratch.perWorkerStride * static_cast<uint64_t>(threads), "a test");
        scratch.shared = shared->data();
        scratch.perWorker = mine->data();
        REQUIRE((*call)->bind(scratch, threads).ok());
        auto stream = (*device)->createStream();
        REQUIRE((*device)->call(**stream, **call, buffers).ok());
        size_t differences = 0;
        for (size_t i = 0; i < result.size(); i += elementBytes) {
          float a = 0, b = 0;
          if (elementBytes == 4) {
            std::memcpy(&a, &result[i], 4);
            std::memcpy(&b, &expected[i], 4);
          }
          const bool isSame =
              std::memcmp(&result[i], &expected[i], elementBytes) == 0 ||
              (epilogue == Epilogue::Floats && std::isnan(a) && std::isnan(b));
          differences += !isSame;
        }
        REQUIRE(differences == 0);
      }
}

} // namespace

TEST_CASE("8-bit convolutions: random windows, post-ops, threads", "[bytes]") {
  std::mt19937 random(9);
  auto upTo = [&](int64_t most) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most));
  };
  for (int trial = 0; trial < 300; ++trial) {
    Window w{};
    w.dtype = random() % 2 ? SINTER_U8 : SINTER_I8;
    w.dtypeOfFilter = random() % 2 ? SINTER_U8 : SINTER_I8;
    w.batch = random() % 4 == 0 ? upTo(6) : upTo(2);
    w.channels = random() % 3 == 0 ? upTo(4) : upTo(150);
    w.filters = upTo(80);
    w.groups = 1;
    switch (random() % 4) {
    case 0:
      w.filters = w.groups = w.channels;
      break;
    case 1:
      if (random() % 3 == 0) {
        w.groups = upTo(3);
        w.channels = w.groups * upTo(5);
        w.filters = w.groups * upTo(5);
      }
      break;
    default:
      break;
    }
    for (int d = 0; d < 2; ++d) {
      w.in[d] = upTo(20);
      w.kernel[d] = random() % 2 ? upTo(3) : upTo(7);
      w.stride[d] = upTo(3);
      w.dilation[d] = random() % 3 ? 1 : upTo(3);
      w.low[d] = upTo(4) - 1;
      w.high[d] = upTo(4) - 1;
    }
    const bool isWindow =
        w.groups == 1 || (w.groups == w.channels && w.groups == w.filters);
    w.isLast = isWindow ? random() % 8 != 0 : random() % 2 == 0;
    if (isWindow && w.isLast)
      w.epilogue = static_cast<Epilogue>(random() % 4);
    w.codeType = random() % 2 ? SINTER_U8 : SINTER_I8;
    w.hasRelu = random() % 2;
    w.extremes = random() % 4 == 0;
    w.isAdded = w.epilogue == Epilogue::Codes && random() % 2;
    w.isInPlace = w.isAdded && random() % 3 == 0;
    w.largeWeights = random() % 3 == 0 ? 20 + random() % 100 : 0;
    if ((w.epilogue == Epilogue::Floats || w.epilogue == Epilogue::Codes) &&
        random() % 2)
      w.padValue = static_cast<int32_t>(random() % 256) -
                   (w.dtype == SINTER_I8 ? 128 : 0);
    w.check();
  }
}

TEST_CASE("8-bit convolutions: products with padding", "[bytes]") {
  auto window = [](uint32_t dtype, uint32_t dtypeOfFilter, int32_t padValue) {
    Window w{dtype,    dtypeOfFilter, 1,      64,     48,     1,
             {14, 14}, {3, 3},        {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    w.epilogue = Epilogue::Codes;
    w.padValue = padValue;
    w.leavesOutPadding =
        dtype == SINTER_U8 && dtypeOfFilter == SINTER_I8 && padValue == 0;
    return w;
  };
  auto checkShapes = [](Window w) {
    w.check();
    w.batch = 5;
    w.in[1] = 7;
    w.check();
    // A line of the window is one part; the padding differs at each side.
    w.batch = 2;
    w.channels = 3;
    w.kernel[0] = w.kernel[1] = 7;
    w.in[0] = 19;
    w.in[1] = 23;
    w.low[0] = w.high[1] = 2;
    w.low[1] = w.high[0] = 3;
    w.check();
    w.stride[0] = w.stride[1] = 2;
    w.check();
    w.channels = 70;
    w.kernel[0] = 3;
    w.kernel[1] = 4;
    w.dilation[0] = w.dilation[1] = 2;
    w.check();
    w.stride[0] = w.dilation[1] = 1;
    w.check();
  };
  for (uint32_t dtype : {SINTER_U8, SINTER_I8})
    for (uint32_t dtypeOfFilter : {SINTER_U8, SINTER_I8})
      for (int32_t padValue : {0, 3})
        for (uint32_t largeWeights : {0, 25}) {
          Window w = window(dtype, dtypeOfFilter, padValue);
          w.largeWeights = largeWeights;
          checkShapes(w);
        }
  Window integers = window(SINTER_U8, SINTER_I8, 0);
  integers.epilogue = Epilogue::Integers;
  checkShapes(integers);
}

TEST_CASE("8-bit convolutions: sums beyond 2^24", "[bytes]") {
  for (uint32_t dtype : {SINTER_U8, SINTER_I8}) {
    // A long depth, and the largest depthwise window.
    Window{dtype,     dtype,  1,      600,    33,     1,    {4, 5},
           {3, 3},    {1, 1}, {1, 1}, {1, 1}, {1, 1}, true, Epilogue::Integers,
           SINTER_U8, false,  true}
        .check();
    Window{dtype,     dtype,  1,      17,     17,     17,   {18, 18},
           {16, 16},  {1, 1}, {1, 1}, {1, 0}, {0, 1}, true, Epilogue::Integers,
           SINTER_U8, false,  true}
        .check();
  }
}
