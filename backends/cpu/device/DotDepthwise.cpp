//===- DotDepthwise.cpp - filters of channels by vdpbf16ps ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The lines of a band of the result are computed for 16 or 32 channels at a
// time: their weights and the rows that they share stay in the cache. A line
// becomes bf16 in registers if they can apply all post-ops. Otherwise its sums
// are stored in blocks.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/DotDepthwise.h"
#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/Depthwise.h"
#include "backends/cpu/device/DepthwiseLine.h"

#include <algorithm>
#include <cstring>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

using PostOps = std::span<const sinter_post_op>;

PostOps postOpsOf(const sinter_command &command) {
  return {command.conv.params->postOps, command.conv.params->numPostOps};
}

uint32_t outDtypeOf(const sinter_conv &params) {
  return params.outDtype ? params.outDtype : params.dtype;
}

/// The end that applies all of `postOps`; Sums if there is none.
LineEnd endOf(PostOps postOps, uint32_t outDtype) {
  if (!postOps.empty() && postOps[0].kind == SINTER_POST_BIAS)
    postOps = postOps.subspan(1);
  if (outDtype != SINTER_BF16 || postOps.size() > 1)
    return LineEnd::Sums;
  if (postOps.empty())
    return LineEnd::Bfloats;
  return postOps[0].kind == SINTER_POST_RELU         ? LineEnd::Relu
         : postOps[0].kind == SINTER_POST_HARD_SWISH ? LineEnd::HardSwish
                                                     : LineEnd::Sums;
}

/// An input of up to so many bytes is in the cache since it was written.
constexpr uint64_t cachedBytes = uint64_t(1) << 21;
/// The rows of the input that the lines of a band begin with.
constexpr uint64_t bandBytes = uint64_t(1) << 17;

/// Of a row of the input.
uint64_t rowBytes(const ConvShape &shape) {
  return sizeof(Bfloat) *
         static_cast<uint64_t>(shape.dims[1].in * shape.channels);
}
uint64_t inputBytes(const ConvShape &shape) {
  return rowBytes(shape) *
         static_cast<uint64_t>(shape.batch * shape.dims[0].in);
}

class DotDepthwiseCall : public LibraryCall {
public:
  DotDepthwiseCall(OneDnnContext &context, const sinter_command &command,
                   const Bfloat *constantFilter);

  std::string description() const override {
    return "conv of bf16 channel by channel by vdpbf16ps, " +
           depthwiseLinesText(shape_);
  }
  uint64_t sharedBytes() const override {
    return constantWeights_ ? 0 : static_cast<uint64_t>(weightBytes());
  }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &scratch, int) override {
    scratch_ = scratch;
    return {};
  }
  Status run(void *const *buffers, const CallContext &context) override;

private:
  int64_t windowSize() const { return shape_.dims[0].kernel; }
  int64_t lineChannels() const {
    return depthwiseLineChannels(windowSize(), shape_.dims[1].out);
  }
  int64_t channelsFrom(int64_t first) const {
    return std::min(lineChannels(), shape_.channels - first);
  }
  int64_t weightBytes() const;
  void pack(const Bfloat *filter, uint8_t *weights) const;
  RunDepthwiseLine functionFor(const DepthwiseLine &line) const {
    return depthwiseLine(windowSize(), shape_.dims[1].stride, line.channels,
                         fetchesNext_);
  }
  void runLines(const uint8_t *weights, void *const *buffers, int64_t begin,
                int64_t end) const;
  void runLine(void *const *buffers, DepthwiseLine &line, int64_t index,
               int64_t firstChannel) const;
  void runBlocks(void *const *buffers, DepthwiseLine &line, int64_t index,
                 int64_t firstChannel) const;

  const sinter_command &command_;
  const ConvShape shape_;
  const BlockStore store_;
  const LineEnd end_;
  const bool fetchesNext_;
  const PackedBytes zeros_; // a row of the input
  PackedBytes constantWeights_;
  Scratch scratch_;
};

DotDepthwiseCall::DotDepthwiseCall(OneDnnContext &context,
                                   const sinter_command &command,
                                   const Bfloat *constantFilter)
    : command_(command), shape_(*command.conv.params),
      store_(postOpsOf(command), outDtypeOf(*command.conv.params),
             /*biasAlongRows=*/false),
      end_(endOf(postOpsOf(command), outDtypeOf(*command.conv.params))),
      fetchesNext_(inputBytes(shape_) > cachedBytes),
      zeros_(context.packed.make(rowBytes(shape_), [&](uint8_t *row) {
        std::memset(row, 0, rowBytes(shape_));
      })) {
  if (constantFilter)
    constantWeights_ = context.packed.make(
        static_cast<uint64_t>(weightBytes()),
        [&](uint8_t *weights) { pack(constantFilter, weights); });
}

int64_t DotDepthwiseCall::weightBytes() const {
  int64_t bytes = 0;
  for (int64_t first = 0; first < shape_.channels; first += lineChannels())
    bytes += depthwiseLineBytes(windowSize(), channelsFrom(first));
  return bytes;
}

void DotDepthwiseCall::pack(const Bfloat *filter, uint8_t *weights) const {
  for (int64_t first = 0; first < shape_.channels; first += lineChannels()) {
    const int64_t channels = channelsFrom(first);
    packDepthwiseLine(filter + first * windowSize() * windowSize(),
                      windowSize(), channels, weights);
    weights += depthwiseLineBytes(windowSize(), channels);
  }
}

/// Computes the sums of a line and stores them, block after block.
void DotDepthwiseCall::runBlocks(void *const *buffers, DepthwiseLine &line,
                                 int64_t index, int64_t firstChannel) const {
  const ConvDim &x = shape_.dims[1];
  alignas(64) float sums[blockRows * panelColumns];
  line.sums = sums;
  BlockPlace place;
  place.firstColumn = firstChannel;
  place.columns = line.channels;
  for (int64_t first = 0; first < x.out; first += blockRows) {
    line.firstColumn = first * x.stride - x.padLow;
    line.points = place.count = std::min(blockRows, x.out - first);
    for (int64_t i = 0; i < place.count; ++i)
      place.rows[static_cast<size_t>(i)] =
          (index * x.out + first + i) * shape_.channels + firstChannel;
    functionFor(line)(line);
    store_.store(sums, place, /*column=*/0, {0, place.count}, buffers,
                 command_.numSlices - 1);
  }
}

/// Channels `firstChannel` and on of line `index` of all images' output.
void DotDepthwiseCall::runLine(void *const *buffers, DepthwiseLine &line,
                               int64_t index, int64_t firstChannel) const {
  const ConvDim &y = shape_.dims[0], &x = shape_.dims[1];
  const int64_t image = index / y.out,
                firstRow = index % y.out * y.stride - y.padLow;
  const Bfloat *input = static_cast<const Bfloat *>(buffers[0]) +
                        image * shape_.inputPoints() * shape_.channels;
  for (int64_t i = 0; i < y.kernel; ++i) {
    const int64_t row = firstRow + i * y.dilation;
    const bool isInside = row >= 0 && row < y.in;
    line.rows[static_cast<size_t>(i)] =
        (isInside ? input + row * x.in * shape_.channels
                  : reinterpret_cast<const Bfloat *>(zeros_.get())) +
        firstChannel;
  }
  if (end_ == LineEnd::Sums)
    return runBlocks(buffers, line, index, firstChannel);
  line.firstColumn = -x.padLow;
  line.points = x.out;
  line.result = static_cast<Bfloat *>(buffers[command_.numSlices - 1]) +
                index * x.out * shape_.channels + firstChannel;
  functionFor(line)(line);
}

void DotDepthwiseCall::runLines(const uint8_t *weights, void *const *buffers,
                                int64_t begin, int64_t end) const {
  DepthwiseLine line{};
  line.columns = shape_.dims[1].in;
  line.columnStride = shape_.channels;
  line.weights = weights;
  line.end = end_;
  const PostOps postOps = postOpsOf(command_);
  const bool hasBias = end_ != LineEnd::Sums && !postOps.empty() &&
                       postOps[0].kind == SINTER_POST_BIAS;
  for (int64_t first = 0; first < shape_.channels; first += lineChannels()) {
    line.channels = channelsFrom(first);
    if (hasBias)
      line.bias =
          static_cast<const Bfloat *>(buffers[postOps[0].slice]) + first;
    for (int64_t index = begin; index < end; ++index)
      runLine(buffers, line, index, first);
    line.weights += depthwiseLineBytes(windowSize(), line.channels);
  }
}

Status DotDepthwiseCall::run(void *const *buffers, const CallContext &context) {
  uint8_t *weights =
      constantWeights_ ? constantWeights_.get() : scratch_.shared;
  if (!constantWeights_)
    pack(static_cast<const Bfloat *>(buffers[1]), weights);
  const ConvDim &y = shape_.dims[0];
  const auto band = std::max<int64_t>(
      1, static_cast<int64_t>(bandBytes / rowBytes(shape_)) / y.stride);
  context.parallelFor(shape_.batch * y.out, depthwiseGrain(shape_),
                      [&](int, int64_t begin, int64_t end) {
                        for (; begin < end; begin += band)
                          runLines(weights, buffers, begin,
                                   std::min(end, begin + band));
                      });
  return {};
}

} // namespace

std::unique_ptr<LibraryCall>
sinter::cpu::makeDotDepthwise(OneDnnContext &context,
                              const sinter_command &command,
                              const Bfloat *constantFilter) {
  const ConvShape shape(*command.conv.params);
  const ConvDim &x = shape.dims[1];
  if (shape.dims[0].kernel != x.kernel || x.dilation != 1 ||
      command.conv.params->padValue != 0 ||
      !depthwiseLine(x.kernel, x.stride, /*channels=*/1, false))
    return nullptr;
  return std::make_unique<DotDepthwiseCall>(context, command, constantFilter);
}
