//===- BfloatDepthwise.cpp - bf16 convolutions channel by channel ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// DotDepthwise computes the windows that it has a function for. The rows of
// others are widened to float32.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BlockStore.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/Depthwise.h"
#include "backends/cpu/device/DotDepthwise.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

#if defined(__x86_64__)
/// Widens `points` points of `channels` channels; a point of the result has
/// `stride` elements. The rest of a vector becomes 0.
__attribute__((target("avx512f,avx512bw,avx512vl"))) void
widenBfloats(const Bfloat *from, int64_t points, int64_t channels, float *to,
             int64_t stride) {
  for (int64_t i = 0; i < points; ++i, from += channels, to += stride)
    for (int64_t c = 0; c < channels; c += 16) {
      const auto mask = static_cast<__mmask16>(
          (1u << std::min<int64_t>(16, channels - c)) - 1);
      const __m256i half = _mm256_maskz_loadu_epi16(mask, from + c);
      _mm512_store_si512(to + c,
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
    }
}
#else
void widenBfloats(const Bfloat *, int64_t, int64_t, float *, int64_t) {}
#endif

class BfloatDepthwiseCall : public DepthwiseCall {
public:
  BfloatDepthwiseCall(OneDnnContext &context, const sinter_command &command,
                      uint32_t outDtype, const Bfloat *constantFilter)
      : DepthwiseCall(command, sizeof(Bfloat)),
        store_({command.conv.params->postOps, command.conv.params->numPostOps},
               outDtype, /*biasAlongRows=*/false) {
    if (constantFilter)
      packConstant(context, reinterpret_cast<const uint8_t *>(constantFilter));
  }

  std::string description() const override {
    return "conv of bf16 channel by channel, " + depthwiseLinesText(shape_);
  }

private:
  float weightOf(const uint8_t *filter, int64_t index) const override {
    return toFloat(reinterpret_cast<const Bfloat *>(filter)[index]);
  }
  void widenPoints(const uint8_t *from, int64_t points, float *to,
                   int64_t stride) const override {
    widenBfloats(reinterpret_cast<const Bfloat *>(from), points,
                 shape_.channels, to, stride);
  }
  void storeBlock(float *sums, const BlockPlace &place,
                  void *const *buffers) const override {
    store_.store(sums, place, /*column=*/0, {0, place.count}, buffers,
                 command_.numSlices - 1);
  }

  const BlockStore store_;
};

} // namespace

LibraryCallResult
sinter::cpu::prepareBfloatDepthwise(OneDnnContext &context,
                                    const sinter_command &command,
                                    const uint8_t *constants) {
  const sinter_conv &params = *command.conv.params;
  if (!fitsBfloatStore(command) || !DepthwiseCall::fits(params))
    return std::unique_ptr<LibraryCall>();
  const float *address = constantAddress(command.slices[1], constants);
  const auto *filter = reinterpret_cast<const Bfloat *>(address);
  std::unique_ptr<LibraryCall> call =
      makeDotDepthwise(context, command, filter);
  if (!call)
    call = std::make_unique<BfloatDepthwiseCall>(
        context, command, params.outDtype ? params.outDtype : params.dtype,
        filter);
  return call;
}
