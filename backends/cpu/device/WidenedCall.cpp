//===- WidenedCall.cpp - 16-bit contractions computed in fp32 -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For 16-bit contractions for which this CPU has no faster unit: fp16
// everywhere, bf16 without AMX or a fast vdpbf16ps. Operands and result pass
// through fp32 scratch, and the contraction is the fp32 call, so that slices
// and sums are the same. Post-ops are computed in fp32, before the single
// rounding.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "runtime/base/Float16.h"

#include <array>
#include <variant>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) int64_t widenHalves(const rt::Half *from,
                                                        float *to,
                                                        int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                 reinterpret_cast<const __m128i *>(from + i))));
  return i;
}
__attribute__((target("avx,f16c"))) int64_t narrowHalves(const float *from,
                                                         rt::Half *to,
                                                         int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(
        reinterpret_cast<__m128i *>(to + i),
        _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
bool hasHalves() {
  static const bool has = __builtin_cpu_supports("f16c") > 0;
  return has;
}
#else
int64_t widenHalves(const rt::Half *, float *, int64_t) { return 0; }
int64_t narrowHalves(const float *, rt::Half *, int64_t) { return 0; }
bool hasHalves() { return false; }
#endif

template <typename T> void widen(const void *from, float *to, int64_t count) {
  const T *values = static_cast<const T *>(from);
  int64_t done = 0;
  if constexpr (std::is_same_v<T, rt::Half>)
    done = hasHalves() ? widenHalves(values, to, count) : 0;
  for (int64_t i = done; i < count; ++i)
    to[i] = rt::toFloat(values[i]);
}

template <typename T> void narrow(const float *from, void *to, int64_t count) {
  T *values = static_cast<T *>(to);
  int64_t done = 0;
  if constexpr (std::is_same_v<T, rt::Half>)
    done = hasHalves() ? narrowHalves(from, values, count) : 0;
  for (int64_t i = done; i < count; ++i)
    rt::fromFloat(from[i], values[i]);
}

class WidenedCall : public LibraryCall {
public:
  explicit WidenedCall(const sinter_command &command)
      : original_(command), command_(command) {}

  Status prepare(OneDnnContext &context, const uint8_t *constants,
                 PrepareCall prepareWide);

  uint64_t sharedBytes() const override {
    return wideBytes_ + inner_->sharedBytes();
  }
  uint64_t perWorkerBytes() const override { return inner_->perWorkerBytes(); }
  Status bind(const Scratch &scratch, int threads) override {
    wide_ = scratch.shared;
    Scratch rest = scratch;
    rest.shared += wideBytes_;
    return inner_->bind(rest, threads);
  }
  Status run(void *const *buffers, const CallContext &context) override;
  std::string description() const override {
    return inner_->description() + (isBfloat_ ? ", bf16" : ", fp16") +
           " operands widened";
  }

private:
  /// A 16-bit slice that the fp32 call gets as fp32.
  struct WideSlice {
    uint32_t slice;
    int64_t elements;
    int64_t offset;       // in the shared scratch
    PackedBytes constant; // or a copy made at load
    float *at(uint8_t *shared) const {
      return reinterpret_cast<float *>(constant ? constant.get()
                                                : shared + offset);
    }
  };

  void widenTo(const void *from, float *to, int64_t begin, int64_t end) const {
    const auto *bytes = static_cast<const uint8_t *>(from) + 2 * begin;
    isBfloat_ ? widen<rt::Bfloat>(bytes, to + begin, end - begin)
              : widen<rt::Half>(bytes, to + begin, end - begin);
  }

  const sinter_command &original_;
  sinter_command command_; // the command of the fp32 call
  std::variant<sinter_matmul, sinter_conv> params_;
  std::vector<sinter_slice> slices_;
  std::vector<WideSlice> widened_;
  std::unique_ptr<LibraryCall> inner_;
  std::vector<void *> addresses_;
  bool isBfloat_ = false, keepsResult_ = false;
  uint64_t wideBytes_ = 0;
  uint8_t *wide_ = nullptr;
};

} // namespace

Status WidenedCall::prepare(OneDnnContext &context, const uint8_t *constants,
                            PrepareCall prepareWide) {
  uint32_t dtype, outDtype;
  int64_t written = -1; // elements of the result; -1: all of its slice
  if (original_.kind == SINTER_CMD_CONV) {
    auto params = *original_.conv.params;
    dtype = params.dtype;
    outDtype = params.outDtype ? params.outDtype : dtype;
    params.dtype = params.outDtype = SINTER_F32;
    params_ = params;
    command_.conv.params = &std::get<sinter_conv>(params_);
    // Products of 16-bit numbers are exact; those of transformed ones are not.
    command_.conv.way = SINTER_BY_LIBRARY;
  } else {
    auto params = *original_.matmul.params;
    dtype = params.dtype;
    outDtype = params.outDtype;
    params.dtype = params.outDtype = SINTER_F32;
    written = params.m * params.n;
    for (uint32_t i = 0; i < params.batchRank; ++i)
      written *= params.batch[i];
    params_ = params;
    command_.matmul.params = &std::get<sinter_matmul>(params_);
  }
  isBfloat_ = dtype == SINTER_BF16;
  const uint32_t last = original_.numSlices - 1;
  slices_.assign(original_.slices, original_.slices + original_.numSlices);
  const uint8_t *wideConstants = nullptr;
  for (uint32_t i = 0; i <= last; ++i) {
    if (i >= 2 && outDtype == SINTER_F32)
      continue;
    sinter_slice &slice = slices_[i];
    WideSlice wide{i, static_cast<int64_t>(slice.sizeBytes / 2),
                   static_cast<int64_t>(wideBytes_), nullptr};
    const float *constant = constantAddress(slice, constants);
    slice.sizeBytes *= 2;
    if (constant && slice.sizeBytes) {
      wide.constant = context.packed.make(slice.sizeBytes, [&](uint8_t *bytes) {
        widenTo(constant, reinterpret_cast<float *>(bytes), 0, wide.elements);
      });
      // Only the second operand may be packed further.
      slice.offsetBytes = 0;
      if (i == 1)
        wideConstants = wide.constant.get();
      else
        slice.space = SINTER_SPACE_INPUT;
    } else {
      // A separate slice that overlaps no other.
      slice.space = SINTER_SPACE_INPUT;
      slice.offsetBytes = 0;
      wideBytes_ +=
          static_cast<uint64_t>(alignUp(static_cast<int64_t>(slice.sizeBytes)));
    }
    if (slice.space == SINTER_SPACE_INPUT)
      slice.index = SINTER_NONE - 1 - i;
    if (i == last)
      keepsResult_ = written >= 0 && written < wide.elements;
    widened_.push_back(std::move(wide));
  }
  command_.slices = slices_.data();
  addresses_.resize(original_.numSlices);
  LibraryCallResult inner = prepareWide(context, command_, wideConstants);
  if (!inner.ok())
    return inner.status();
  inner_ = std::move(*inner);
  return {};
}

Status WidenedCall::run(void *const *buffers, const CallContext &context) {
  constexpr int64_t grain = 16384;
  const uint32_t last = original_.numSlices - 1;
  std::copy(buffers, buffers + original_.numSlices, addresses_.begin());
  for (const WideSlice &slice : widened_) {
    float *wide = slice.at(wide_);
    addresses_[slice.slice] = wide;
    if (slice.constant || (slice.slice == last && !keepsResult_))
      continue;
    context.parallelFor(slice.elements, grain,
                        [&](int, int64_t begin, int64_t end) {
                          widenTo(buffers[slice.slice], wide, begin, end);
                        });
  }
  SINTER_RETURN_IF_ERROR(inner_->run(addresses_.data(), context));
  const WideSlice &result = widened_.back();
  if (result.slice != last)
    return {};
  const float *wide = result.at(wide_);
  auto *to = static_cast<uint8_t *>(buffers[last]);
  context.parallelFor(
      result.elements, grain, [&](int, int64_t begin, int64_t end) {
        isBfloat_
            ? narrow<rt::Bfloat>(wide + begin, to + 2 * begin, end - begin)
            : narrow<rt::Half>(wide + begin, to + 2 * begin, end - begin);
      });
  return {};
}

LibraryCallResult sinter::cpu::prepareWidened(OneDnnContext &context,
                                              const sinter_command &command,
                                              const uint8_t *constants,
                                              PrepareCall prepareWide) {
  auto call = std::make_unique<WidenedCall>(command);
  SINTER_RETURN_IF_ERROR(call->prepare(context, constants, prepareWide));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
