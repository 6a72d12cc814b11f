//===- Depthwise.cpp - convolutions channel by channel --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Depthwise.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/EveryWidth.h"
#include "runtime/base/CpuFeatures.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// Points of a line whose sums fit the registers.
constexpr int64_t blockPoints = 8;

/// The window of a block. Strides are in elements of float32.
struct Window {
  const float *const *rows; // of the input, at the first point of the first
                            // window and the first channel
  const float *weights;
  int64_t height, width;
  int64_t pointStride;  // between neighbours of a window
  int64_t outputStride; // between windows
  int64_t weightStride;
};

#if defined(__x86_64__)
/// sums[point * panelColumns ..] = the sums of `count` points, 16 channels.
template <int count>
__attribute__((target("avx512f"))) void sumWindows(const Window &window,
                                                   float *sums) {
  __m512 sum[count];
  for (int i = 0; i < count; ++i)
    sum[i] = _mm512_setzero_ps();
  const float *weights = window.weights;
  for (int64_t y = 0; y < window.height; ++y) {
    const float *row = window.rows[y];
    for (int64_t x = 0; x < window.width; ++x) {
      const __m512 weight = _mm512_load_ps(weights);
      for (int i = 0; i < count; ++i)
        sum[i] = _mm512_fmadd_ps(_mm512_load_ps(row + i * window.outputStride),
                                 weight, sum[i]);
      row += window.pointStride;
      weights += window.weightStride;
    }
  }
  for (int i = 0; i < count; ++i)
    _mm512_store_ps(sums + i * panelColumns, sum[i]);
}
#else
template <int count> void sumWindows(const Window &, float *) {}
#endif

/// The same without AVX-512.
SINTER_EVERY_WIDTH
void sumWindowsByLoops(const Window &window, int64_t count, float *sums) {
  constexpr int64_t channels = 16;
  for (int64_t i = 0; i < count; ++i) {
    float sum[channels] = {};
    const float *weights = window.weights;
    for (int64_t y = 0; y < window.height; ++y) {
      const float *row = window.rows[y] + i * window.outputStride;
      for (int64_t x = 0; x < window.width; ++x) {
        for (int64_t c = 0; c < channels; ++c)
          sum[c] += row[c] * weights[c];
        row += window.pointStride;
        weights += window.weightStride;
      }
    }
    std::copy_n(sum, channels, sums + i * panelColumns);
  }
}

void sumWindows(const Window &window, int64_t count, float *sums) {
  static constexpr std::array<void (*)(const Window &, float *), blockPoints>
      functions = {sumWindows<1>, sumWindows<2>, sumWindows<3>, sumWindows<4>,
                   sumWindows<5>, sumWindows<6>, sumWindows<7>, sumWindows<8>};
  static const bool hasVectors = rt::checkCpuFeatures("+avx512f").ok();
  if (hasVectors)
    functions[static_cast<size_t>(count - 1)](window, sums);
  else
    sumWindowsByLoops(window, count, sums);
}

} // namespace

std::string sinter::cpu::depthwiseLinesText(const ConvShape &shape) {
  return std::to_string(shape.batch * shape.dims[0].out) + " lines of " +
         std::to_string(shape.dims[1].out) + " points";
}

int64_t sinter::cpu::depthwiseGrain(const ConvShape &shape) {
  // The fewest operations that are worth another thread.
  constexpr double grainFlops = 4e6;
  const double flops =
      shape.flops() / static_cast<double>(shape.batch * shape.dims[0].out);
  return std::max<int64_t>(1, static_cast<int64_t>(grainFlops / flops));
}

bool DepthwiseCall::fits(const sinter_conv &params) {
  return params.groups == params.channels && params.groups == params.filters &&
         params.kernel[0] <= maxHeight;
}

DepthwiseCall::DepthwiseCall(const sinter_command &command,
                             int64_t elementBytes)
    : command_(command), shape_(*command.conv.params),
      elementBytes_(elementBytes),
      stride_(ceilDiv(shape_.channels, vectorChannels) * vectorChannels),
      rowPoints_((shape_.dims[1].out - 1) * shape_.dims[1].stride +
                 shape_.dims[1].window()) {}

void DepthwiseCall::packConstant(OneDnnContext &context,
                                 const uint8_t *filter) {
  constantWeights_ = context.packed.make(
      static_cast<uint64_t>(weightBytes()), [&](uint8_t *weights) {
        pack(filter, reinterpret_cast<float *>(weights));
      });
}

uint64_t DepthwiseCall::sharedBytes() const {
  return constantWeights_ ? 0 : static_cast<uint64_t>(weightBytes());
}

/// The rows of a window.
uint64_t DepthwiseCall::perWorkerBytes() const {
  return static_cast<uint64_t>(shape_.dims[0].kernel * rowBytes());
}

Status DepthwiseCall::bind(const Scratch &scratch, int) {
  scratch_ = scratch;
  return {};
}

int64_t DepthwiseCall::weightBytes() const {
  return alignUp(4 * windowPoints() * stride_);
}

int64_t DepthwiseCall::rowBytes() const {
  return alignUp(4 * rowPoints_ * stride_);
}

/// The weights in float32: all channels of each point of the window.
void DepthwiseCall::pack(const uint8_t *filter, float *weights) const {
  std::fill_n(weights, windowPoints() * stride_, 0.0f);
  for (int64_t channel = 0; channel < shape_.channels; ++channel)
    for (int64_t point = 0; point < windowPoints(); ++point)
      weights[point * stride_ + channel] =
          weightOf(filter, channel * windowPoints() + point);
}

/// Row `row` of the image, which may lie outside, with its padding.
void DepthwiseCall::widenRow(const uint8_t *image, int64_t row,
                             float *to) const {
  const ConvDim &y = shape_.dims[0], &x = shape_.dims[1];
  const bool isInside = row >= 0 && row < y.in;
  const int64_t begin = isInside ? std::min(x.padLow, rowPoints_) : rowPoints_,
                end = isInside ? std::clamp(x.padLow + x.in, begin, rowPoints_)
                               : rowPoints_;
  const auto padding = static_cast<float>(command_.conv.params->padValue);
  std::fill_n(to, begin * stride_, padding);
  if (isInside)
    widenPoints(image + elementBytes_ * (row * x.in + begin - x.padLow) *
                            shape_.channels,
                end - begin, to + begin * stride_, stride_);
  std::fill_n(to + end * stride_, (rowPoints_ - end) * stride_, padding);
}

/// All channels of line `line` of all images' output. `rows` are those of its
/// windows.
void DepthwiseCall::runLine(void *const *buffers, const float *weights,
                            const Rows &rows, int64_t line) const {
  const ConvDim &y = shape_.dims[0], &x = shape_.dims[1];
  const int64_t channels = shape_.channels;
  alignas(64) float sums[blockRows * panelColumns];
  Rows at;
  Window window{
      at.data(),          nullptr, y.kernel, x.kernel, x.dilation * stride_,
      x.stride * stride_, stride_};
  BlockPlace place;
  for (int64_t first = 0; first < channels; first += panelColumns)
    for (int64_t column = 0; column < x.out; column += blockRows) {
      place.firstColumn = first;
      place.columns = std::min(panelColumns, channels - first);
      place.count = std::min(blockRows, x.out - column);
      for (int64_t i = 0; i < place.count; ++i)
        place.rows[static_cast<size_t>(i)] =
            (line * x.out + column + i) * channels + first;
      for (int64_t c = 0; c < place.columns; c += vectorChannels)
        for (int64_t i = 0; i < place.count; i += blockPoints) {
          for (int64_t row = 0; row < y.kernel; ++row)
            at[static_cast<size_t>(row)] = rows[static_cast<size_t>(row)] +
                                           (column + i) * window.outputStride +
                                           first + c;
          window.weights = weights + first + c;
          sumWindows(window, std::min(blockPoints, place.count - i),
                     sums + i * panelColumns + c);
        }
      storeBlock(sums, place, buffers);
    }
}

Status DepthwiseCall::run(void *const *buffers, const CallContext &context) {
  const ConvDim &y = shape_.dims[0];
  auto *weights = reinterpret_cast<float *>(
      constantWeights_ ? constantWeights_.get() : scratch_.shared);
  if (!constantWeights_)
    pack(static_cast<const uint8_t *>(buffers[1]), weights);
  auto runLines = [&](int worker, int64_t begin, int64_t end) {
    // The rows of the line before that this one needs again stay where they
    // are.
    auto *places = reinterpret_cast<float *>(scratch_.perWorker +
                                             static_cast<uint64_t>(worker) *
                                                 scratch_.perWorkerStride);
    struct Held {
      int64_t image = -1, row = 0;
    };
    std::array<Held, maxHeight> held;
    Rows rows;
    for (int64_t line = begin; line < end; ++line) {
      const int64_t image = line / y.out,
                    first = line % y.out * y.stride - y.padLow;
      const uint8_t *input =
          static_cast<const uint8_t *>(buffers[0]) +
          elementBytes_ * image * shape_.inputPoints() * shape_.channels;
      for (int64_t i = 0; i < y.kernel; ++i) {
        // Rows a window apart share a place.
        const int64_t row = first + i * y.dilation,
                      turn = (row + y.padLow) / y.dilation % y.kernel;
        float *place = places + turn * rowBytes() / 4;
        Held &is = held[static_cast<size_t>(turn)];
        if (is.image != image || is.row != row) {
          widenRow(input, row, place);
          is = {image, row};
        }
        rows[static_cast<size_t>(i)] = place;
      }
      runLine(buffers, weights, rows, line);
    }
  };
  context.parallelFor(shape_.batch * y.out, depthwiseGrain(shape_), runLines);
  return {};
}
