//===- OneDnnConv.h - float32 convolutions by oneDNN ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The library computes slices (ConvPlan.h) on dense channels-last activations
// and a packed filter. Those implementations run at 120-180 GFLOP/s per core,
// those for plain layouts at half of that and, for channels last with a plain
// filter, at a thousandth. So a constant filter is packed once and any other at
// the start of each run; activations in other layouts pass through scratch,
// slice by slice.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_ONEDNNCONV_H
#define SINTER_BACKENDS_CPU_DEVICE_ONEDNNCONV_H

#include "backends/cpu/device/ConvOperands.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace sinter::cpu {

/// The layout for primitives of slices with this number of filters.
struct FilterLayout {
  int64_t filters;
  dnnl::memory::desc desc;
};

/// The filters from `begin` on, in one of the layouts.
struct PackedFilter {
  size_t layout;
  int64_t begin;
  bool plain = false;         // the program's own layout: used in place
  PackedBytes constant = {};  // packed at load
  FilterReorder reorder = {}; // or packed in each run, into shared scratch
  int64_t sharedOffset = 0;
};

struct ConvVariant {
  OneDnnPrimitive primitive; // arguments: source, filter, result, post-ops'
  size_t layout = 0;         // in layouts_
};

class ConvCall : public rt::LibraryCall {
public:
  ConvCall(OneDnnContext &context, const sinter_command &command)
      : context_(context), command_(command), params_(*command.conv.params),
        postOps_(params_.postOps, params_.numPostOps), shape_(params_),
        inputGrad_(params_.direction == SINTER_CONV_INPUT_GRAD),
        source_(shape_, !inputGrad_), result_(shape_, inputGrad_) {}

  rt::Status prepare(const uint8_t *constants);

  uint64_t sharedBytes() const override { return sharedBytes_; }
  uint64_t perWorkerBytes() const override { return perWorkerBytes_; }
  rt::Status bind(const rt::Scratch &scratch, int threads) override;
  rt::Status run(void *const *buffers, const rt::CallContext &context) override;
  std::string description() const override;

private:
  rt::Status choosePostOps();
  void makeVariant(const ConvSlice &slice);
  bool tryVariant(const ConvSlice &slice, size_t layout);
  void prepareFilters(const uint8_t *constants);

  bool packFilters(const float *filter, const rt::CallContext &context) const;
  bool runSlice(void *const *buffers, int worker, size_t index) const;
  void finishRun(void *const *buffers, const Block &values, int64_t offset,
                 int64_t channelBegin) const;
  void zeroResult(void *const *buffers, const rt::CallContext &context) const;
  void finishResult(void *const *buffers, const rt::CallContext &context) const;
  int64_t filterOffset(const PackedFilter &filter) const {
    return filter.begin * (shape_.filterElements() / shape_.filters);
  }
  float *resultAddress(void *const *buffers) const {
    return static_cast<float *>(buffers[command_.numSlices - 1]);
  }

  OneDnnContext &context_;
  const sinter_command &command_;
  const sinter_conv &params_;
  std::span<const sinter_post_op> postOps_;
  ConvShape shape_;
  bool inputGrad_;
  ActivationView source_, result_;
  bool empty_ = false;    // nothing to write
  bool emptySum_ = false; // the result is zeros with post-ops
  bool gather_ = false, scatter_ = false;
  size_t fused_ = 0;         // the primitive applies the first post-ops
  bool finishApart_ = false; // post-ops after everything else
  uint32_t accumulate_ = SINTER_NONE; // the ADD that reads the result itself

  std::vector<PlacedConvSlice> slices_;
  std::map<ConvSlice, ConvVariant> variants_;
  std::vector<const ConvVariant *> variantOf_;
  std::vector<FilterLayout> layouts_;
  std::vector<PackedFilter> filters_;
  std::vector<size_t> filterOf_; // in filters_, per slice

  uint64_t sharedBytes_ = 0, perWorkerBytes_ = 0;
  int64_t gatherOffset_ = 0, scatterOffset_ = 0;
  rt::Scratch scratch_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_ONEDNNCONV_H
