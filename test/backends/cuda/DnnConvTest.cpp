//===- DnnConvTest.cpp - convolutions through the cuDNN adapter -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/OneConvolution.h"

#include <catch2/catch.hpp>

using namespace sinter;
using namespace sinter::test;

namespace {

const std::pair<uint32_t, uint32_t> layouts[] = {
    {SINTER_CHANNELS_FIRST, SINTER_CHANNELS_FIRST},
    {SINTER_CHANNELS_LAST, SINTER_CHANNELS_FIRST},
    {SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST}};

/// In every layout and direction, in one dtype.
void checkAll(uint32_t dtype, int64_t batch, int64_t channels, int64_t filters,
              int64_t groups, const std::vector<ConvAxis> &axes) {
  for (auto [activations, filter] : layouts)
    for (uint32_t direction = SINTER_CONV_FORWARD;
         direction <= SINTER_CONV_FILTER_GRAD; ++direction)
      OneConvolution(dtype, direction, batch, channels, filters, groups, axes)
          .layout(activations, filter)
          .check();
}

} // namespace

TEST_CASE("cuDNN: every dtype, layout and direction", "[dnn]") {
  for (uint32_t dtype : {SINTER_F32, SINTER_F64, SINTER_F16, SINTER_BF16})
    checkAll(dtype, 2, 3, 5, 1, {{7, 3, 1, 1, 1}, {6, 3, 1, 1, 1}});
}

TEST_CASE("cuDNN: strides, dilations, pads, ranks, groups", "[dnn]") {
  checkAll(SINTER_F32, 2, 4, 6, 2, {{9, 3, 2, 1, 0}, {8, 2, 1, 0, 1, 2}});
  checkAll(SINTER_F32, 1, 6, 6, 6, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}});
  checkAll(SINTER_F32, 3, 4, 5, 1, {{11, 4, 3, 2, 1}});
  checkAll(SINTER_F32, 1, 2, 3, 1, {{5, 2}, {4, 3, 1, 1, 1}, {6, 2, 2}});
  checkAll(SINTER_F32, 2, 8, 4, 1, {{5, 1}, {5, 1}});
}

TEST_CASE("cuDNN: negative pads cut the input", "[dnn]") {
  checkAll(SINTER_F32, 2, 3, 4, 1, {{9, 3, 1, -2, -1}, {8, 3, 1, 1, -1}});
  checkAll(SINTER_F32, 2, 3, 4, 1, {{9, 3, 2, -1, 0}, {8, 3, 1, -1, 2}});
}

TEST_CASE("cuDNN: nothing to convolve", "[dnn]") {
  for (auto [batch, channels, filters] :
       {std::tuple{0, 3, 4}, {2, 0, 4}, {2, 3, 0}})
    checkAll(SINTER_F32, batch, channels, filters, 1, {{5, 3}, {5, 3}});
}

TEST_CASE("cuDNN: post-ops", "[dnn]") {
  auto make = [](uint32_t dtype, uint32_t direction) {
    return OneConvolution(dtype, direction, 2, 4, 6, 1,
                          {{6, 3, 1, 1, 1}, {7, 3, 2, 1, 1}});
  };
  for (uint32_t dtype : {SINTER_F32, SINTER_BF16})
    for (auto [activations, filter] : layouts) {
      auto conv = [&] {
        return make(dtype, SINTER_CONV_FORWARD).layout(activations, filter);
      };
      conv().post(SINTER_POST_BIAS).check();
      conv().post(SINTER_POST_BIAS).post(SINTER_POST_RELU).check();
      conv().post(SINTER_POST_BIAS).post(SINTER_POST_CLIP, 0, 0.5f).check();
      conv().post(SINTER_POST_BIAS).post(SINTER_POST_SIGMOID).check();
      conv().post(SINTER_POST_BIAS).post(SINTER_POST_TANH).check();
      conv()
          .post(SINTER_POST_BIAS)
          .post(SINTER_POST_ADD)
          .post(SINTER_POST_RELU)
          .check();
      conv().post(SINTER_POST_ADD).post(SINTER_POST_BIAS).check();
    }
  // Channels last everywhere: any steps, and after the input's gradient too.
  for (uint32_t direction : {SINTER_CONV_FORWARD, SINTER_CONV_INPUT_GRAD}) {
    auto conv = [&] {
      return make(SINTER_F32, direction)
          .layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST);
    };
    for (uint32_t kind : {SINTER_POST_RELU, SINTER_POST_GELU_ERF,
                          SINTER_POST_GELU_TANH, SINTER_POST_SIGMOID,
                          SINTER_POST_TANH, SINTER_POST_SWISH, SINTER_POST_ADD})
      conv().post(kind).check();
    conv().post(SINTER_POST_SCALE, 0.25f).check();
    conv()
        .post(SINTER_POST_BIAS)
        .post(SINTER_POST_SWISH)
        .post(SINTER_POST_ADD)
        .check();
  }
  // Filters of one point have their channels last in any case.
  OneConvolution(SINTER_F32, SINTER_CONV_FORWARD, 2, 4, 6, 1, {{6, 1}, {7, 1}})
      .layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_FIRST)
      .post(SINTER_POST_SWISH)
      .check();
}

TEST_CASE("cuDNN: the sums of channels", "[dnn]") {
  for (uint32_t dtype : {SINTER_F16, SINTER_BF16})
    for (uint32_t filter : {SINTER_CHANNELS_FIRST, SINTER_CHANNELS_LAST})
      for (int64_t groups : {1, 2})
        for (const auto &axes : {std::vector<ConvAxis>{{9, 3, 2, 1, 0}},
                                 {{6, 3, 1, 1, 1}, {7, 1, 2}},
                                 {{3, 2}, {4, 3, 1, 1, 1}, {5, 1}}})
          OneConvolution(dtype, SINTER_CONV_FORWARD, 3, 4, 6, groups, axes)
              .layout(SINTER_CHANNELS_LAST, filter)
              .post(SINTER_POST_CHANNEL_SUM)
              .post(SINTER_POST_CHANNEL_SQUARES)
              .check();
}

TEST_CASE("cuDNN: what no engine fuses is refused", "[dnn]") {
  auto conv = [](uint32_t dtype = SINTER_F32,
                 uint32_t direction = SINTER_CONV_FORWARD) {
    return OneConvolution(dtype, direction, 2, 4, 6, 1,
                          {{6, 3, 1, 1, 1}, {7, 3, 1, 1, 1}});
  };
  auto refused = [](OneConvolution convolution) {
    std::string text = convolution.refusal();
    REQUIRE(text != "");
    return text;
  };
  REQUIRE(refused(conv().post(SINTER_POST_RELU)).find("channels last") !=
          std::string::npos);
  refused(conv()
              .layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_FIRST)
              .post(SINTER_POST_RELU));
  refused(conv().post(SINTER_POST_BIAS).post(SINTER_POST_SWISH));
  refused(conv(SINTER_F32, SINTER_CONV_INPUT_GRAD).post(SINTER_POST_BIAS));
  refused(conv(SINTER_F64).post(SINTER_POST_BIAS));
  auto last = [&] {
    return conv().layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST);
  };
  refused(last().post(SINTER_POST_HARD_SWISH));
  auto summed = [](OneConvolution convolution) {
    return convolution.post(SINTER_POST_CHANNEL_SUM)
        .post(SINTER_POST_CHANNEL_SQUARES);
  };
  REQUIRE(refused(summed(last())).find("in 16 bits") != std::string::npos);
  REQUIRE(refused(summed(conv(SINTER_BF16))).find("channels last") !=
          std::string::npos);
  REQUIRE(refused(summed(conv(SINTER_BF16)
                             .layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST)
                             .post(SINTER_POST_BIAS)))
              .find("without other post-ops") != std::string::npos);
  REQUIRE(
      refused(summed(OneConvolution(SINTER_BF16, SINTER_CONV_FORWARD, 0, 4, 6,
                                    1, {{6, 3}, {7, 3}})
                         .layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST)))
          .find("of an empty result") != std::string::npos);
  REQUIRE(refused(last().post(SINTER_POST_CLIP, -1, 1)) ==
          "cuDNN can clip only from 0");
  REQUIRE(refused(conv(SINTER_I8)).find("does not convolve") !=
          std::string::npos);
  refused(OneConvolution(SINTER_F32, SINTER_CONV_INPUT_GRAD, 2, 3, 4, 1,
                         {{9, 3, 1, -2, -1}, {8, 3}})
              .layout(SINTER_CHANNELS_LAST, SINTER_CHANNELS_LAST)
              .post(SINTER_POST_RELU));
}
