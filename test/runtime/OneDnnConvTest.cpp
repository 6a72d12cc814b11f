//===- OneDnnConvTest.cpp - fp32 convolutions on the CPU ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/FloatPanels.h"
#include "test/runtime/OneCommand.h"

#include <cmath>

using namespace sinter;
using namespace sinter::test;

namespace {

struct Dim {
  int64_t in, kernel, stride = 1, padLow = 0, padHigh = 0, dilation = 1;
};

sinter_conv makeConv(int64_t batch, int64_t channels, int64_t filters,
                     int64_t groups, std::vector<Dim> dims) {
  sinter_conv p{};
  p.direction = SINTER_CONV_FORWARD;
  p.dtype = SINTER_F32;
  p.layout = SINTER_CHANNELS_FIRST;
  p.spatialRank = static_cast<uint32_t>(dims.size());
  p.batch = batch;
  p.channels = channels;
  p.filters = filters;
  p.groups = groups;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dim &d = dims[i];
    p.inputDims[i] = d.in;
    p.kernel[i] = d.kernel;
    p.strides[i] = d.stride;
    p.dilations[i] = d.dilation;
    p.padsLow[i] = d.padLow;
    p.padsHigh[i] = d.padHigh;
    int64_t room =
        d.in + d.padLow + d.padHigh - ((d.kernel - 1) * d.dilation + 1);
    p.outputDims[i] = room < 0 ? 0 : room / d.stride + 1;
  }
  return p;
}

int64_t product(const int64_t *values, uint32_t count) {
  int64_t result = 1;
  for (uint32_t i = 0; i < count; ++i)
    result *= values[i];
  return result;
}

/// Element index of an activation.
int64_t at(const sinter_conv &p, int64_t channels, const int64_t *dims,
           int64_t n, int64_t c, int64_t point) {
  int64_t points = product(dims, p.spatialRank);
  return p.layout == SINTER_CHANNELS_FIRST
             ? (n * channels + c) * points + point
             : (n * points + point) * channels + c;
}

/// Calls body(inputIndex, filterIndex, outputIndex) for every product.
template <typename Body>
void forEachProduct(const sinter_conv &p, Body &&body) {
  int64_t outPoints = product(p.outputDims, p.spatialRank);
  int64_t kernelPoints = product(p.kernel, p.spatialRank);
  int64_t perGroup = p.channels / p.groups, outPerGroup = p.filters / p.groups;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < outPoints; ++o)
      for (int64_t k = 0; k < kernelPoints; ++k) {
        int64_t outRest = o, kernelRest = k, input = 0, step = 1;
        bool inside = true;
        for (int i = static_cast<int>(p.spatialRank) - 1; i >= 0; --i) {
          int64_t row = outRest % p.outputDims[i] * p.strides[i] +
                        kernelRest % p.kernel[i] * p.dilations[i] -
                        p.padsLow[i];
          outRest /= p.outputDims[i];
          kernelRest /= p.kernel[i];
          inside &= row >= 0 && row < p.inputDims[i];
          input += row * step;
          step *= p.inputDims[i];
        }
        if (!inside)
          continue;
        for (int64_t f = 0; f < p.filters; ++f)
          for (int64_t c = 0; c < perGroup; ++c)
            body(at(p, p.channels, p.inputDims, n,
                    f / outPerGroup * perGroup + c, input),
                 (f * perGroup + c) * kernelPoints + k,
                 at(p, p.filters, p.outputDims, n, f, o));
      }
}

struct Options {
  bool constantFilter = false;
  bool addResult = false;
  uint32_t way = SINTER_BY_LIBRARY;
};

std::string check(const sinter_conv &p, Options options = {}) {
  int64_t inSize = p.batch * p.channels * product(p.inputDims, p.spatialRank);
  int64_t outSize = p.batch * p.filters * product(p.outputDims, p.spatialRank);
  int64_t filterSize =
      p.filters * (p.channels / p.groups) * product(p.kernel, p.spatialRank);
  bool inputGrad = p.direction == SINTER_CONV_INPUT_GRAD;
  bool filterGrad = p.direction == SINTER_CONV_FILTER_GRAD;
  std::vector<float> first = someValues(inputGrad ? outSize : inSize, 1);
  std::vector<float> second = someValues(filterGrad ? outSize : filterSize, 2);
  int64_t size = inputGrad ? inSize : filterGrad ? filterSize : outSize;
  int64_t resultChannels = inputGrad ? p.channels : p.filters;
  int64_t resultPoints =
      product(inputGrad ? p.inputDims : p.outputDims, p.spatialRank);
  std::vector<float> before = someValues(size, 3);

  sinter_command call = callOf(&p);
  call.conv.way = options.way;
  OneCommand command(call);
  command.operand(first);
  command.operand(second);
  if (options.constantFilter)
    command.constantFilter();
  const std::vector<std::vector<float>> operands = command.postOperands(
      {p.postOps, p.numPostOps}, resultChannels, before, options.addResult);
  const std::vector<float> result = command.runOnThreads(before);

  std::vector<double> sums(static_cast<size_t>(size)),
      magnitudes(static_cast<size_t>(size));
  forEachProduct(p, [&](int64_t x, int64_t w, int64_t y) {
    double value = inputGrad    ? double(first[y]) * second[w]
                   : filterGrad ? double(first[x]) * second[y]
                                : double(first[x]) * second[w];
    int64_t target = inputGrad ? x : filterGrad ? w : y;
    sums[target] += value;
    magnitudes[target] += std::abs(value);
  });
  int64_t wrong = 0;
  double worst = 0;
  for (int64_t i = 0; i < size; ++i) {
    double expected = sums[i];
    int64_t channel = p.layout == SINTER_CHANNELS_FIRST
                          ? i / std::max<int64_t>(1, resultPoints) %
                                std::max<int64_t>(1, resultChannels)
                          : i % std::max<int64_t>(1, resultChannels);
    for (uint32_t op = 0; op < p.numPostOps; ++op)
      expected = postOpReference(p.postOps[op], expected,
                                 operands[op].empty() ? 0
                                 : p.postOps[op].kind == SINTER_POST_BIAS
                                     ? operands[op][channel]
                                     : operands[op][i]);
    double error = std::abs(expected - result[i]);
    wrong += !(error <= 2e-6 * magnitudes[i] + 1e-5 * (1 + std::abs(expected)));
    worst = std::max(worst, error);
  }
  INFO(command.description << ", worst error " << worst);
  REQUIRE(wrong == 0);
  REQUIRE(command.description.find("ref") == std::string::npos);
  return command.description;
}

/// All three directions in both layouts.
void checkAll(sinter_conv p) {
  for (uint32_t layout : {SINTER_CHANNELS_FIRST, SINTER_CHANNELS_LAST})
    for (uint32_t direction : {SINTER_CONV_FORWARD, SINTER_CONV_INPUT_GRAD,
                               SINTER_CONV_FILTER_GRAD}) {
      CAPTURE(layout, direction);
      p.layout = layout;
      p.direction = direction;
      check(p);
      if (direction != SINTER_CONV_FILTER_GRAD)
        check(p, {.constantFilter = true});
    }
}

} // namespace

TEST_CASE("conv: channels, kernels, strides and pads", "[conv]") {
  for (int64_t batch : {1, 3})
    for (auto [channels, filters, groups] : {std::tuple{1, 1, 1},
                                             {3, 16, 1},
                                             {17, 5, 1},
                                             {32, 64, 1},
                                             {8, 8, 8},
                                             {33, 33, 33},
                                             {12, 24, 3},
                                             {6, 12, 6}})
      for (Dim d :
           {Dim{7, 3}, Dim{9, 3, 1, 1, 1}, Dim{8, 3, 2, 1, 1},
            Dim{11, 5, 2, 2, 2}, Dim{6, 1}, Dim{7, 1, 2}, Dim{9, 2, 1, 0, 1}}) {
        CAPTURE(batch, channels, filters, groups, d.in, d.kernel, d.stride,
                d.padLow, d.padHigh);
        Dim other = d;
        other.in += 2;
        checkAll(makeConv(batch, channels, filters, groups, {d, other}));
      }
}

TEST_CASE("conv: one and three spatial dimensions", "[conv]") {
  for (int64_t channels : {2, 16})
    for (Dim d : {Dim{9, 3, 1, 1, 1}, Dim{8, 2, 2}, Dim{7, 3, 1, 2, 2, 2}}) {
      CAPTURE(channels, d.in, d.kernel, d.stride, d.dilation);
      checkAll(makeConv(2, channels, 8, 1, {d}));
      checkAll(makeConv(2, channels, 8, 2, {d}));
      checkAll(makeConv(2, channels, 8, 1, {d, d, d}));
      checkAll(makeConv(1, channels, channels, channels, {d, d, d}));
    }
}

TEST_CASE("conv: dilations, odd pads, kernels wider than the input", "[conv]") {
  for (Dim d : {Dim{11, 3, 1, 2, 2, 2}, Dim{13, 3, 2, 3, 1, 3},
                Dim{10, 4, 3, 0, 2}, Dim{5, 3, 1, 3, 3}, Dim{4, 3, 2, 4, 4},
                Dim{3, 5, 1, 2, 2}, Dim{1, 3, 1, 1, 1}, Dim{9, 2, 5},
                Dim{10, 3, 4, 0, 3}, Dim{9, 7, 1, 6, 6}}) {
    CAPTURE(d.in, d.kernel, d.stride, d.padLow, d.padHigh, d.dilation);
    checkAll(makeConv(2, 3, 10, 1, {d, {6, 3, 1, 1, 1}}));
    checkAll(makeConv(2, 16, 16, 1, {{6, 3, 1, 1, 1}, d}));
    checkAll(makeConv(2, 4, 4, 4, {d, d}));
  }
}

TEST_CASE("conv: points whose windows overlap", "[conv]") {
  // Numbers of channels that stretches of the depth cut at all places.
  for (int64_t channels : {16, 17, 40, 100, 129, 160, 256})
    for (Dim d : {Dim{2, 2}, Dim{5, 3, 1, 1, 1}, Dim{8, 3, 1, 0, 2},
                  Dim{13, 3, 1, 2, 2, 2}, Dim{19, 5, 1, 2, 2}, Dim{19, 2}}) {
      CAPTURE(channels, d.in, d.kernel, d.dilation);
      sinter_conv p = makeConv(2, channels, 40, 1, {{9, 3, 1, 1, 1}, d});
      p.layout = SINTER_CHANNELS_LAST;
      const std::string text = check(p, {.constantFilter = true});
      if (cpu::floatUnit() == cpu::FloatUnit::Fma8)
        CHECK(text.find("A gathered") != std::string::npos);
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_ADD);
      addPostOp(p, SINTER_POST_RELU);
      check(p, {.constantFilter = true, .addResult = true});
    }
}

TEST_CASE("conv: few points and a large filter", "[conv]") {
  const auto checkAll = [](sinter_conv p, bool isTapByTap) {
    p.layout = SINTER_CHANNELS_LAST;
    const std::string text = check(p, {.constantFilter = true});
    CAPTURE(text);
    CHECK((text.find("tap by tap") != std::string::npos) ==
          (isTapByTap && cpu::floatUnit() == cpu::FloatUnit::Fma16));
    addPostOp(p, SINTER_POST_BIAS);
    addPostOp(p, SINTER_POST_ADD);
    addPostOp(p, SINTER_POST_HARD_SWISH);
    check(p, {.constantFilter = true});
    check(p, {.constantFilter = true, .addResult = true});
  };
  const Dim same{7, 3, 1, 1, 1};
  SECTION("windows") {
    for (Dim y : {same, Dim{14, 3, 2, 1, 1}, Dim{3, 5, 1, 2, 2},
                  Dim{9, 3, 1, 2, 2, 2}, Dim{8, 2}, Dim{13, 4, 2, 0, 3}})
      for (Dim x : {same, Dim{14, 3, 2, 1, 1}, Dim{8, 3, 1, 0, 1}, Dim{5, 2},
                    Dim{17, 5, 3, 2, 1}}) {
        CAPTURE(y.in, y.kernel, x.in, x.kernel);
        checkAll(makeConv(1, 256, 512, 1, {y, x}), true);
      }
  }
  SECTION("channels, filters, images") {
    for (auto [channels, filters] :
         {std::pair{512, 512}, {67, 1001}, {1000, 72}, {385, 200}})
      checkAll(makeConv(1, channels, filters, 1, {same, same}), true);
    const Dim small{4, 3, 1, 1, 1};
    for (int64_t images : {2, 3, 4})
      checkAll(makeConv(images, 256, 256, 1, {small, small}), true);
  }
  SECTION("others") {
    // No tap is in the image for all points; few products; many points.
    checkAll(makeConv(1, 256, 256, 1, {{1, 3, 1, 3, 3}, same}), false);
    checkAll(makeConv(1, 64, 64, 1, {same, same}), false);
    checkAll(makeConv(2, 256, 256, 1, {same, same}), false);
  }
}

TEST_CASE("conv: pointwise with strides", "[conv]") {
  for (Dim y : {Dim{14, 1, 2}, Dim{15, 1, 2}, Dim{15, 1, 3}, Dim{5, 1}})
    for (Dim x : {Dim{14, 1, 2}, Dim{11, 1, 3}, Dim{6, 1}})
      for (auto [images, channels, filters] :
           {std::tuple{1, 100, 96}, {3, 400, 80}, {1, 32, 64}}) {
        CAPTURE(y.in, y.stride, x.in, x.stride, images, channels);
        sinter_conv p = makeConv(images, channels, filters, 1, {y, x});
        p.layout = SINTER_CHANNELS_LAST;
        const std::string text = check(p, {.constantFilter = true});
        if (cpu::floatUnit() == cpu::FloatUnit::Fma16 && filters > 64 &&
            (images == 1 || y.in % y.stride == 0))
          CHECK(text.find("pointwise conv as product") != std::string::npos);
        addPostOp(p, SINTER_POST_BIAS);
        addPostOp(p, SINTER_POST_ADD);
        addPostOp(p, SINTER_POST_RELU);
        check(p, {.constantFilter = true});
        check(p, {.addResult = true});
        p.direction = SINTER_CONV_INPUT_GRAD;
        p.numPostOps = 0;
        check(p, {.constantFilter = true});
      }
}

TEST_CASE("conv: pointwise of few points", "[conv]") {
  for (auto layout : {SINTER_CHANNELS_LAST, SINTER_CHANNELS_FIRST})
    for (auto [images, points] : {std::pair{1, 1}, {1, 4}, {3, 1}, {2, 2}}) {
      CAPTURE(images, points);
      sinter_conv p = makeConv(images, 150, 70, 1, {{1, 1}, {points, 1}});
      p.layout = layout;
      check(p);
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_SWISH);
      const std::string text = check(p, {.constantFilter = true});
      if (cpu::floatUnit() != cpu::FloatUnit::None &&
          layout == SINTER_CHANNELS_LAST)
        CHECK(text.find("pointwise conv as product of") != std::string::npos);
      addPostOp(p, SINTER_POST_ADD);
      check(p, {.constantFilter = true, .addResult = true});
    }
}

TEST_CASE("conv: Winograd's algorithms", "[conv]") {
  const Options fast{.constantFilter = true, .way = SINTER_BY_FAST_LIBRARY};
  const auto isFast = [](const std::string &text, const char *tile) {
    return text.find(std::string("Winograd's F(") + tile) != std::string::npos;
  };
  const bool hasUnit = cpu::floatUnit() != cpu::FloatUnit::None;
  const Dim same{20, 3, 1, 1, 1};
  SECTION("sizes, pads and post-ops") {
    // Output sizes that are not multiples of the tile size, several images, odd
    // numbers of channels.
    for (auto [batch, channels, filters] :
         {std::tuple{1, 48, 48}, {1, 40, 72}, {2, 65, 48}})
      for (Dim y : {same, Dim{19, 3, 1, 0, 2}, Dim{23, 3}})
        for (Dim x : {same, Dim{18, 3, 1, 2, 0}}) {
          CAPTURE(batch, channels, filters, y.in, x.in);
          sinter_conv p = makeConv(batch, channels, filters, 1, {y, x});
          p.layout = SINTER_CHANNELS_LAST;
          CHECK(isFast(check(p, fast), "4x4") == hasUnit);
          addPostOp(p, SINTER_POST_BIAS);
          addPostOp(p, SINTER_POST_SWISH);
          check(p, fast);
          addPostOp(p, SINTER_POST_ADD);
          addPostOp(p, SINTER_POST_RELU);
          check(p, fast);
          Options onItself = fast;
          onItself.addResult = true;
          check(p, onItself);
        }
  }
  SECTION("groups of tiles") {
    sinter_conv p = makeConv(1, 32, 32, 1, {{90, 3, 1, 1, 1}, {91, 3}});
    p.layout = SINTER_CHANNELS_LAST;
    const std::string text = check(p, fast);
    CHECK((text.find("3 groups") != std::string::npos) == hasUnit);
  }
  SECTION("small tiles, where filters are large and images small") {
    sinter_conv p = makeConv(1, 256, 256, 1, {{14, 3, 1, 1, 1}, {12, 3}});
    p.layout = SINTER_CHANNELS_LAST;
    CHECK(isFast(check(p, fast), "2x2") == hasUnit);
  }
  SECTION("not for other convolutions") {
    sinter_conv p = makeConv(1, 64, 64, 1, {same, same});
    p.layout = SINTER_CHANNELS_LAST;
    CHECK(isFast(check(p, fast), "4x4") == hasUnit);
    CHECK(!isFast(check(p, {.constantFilter = true}), ""));
    CHECK(!isFast(check(p, {.way = SINTER_BY_FAST_LIBRARY}), ""));
    sinter_conv groups = p, first = p, gradient = p;
    groups.groups = 2;
    first.layout = SINTER_CHANNELS_FIRST;
    gradient.direction = SINTER_CONV_INPUT_GRAD;
    for (const sinter_conv &other : {groups, first, gradient})
      CHECK(!isFast(check(other, fast), ""));
    // Strides, dilations, windows, crops; too few tiles, channels or filters.
    for (Dim d :
         {Dim{20, 3, 2, 1, 1}, Dim{20, 3, 1, 2, 2, 2}, Dim{20, 5, 1, 2, 2},
          Dim{20, 3, 1, -1, 1}, Dim{4, 3, 1, 1, 1}}) {
      CAPTURE(d.in, d.kernel, d.stride, d.dilation, d.padLow);
      sinter_conv other = makeConv(1, 64, 64, 1, {d, d});
      other.layout = SINTER_CHANNELS_LAST;
      CHECK(!isFast(check(other, fast), ""));
    }
    for (auto [channels, filters] : {std::pair{3, 64}, {64, 3}, {16, 16}}) {
      CAPTURE(channels, filters);
      sinter_conv other = makeConv(1, channels, filters, 1, {same, same});
      other.layout = SINTER_CHANNELS_LAST;
      CHECK(!isFast(check(other, fast), ""));
    }
  }
}

TEST_CASE("conv: negative pads", "[conv]") {
  for (Dim d :
       {Dim{9, 3, 1, 1, -1}, Dim{9, 3, 2, 1, -1}, Dim{9, 3, 2, 0, -3},
        Dim{9, 3, 1, -2, 1}, Dim{9, 3, 3, -1, -2}, Dim{9, 1, 1, -3, -3}}) {
    CAPTURE(d.in, d.kernel, d.stride, d.padLow, d.padHigh);
    checkAll(makeConv(2, 5, 7, 1, {d, {6, 3, 1, 1, 1}}));
    checkAll(makeConv(2, 5, 7, 1, {{6, 3, 1, 1, 1}, d}));
    checkAll(makeConv(1, 4, 4, 1, {d, d, d}));
    sinter_conv p = makeConv(2, 5, 7, 1, {d, d});
    p.direction = SINTER_CONV_INPUT_GRAD;
    addPostOp(p, SINTER_POST_BIAS);
    addPostOp(p, SINTER_POST_ADD);
    addPostOp(p, SINTER_POST_RELU);
    check(p);
    p.layout = SINTER_CHANNELS_LAST;
    check(p);
  }
}

TEST_CASE("conv: dimensions of size 0", "[conv]") {
  checkAll(makeConv(0, 3, 4, 1, {{5, 3}, {5, 3}}));
  checkAll(makeConv(2, 0, 4, 1, {{5, 3}, {5, 3}}));
  checkAll(makeConv(2, 3, 0, 1, {{5, 3}, {5, 3}}));
  checkAll(makeConv(2, 3, 4, 1, {{0, 3}, {5, 3}}));
  checkAll(makeConv(2, 3, 4, 1, {{0, 3, 1, 2, 2}, {5, 3}}));
  checkAll(makeConv(2, 3, 4, 1, {{2, 3}, {5, 3}}));
  checkAll(makeConv(2, 3, 4, 1, {{4, 2, 1, -4, 3}, {5, 3}}));
  sinter_conv p = makeConv(2, 0, 4, 1, {{5, 3}, {5, 3}});
  addPostOp(p, SINTER_POST_BIAS);
  addPostOp(p, SINTER_POST_SIGMOID);
  check(p);
}

TEST_CASE("conv: every post-op", "[conv]") {
  const auto &kinds = commonPostOps;
  for (auto [channels, filters, groups] :
       {std::tuple{5, 7, 1}, {16, 32, 1}, {16, 16, 16}})
    for (uint32_t layout : {SINTER_CHANNELS_FIRST, SINTER_CHANNELS_LAST})
      for (uint32_t direction : {SINTER_CONV_FORWARD, SINTER_CONV_INPUT_GRAD})
        for (uint32_t first : kinds)
          for (uint32_t second : {kinds[0], kinds[1], kinds[2], kinds[3]}) {
            CAPTURE(channels, groups, layout, direction, first, second);
            sinter_conv p = makeConv(2, channels, filters, groups,
                                     {{6, 3, 1, 1, 1}, {5, 3, 1, 1, 1}});
            p.layout = layout;
            p.direction = direction;
            addCommonPostOp(p, first);
            addCommonPostOp(p, second);
            check(p, {.constantFilter = true});
            if (first == SINTER_POST_ADD || second == SINTER_POST_ADD)
              check(p, {.addResult = true});
          }
}

TEST_CASE("conv: NaN goes through relu, clip and swish", "[conv]") {
  for (uint32_t kind : {SINTER_POST_RELU, SINTER_POST_CLIP, SINTER_POST_SWISH,
                        SINTER_POST_HARD_SWISH})
    for (uint32_t layout : {SINTER_CHANNELS_FIRST, SINTER_CHANNELS_LAST})
      for (int64_t kernel : {1, 3}) {
        CAPTURE(kind, layout, kernel);
        sinter_conv p = makeConv(1, 16, 16, 1, {{8, kernel}});
        p.layout = layout;
        addPostOp(p, SINTER_POST_BIAS);
        addPostOp(p, kind, -1, 1);
        std::vector<float> input = someValues(16 * 8, 1);
        input[0] = std::nanf("");
        OneCommand command(callOf(&p));
        command.operand(input);
        command.operand(someValues(16 * 16 * kernel, 2));
        command.operand(someValues(16, 3));
        std::vector<float> result(static_cast<size_t>(16 * (9 - kernel)));
        command.run(1, result);
        REQUIRE(std::isnan(result[0]));
      }
}

TEST_CASE("conv: shapes that are cut", "[conv]") {
  SECTION("bands of rows of one image") {
    for (Dim d : {Dim{57, 3, 1, 1, 1}, Dim{56, 3, 2, 1, 1}, Dim{55, 1, 2},
                  Dim{56, 5, 3, 2, 2}, Dim{40, 3, 1, 4, 4, 4}}) {
      CAPTURE(d.in, d.kernel, d.stride, d.dilation);
      sinter_conv p = makeConv(1, 32, 32, 1, {d, {33, 3, 1, 1, 1}});
      checkAll(p);
      p.layout = SINTER_CHANNELS_LAST;
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_ADD);
      addPostOp(p, SINTER_POST_RELU);
      check(p);
      check(p, {.constantFilter = true, .addResult = true});
    }
    checkAll(makeConv(1, 96, 96, 96, {{56, 3, 1, 1, 1}, {56, 3, 1, 1, 1}}));
    checkAll(makeConv(1, 16, 16, 1, {{400, 9, 1, 4, 4}}));
  }
  SECTION("chunks of the batch") {
    checkAll(makeConv(37, 8, 16, 1, {{14, 3, 1, 1, 1}, {14, 3, 1, 1, 1}}));
    checkAll(makeConv(16, 1, 32, 1, {{28, 3, 1, 1, 1}, {28, 3, 1, 1, 1}}));
  }
  SECTION("pieces of a large filter") {
    checkAll(makeConv(2, 130, 200, 1, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}}));
    // Post-ops get the channels of their piece, also if the result is added to
    // itself and the last piece is smaller.
    for (int64_t kernel : {1, 3}) {
      int64_t channels = kernel == 1 ? 900 : 130;
      sinter_conv p =
          makeConv(3, channels, 208, 1,
                   {{7, kernel, 1, kernel / 2, kernel / 2}, {7, kernel}});
      p.layout = SINTER_CHANNELS_LAST;
      addPostOp(p, SINTER_POST_BIAS);
      addPostOp(p, SINTER_POST_ADD);
      addPostOp(p, SINTER_POST_RELU);
      addPostOp(p, SINTER_POST_BIAS);
      for (bool constant : {false, true})
        for (bool addResult : {false, true}) {
          CAPTURE(kernel, constant, addResult);
          std::string text =
              check(p, {.constantFilter = constant, .addResult = addResult});
          REQUIRE(text.find("x 208 filters") == std::string::npos);
        }
    }
  }
}
