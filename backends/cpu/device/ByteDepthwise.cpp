//===- ByteDepthwise.cpp - 8-bit convolutions channel by channel ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Products of 8-bit integers are summed in float32, which is exact below 2^24.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteCall.h"
#include "backends/cpu/device/ByteStore.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/Depthwise.h"
#include "backends/cpu/device/EveryWidth.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

/// The most points of a window whose sums float32 holds.
constexpr int64_t maxPoints = (1 << 24) / (255 * 255);

SINTER_EVERY_WIDTH
void toIntegers(float *sums, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto sum = static_cast<int32_t>(sums[i]);
    __builtin_memcpy(sums + i, &sum, sizeof(sum));
  }
}

class ByteDepthwiseCall : public DepthwiseCall {
public:
  ByteDepthwiseCall(OneDnnContext &context, const sinter_command &command,
                    ByteSigns signs, const uint8_t *constantFilter)
      : DepthwiseCall(command, 1),
        store_({command.conv.params->postOps, command.conv.params->numPostOps},
               command.conv.params->outDtype, /*alongRows=*/false,
               /*columnStride=*/1),
        signs_(signs) {
    if (constantFilter)
      packConstant(context, constantFilter);
  }

  std::string description() const override {
    return "conv of 8 bits channel by channel, " + depthwiseLinesText(shape_);
  }

private:
  float weightOf(const uint8_t *filter, int64_t index) const override {
    return signs_.b ? static_cast<float>(static_cast<int8_t>(filter[index]))
                    : static_cast<float>(filter[index]);
  }
  void widenPoints(const uint8_t *from, int64_t points, float *to,
                   int64_t stride) const override {
    // Without a gap between points, they are one line.
    const bool isDense = shape_.channels == stride;
    const int64_t lines = isDense ? 1 : points,
                  count = isDense ? points * stride : shape_.channels;
    for (int64_t i = 0; i < lines; ++i, from += count, to += stride) {
      widenCodes(from, signs_.a, count, /*stride=*/1, to);
      if (!isDense)
        std::fill(to + count, to + stride, 0.0f);
    }
  }
  void storeBlock(float *sums, const BlockPlace &place,
                  void *const *buffers) const override {
    toIntegers(sums, place.count * panelColumns);
    store_.store(reinterpret_cast<uint32_t *>(sums), place, buffers,
                 command_.numSlices - 1);
  }

  const ByteStore store_;
  const ByteSigns signs_;
};

} // namespace

LibraryCallResult
sinter::cpu::prepareByteDepthwise(OneDnnContext &context,
                                  const sinter_command &command,
                                  const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  std::optional<ByteSigns> signs = byteSigns(command);
  if (!signs || !isByteWindow(params) || !DepthwiseCall::fits(params) ||
      params.kernel[0] * params.kernel[1] > maxPoints ||
      !unitOf(command, {params.postOps, params.numPostOps}, params.outDtype))
    return std::unique_ptr<LibraryCall>();
  const float *filter = constantAddress(command.slices[1], constants);
  return std::unique_ptr<LibraryCall>(std::make_unique<ByteDepthwiseCall>(
      context, command, *signs, reinterpret_cast<const uint8_t *>(filter)));
}
