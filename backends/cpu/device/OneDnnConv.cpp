//===- OneDnnConv.cpp - fp32 convolutions and their input gradients -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnConv.h"

#include <array>
#include <atomic>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

Status ConvCall::bind(const Scratch &scratch, int threads) {
  scratch_ = scratch;
  try {
    for (auto &[slice, variant] : variants_)
      variant.primitive.bind(context_, scratch, threads);
    for (PackedFilter &filter : filters_)
      filter.reorder.bind(context_, scratch, threads);
  } catch (const dnnl::error &error) {
    return {SINTER_DEVICE_FAILED, std::string("oneDNN: ") + error.what()};
  }
  return {};
}

bool ConvCall::packFilters(const float *filter,
                           const CallContext &context) const {
  std::atomic<bool> good{true};
  for (const PackedFilter &packed : filters_)
    context.parallelFor(
        packed.reorder.pieces(), 1,
        [&](int worker, int64_t begin, int64_t end) {
          OneThreadScope::limitWorker(worker);
          for (int64_t i = begin; i < end; ++i)
            if (!packed.reorder.run(context_, worker, i,
                                    filter + filterOffset(packed),
                                    scratch_.shared + packed.sharedOffset))
              good.store(false, std::memory_order_relaxed);
        });
  return good.load(std::memory_order_relaxed);
}

/// Applies the post-ops that are not fused to a run of points by channels. The
/// channels begin at `channelBegin`, and the run at `offset` in the result.
void ConvCall::finishRun(void *const *buffers, const Block &values,
                         int64_t offset, int64_t channelBegin) const {
  std::array<PostOpOperand, SINTER_MAX_POST_OPS> operands;
  auto rest = postOps_.subspan(fused_);
  for (size_t i = 0; i < rest.size(); ++i) {
    if (!readsOperand(rest[i]))
      continue;
    const auto *address = static_cast<const float *>(buffers[rest[i].slice]);
    operands[i] = rest[i].kind == SINTER_POST_BIAS
                      ? PostOpOperand{address + channelBegin, 0, 1}
                      : PostOpOperand{address + offset, result_.pointStride(),
                                      result_.channelStride()};
  }
  applyPostOps(rest, values, operands.data());
}

bool ConvCall::runSlice(void *const *buffers, int worker, size_t index) const {
  const PlacedConvSlice &placed = slices_[index];
  const ConvSlice &slice = placed.slice;
  const ConvVariant &variant = *variantOf_[index];
  uint8_t *mine = scratch_.perWorker +
                  static_cast<uint64_t>(worker) * scratch_.perWorkerStride;
  int64_t sourceRow = inputGrad_ ? placed.outBegin : placed.inBegin;
  int64_t sourceRows = inputGrad_ ? slice.out : slice.in;
  int64_t resultRow = inputGrad_ ? placed.inBegin : placed.outBegin;
  int64_t resultRows = inputGrad_ ? slice.in : slice.out;

  const auto *source = static_cast<const float *>(buffers[0]);
  if (gather_) {
    auto *dense = reinterpret_cast<float *>(mine + gatherOffset_);
    source_.gather(source, placed.batchBegin, slice.batch, sourceRow,
                   sourceRows, 0, source_.channels(), dense);
    source = dense;
  } else {
    source += placed.batchBegin * source_.imageElements() +
              sourceRow * source_.rowPoints() * source_.channels();
  }
  float *memory = resultAddress(buffers);
  int64_t channelBegin = inputGrad_ ? 0 : placed.filterBegin;
  int64_t channels = inputGrad_ ? result_.channels() : slice.filters;
  int64_t offset = placed.batchBegin * result_.imageElements() +
                   resultRow * result_.rowPoints() * result_.channels();
  float *result = scatter_ ? reinterpret_cast<float *>(mine + scatterOffset_)
                           : memory + offset;

  const PackedFilter &filter = filters_[filterOf_[index]];
  std::array<void *, 3 + SINTER_MAX_POST_OPS> addresses;
  size_t count = 0;
  addresses[count++] = const_cast<float *>(source);
  if (filter.plain)
    addresses[count++] =
        static_cast<float *>(buffers[1]) + filterOffset(filter);
  else if (filter.constant)
    addresses[count++] = filter.constant.get();
  else
    addresses[count++] = scratch_.shared + filter.sharedOffset;
  addresses[count++] = result;
  for (uint32_t i = 0; i < fused_; ++i) {
    if (!readsOperand(postOps_[i]) || i == accumulate_)
      continue;
    auto *address = static_cast<float *>(buffers[postOps_[i].slice]);
    addresses[count++] =
        address +
        (postOps_[i].kind == SINTER_POST_BIAS ? channelBegin : offset);
  }
  if (!variant.primitive.run(context_, worker, addresses.data()))
    return false;

  bool finish = fused_ < postOps_.size() && !finishApart_;
  if (!finish && !scatter_)
    return true;
  int64_t imagePoints = resultRows * result_.rowPoints();
  for (int64_t i = 0; i < slice.batch; ++i)
    result_.forEachRun(
        placed.batchBegin + i, resultRow, resultRows,
        [&](int64_t at, int64_t densePoint, int64_t points) {
          float *values = result + (i * imagePoints + densePoint) * channels;
          int64_t to = at + channelBegin * result_.channelStride();
          if (finish)
            finishRun(buffers, {values, points, channels, channels, 1}, to,
                      channelBegin);
          if (scatter_)
            copyBlock({memory + to, points, channels, result_.pointStride(),
                       result_.channelStride()},
                      values, channels, 1);
        });
  return true;
}

void ConvCall::zeroResult(void *const *buffers,
                          const CallContext &context) const {
  float *memory = resultAddress(buffers);
  context.parallelFor(shape_.batch * result_.imageElements(), 65536,
                      [&](int, int64_t begin, int64_t end) {
                        std::fill(memory + begin, memory + end, 0.0f);
                      });
}

/// Applies post-ops to the whole stored result.
void ConvCall::finishResult(void *const *buffers,
                            const CallContext &context) const {
  int64_t imagePoints =
      result_.imageElements() / std::max<int64_t>(1, result_.channels());
  context.parallelFor(shape_.batch, 1, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t offset = i * result_.imageElements();
      finishRun(buffers,
                {resultAddress(buffers) + offset, imagePoints,
                 result_.channels(), result_.pointStride(),
                 result_.channelStride()},
                offset, 0);
    }
  });
}

Status ConvCall::run(void *const *buffers, const CallContext &context) {
  if (empty_)
    return {};
  if (emptySum_) {
    zeroResult(buffers, context);
    finishResult(buffers, context);
    return {};
  }
  OneThreadScope oneThread;
  if (inputGrad_ && shape_.cropped())
    zeroResult(buffers, context);
  if (!packFilters(static_cast<const float *>(buffers[1]), context))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to pack a filter"};
  std::atomic<bool> failed{false};
  auto count = static_cast<int64_t>(slices_.size());
  context.parallelFor(
      count, std::max<int64_t>(1, count / maxSlices),
      [&](int worker, int64_t begin, int64_t end) {
        OneThreadScope::limitWorker(worker);
        for (int64_t i = begin; i < end; ++i)
          if (!runSlice(buffers, worker, static_cast<size_t>(i)))
            failed.store(true, std::memory_order_relaxed);
      });
  if (failed.load(std::memory_order_relaxed))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to run a convolution"};
  if (finishApart_)
    finishResult(buffers, context);
  return {};
}

std::string ConvCall::description() const {
  std::string text = inputGrad_ ? "conv input grad" : "conv";
  if (variantOf_.empty())
    return text + " without work";
  text += " in " + std::to_string(slices_.size()) + " slices of " +
          std::to_string(slices_.front().slice.batch) + " images x " +
          std::to_string(inputGrad_ ? slices_.front().slice.in
                                    : slices_.front().slice.out) +
          " rows x " + std::to_string(slices_.front().slice.filters) +
          " filters, " + variantOf_.front()->primitive.implementation();
  for (const auto &[slice, variant] : variants_)
    if (variant.primitive.implementation() !=
        variantOf_.front()->primitive.implementation())
      text += " / " + variant.primitive.implementation();
  text += filters_.front().plain      ? ", filter in place"
          : filters_.front().constant ? ", filter packed at load"
                                      : ", filter packed per run";
  if (gather_ || scatter_)
    text += ", activations copied";
  if (!postOps_.empty())
    text += ", " + std::to_string(fused_) + " of " +
            std::to_string(postOps_.size()) + " post-ops fused";
  return text;
}
