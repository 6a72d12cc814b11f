//===- OneDnnConv.cpp - fp32 convolutions and their input gradients -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The library computes slices (ConvPlan.h) on dense channels-last activations
// and a packed filter: those implementations run at 120-180 GFLOP/s a core, the
// ones for plain layouts at half of it or, for channels last with a plain
// filter, a thousandth. So a constant filter is packed once, another one at the
// head of each run, and activations in other layouts pass through scratch slice
// by slice.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ConvOperands.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/AlignedBlock.h"

#include <array>
#include <atomic>
#include <map>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;
using dnnl::memory;

namespace {

constexpr auto f32 = memory::data_type::f32;

/// A filter in one of the layouts that the primitives want.
struct PackedFilter {
  memory::desc desc;
  bool plain = false;    // the program's own layout: used in place
  AlignedBlock constant; // packed at load
  FilterReorder reorder; // or packed in each run, to shared scratch
  int64_t sharedOffset = 0;
};

struct Variant {
  OneDnnPrimitive primitive; // arguments: source, filter, result, post-ops'
  size_t filter = 0;         // in filters_
};

class ConvCall : public LibraryCall {
public:
  ConvCall(OneDnnContext &context, const sinter_command &command)
      : context_(context), command_(command),
        params_(*static_cast<const sinter_conv *>(command.params)),
        postOps_(params_.postOps, params_.numPostOps), shape_(params_),
        inputGrad_(params_.direction == SINTER_CONV_INPUT_GRAD),
        source_(shape_, !inputGrad_), result_(shape_, inputGrad_) {}

  Status prepare(const uint8_t *constants);

  uint64_t sharedBytes() const override { return sharedBytes_; }
  uint64_t perWorkerBytes() const override { return perWorkerBytes_; }
  Status bind(const Scratch &scratch, int threads) override;
  Status run(void *const *buffers, ThreadPool &pool, int threads) override;
  std::string description() const override;

private:
  Status choosePostOps();
  void makeVariant(const ConvSlice &slice);
  bool tryVariant(const ConvSlice &slice, size_t filter);
  void prepareFilters(const uint8_t *constants);

  bool packFilters(const float *filter, ThreadPool &pool, int threads) const;
  bool runSlice(void *const *buffers, int worker, size_t index) const;
  void finishRun(void *const *buffers, float *values, int64_t offset,
                 int64_t points, int64_t pointStride,
                 int64_t channelStride) const;
  void zeroResult(void *const *buffers, ThreadPool &pool, int threads) const;
  void finishResult(void *const *buffers, ThreadPool &pool, int threads) const;
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
  bool emptySum_ = false; // zeros and post-ops
  bool gather_ = false, scatter_ = false;
  size_t fused_ = 0;         // the primitive applies the first post-ops
  bool finishApart_ = false; // post-ops after everything else
  uint32_t accumulate_ = SINTER_NONE; // ADD that is the result itself

  std::vector<PlacedConvSlice> slices_;
  std::map<ConvSlice, Variant> variants_;
  std::vector<const Variant *> variantOf_;
  std::vector<PackedFilter> filters_;

  uint64_t sharedBytes_ = 0, perWorkerBytes_ = 0;
  int64_t gatherOffset_ = 0, scatterOffset_ = 0;
  Scratch scratch_;
};

Status ConvCall::prepare(const uint8_t *constants) {
  empty_ = shape_.batch == 0 || result_.imageElements() == 0;
  emptySum_ = shape_.emptySum() || source_.imageElements() == 0;
  gather_ = !source_.direct();
  scatter_ = !result_.direct();
  SINTER_RETURN_IF_ERROR(choosePostOps());
  if (finishApart_)
    fused_ = 0;
  if (empty_ || emptySum_)
    return {};

  slices_ = cutConv(shape_, inputGrad_, gather_ || scatter_);
  for (const PlacedConvSlice &placed : slices_)
    if (!variants_.count(placed.slice))
      makeVariant(placed.slice);
  for (const PlacedConvSlice &placed : slices_)
    variantOf_.push_back(&variants_.at(placed.slice));
  prepareFilters(constants);

  uint64_t scratchpad = 0;
  int64_t sourceElements = 0, resultElements = 0;
  for (const auto &[slice, variant] : variants_) {
    scratchpad = std::max(scratchpad, variant.primitive.scratchpadBytes());
    int64_t in = slice.batch * slice.in, out = slice.batch * slice.out;
    sourceElements =
        std::max(sourceElements, (inputGrad_ ? out : in) * source_.rowPoints() *
                                     source_.channels());
    resultElements =
        std::max(resultElements, (inputGrad_ ? in : out) * result_.rowPoints() *
                                     result_.channels());
  }
  for (const PackedFilter &filter : filters_)
    scratchpad = std::max(scratchpad, filter.reorder.scratchpadBytes());
  int64_t offset = alignUp(static_cast<int64_t>(scratchpad));
  gatherOffset_ = offset;
  offset += gather_ ? alignUp(4 * sourceElements) : 0;
  scatterOffset_ = offset;
  offset += scatter_ ? alignUp(4 * resultElements) : 0;
  perWorkerBytes_ = static_cast<uint64_t>(offset);
  return {};
}

/// Decides who applies the post-ops, given what they read.
Status ConvCall::choosePostOps() {
  const sinter_slice &target = command_.slices[command_.numSlices - 1];
  bool adds = false, sharesMemory = false;
  for (uint32_t i = 0; i < postOps_.size(); ++i) {
    if (!readsOperand(postOps_[i]))
      continue;
    const sinter_slice &operand = command_.slices[postOps_[i].slice];
    bool isAdd = postOps_[i].kind == SINTER_POST_ADD;
    adds |= isAdd;
    if (!overlaps(operand, target))
      continue;
    if (isAdd && accumulate_ == SINTER_NONE &&
        operand.offsetBytes == target.offsetBytes)
      accumulate_ = i;
    else
      sharesMemory = true;
  }
  finishApart_ =
      emptySum_ || (inputGrad_ && shape_.cropped() && !postOps_.empty());
  if (finishApart_ && (sharesMemory || accumulate_ != SINTER_NONE))
    return {
        SINTER_UNSUPPORTED,
        "a convolution without products, or an input gradient with negative "
        "pads, cannot add to its own result"};
  if (!inputGrad_ && !sharesMemory && !(scatter_ && adds))
    fused_ = fusablePostOps(postOps_);
  // Only the library can add the result to itself in place. Otherwise it is
  // computed in scratch, so that what shares its memory is whole when read.
  if (sharesMemory || (accumulate_ != SINTER_NONE && accumulate_ >= fused_)) {
    scatter_ = true;
    fused_ = 0;
  }
  if (fused_ == 0)
    accumulate_ = SINTER_NONE;
  return {};
}

void ConvCall::makeVariant(const ConvSlice &slice) {
  // Slices of all shapes share one packed filter where the library lets them.
  for (size_t i = 0; i < filters_.size(); ++i)
    if (tryVariant(slice, i))
      return;
  if (tryVariant(slice, filters_.size()))
    return;
  if (fused_) {
    // The library has no fast kernel with these post-ops.
    fused_ = 0;
    if (accumulate_ != SINTER_NONE) {
      accumulate_ = SINTER_NONE;
      scatter_ = true;
    }
    variants_.clear();
    filters_.clear();
    for (const PlacedConvSlice &placed : slices_)
      if (!variants_.count(placed.slice))
        makeVariant(placed.slice);
    return;
  }
  throw dnnl::error(dnnl_unimplemented, "no implementation");
}

/// Makes the primitive for `slice` with filter layout `filter`, or with one of
/// the library's choice that is then appended. False when only the reference
/// implementation would do, unless there is no other for this shape at all.
bool ConvCall::tryVariant(const ConvSlice &slice, size_t filter) {
  bool choose = filter == filters_.size();
  memory::desc input =
      activationDesc(shape_, true, slice.batch, slice.in, shape_.channels);
  memory::desc output =
      activationDesc(shape_, false, slice.batch, slice.out, shape_.filters);
  memory::desc weights = choose
                             ? filterDesc(shape_, shape_.filters, /*any=*/true)
                             : filters_[filter].desc;
  shim::ConvGeometry g = geometry(shape_, slice.padLow, slice.padHigh);

  dnnl::primitive_attr attributes = makeAttributes();
  memory::desc bias;
  std::vector<PrimitiveArg> operands;
  if (fused_) {
    dnnl::post_ops list;
    for (uint32_t i = 0; i < fused_; ++i) {
      const sinter_post_op &op = postOps_[i];
      if (i == accumulate_) {
        list.append_sum(1.0f);
        continue;
      }
      memory::desc operand;
      if (op.kind == SINTER_POST_BIAS && i == 0) {
        bias = {{shape_.filters}, f32, memory::format_tag::x};
        operands.push_back({DNNL_ARG_BIAS, bias});
        continue;
      }
      if (op.kind == SINTER_POST_BIAS) {
        memory::dims dims(shape_.dims.size() + 2, 1);
        dims[1] = shape_.filters;
        memory::dims strides(dims.size(), shape_.filters);
        strides[1] = 1;
        operand = {dims, f32, strides};
      } else if (op.kind == SINTER_POST_ADD) {
        operand = output;
      }
      if (readsOperand(op))
        operands.push_back(
            {DNNL_ARG_ATTR_MULTIPLE_POST_OP(list.len()) | DNNL_ARG_SRC_1,
             operand});
      appendPostOp(list, op, operand);
    }
    attributes.set_post_ops(list);
  }

  try {
    Variant variant;
    std::string implementation;
    std::vector<PrimitiveArg> args;
    memory::desc chosen;
    if (inputGrad_) {
      auto forward = shim::convForward(context_.engine, input, weights, {},
                                       output, g, dnnl::primitive_attr());
      auto desc = shim::convBackwardData(context_.engine, input, weights,
                                         output, g, attributes, forward);
      implementation = desc.impl_info_str();
      chosen = desc.weights_desc();
      args = {{DNNL_ARG_DIFF_DST, output},
              {DNNL_ARG_WEIGHTS, chosen},
              {DNNL_ARG_DIFF_SRC, input}};
      variant.primitive = OneDnnPrimitive(
          dnnl::convolution_backward_data(desc), std::move(args),
          desc.scratchpad_desc(), implementation);
    } else {
      auto desc = shim::convForward(context_.engine, input, weights, bias,
                                    output, g, attributes);
      implementation = desc.impl_info_str();
      chosen = desc.weights_desc();
      args = {{DNNL_ARG_SRC, input},
              {DNNL_ARG_WEIGHTS, chosen},
              {DNNL_ARG_DST, output}};
      args.insert(args.end(), operands.begin(), operands.end());
      variant.primitive =
          OneDnnPrimitive(dnnl::convolution_forward(desc), std::move(args),
                          desc.scratchpad_desc(), implementation);
    }
    bool slow = implementation.find("ref") != std::string::npos;
    if (slow && (fused_ || !choose))
      return false;
    variant.filter = filter;
    if (choose) {
      filters_.emplace_back();
      filters_.back().desc = chosen;
    }
    variants_.emplace(slice, std::move(variant));
    return true;
  } catch (const dnnl::error &error) {
    if (error.status == dnnl_unimplemented)
      return false;
    throw;
  }
}

void ConvCall::prepareFilters(const uint8_t *constants) {
  const float *constant = constantAddress(command_.slices[1], constants);
  memory::desc plain = filterDesc(shape_, shape_.filters, /*any=*/false);
  int64_t offset = 0;
  for (PackedFilter &filter : filters_) {
    if (filter.desc == plain) {
      filter.plain = true;
    } else if (constant) {
      Result<AlignedBlock> block =
          AlignedBlock::allocate(filter.desc.get_size(), "a packed filter");
      if (!block.ok())
        throw std::bad_alloc();
      filter.constant = std::move(*block);
      reorderNow(context_, plain, constant, filter.desc,
                 filter.constant.data());
    } else {
      filter.reorder = FilterReorder(context_, shape_, shape_.filters,
                                     filter.desc, /*toPacked=*/true);
      filter.sharedOffset = offset;
      offset += alignUp(static_cast<int64_t>(filter.desc.get_size()));
    }
  }
  sharedBytes_ = static_cast<uint64_t>(offset);
}

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

bool ConvCall::packFilters(const float *filter, ThreadPool &pool,
                           int threads) const {
  std::atomic<bool> good{true};
  for (const PackedFilter &packed : filters_)
    pool.parallelFor(
        threads, packed.reorder.pieces(), 1,
        [&](int worker, int64_t begin, int64_t end) {
          OneThreadScope::limitWorker(worker);
          for (int64_t i = begin; i < end; ++i)
            if (!packed.reorder.run(context_, worker, i, filter,
                                    scratch_.shared + packed.sharedOffset))
              good.store(false, std::memory_order_relaxed);
        });
  return good.load(std::memory_order_relaxed);
}

/// Applies the post-ops that are not fused to a run of points whose values are
/// at `values` and whose place in the result is `offset`.
void ConvCall::finishRun(void *const *buffers, float *values, int64_t offset,
                         int64_t points, int64_t pointStride,
                         int64_t channelStride) const {
  std::array<PostOpOperand, SINTER_MAX_POST_OPS> operands;
  auto rest = postOps_.subspan(fused_);
  for (size_t i = 0; i < rest.size(); ++i) {
    if (!readsOperand(rest[i]))
      continue;
    const auto *address = static_cast<const float *>(buffers[rest[i].slice]);
    operands[i] = rest[i].kind == SINTER_POST_BIAS
                      ? PostOpOperand{address, 0, 1}
                      : PostOpOperand{address + offset, result_.pointStride(),
                                      result_.channelStride()};
  }
  applyPostOps(rest,
               {values, points, result_.channels(), pointStride, channelStride},
               operands.data());
}

bool ConvCall::runSlice(void *const *buffers, int worker, size_t index) const {
  const PlacedConvSlice &placed = slices_[index];
  const ConvSlice &slice = placed.slice;
  const Variant &variant = *variantOf_[index];
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
  int64_t offset = placed.batchBegin * result_.imageElements() +
                   resultRow * result_.rowPoints() * result_.channels();
  float *result = scatter_ ? reinterpret_cast<float *>(mine + scatterOffset_)
                           : memory + offset;

  const PackedFilter &filter = filters_[variant.filter];
  std::array<void *, 3 + SINTER_MAX_POST_OPS> addresses;
  size_t count = 0;
  addresses[count++] = const_cast<float *>(source);
  addresses[count++] = filter.plain ? buffers[1]
                       : filter.constant.data()
                           ? const_cast<uint8_t *>(filter.constant.data())
                           : scratch_.shared + filter.sharedOffset;
  addresses[count++] = result;
  for (uint32_t i = 0; i < fused_; ++i) {
    if (!readsOperand(postOps_[i]) || i == accumulate_)
      continue;
    auto *address = static_cast<float *>(buffers[postOps_[i].slice]);
    addresses[count++] =
        postOps_[i].kind == SINTER_POST_BIAS ? address : address + offset;
  }
  if (!variant.primitive.run(context_, worker, addresses.data()))
    return false;

  bool finish = fused_ < postOps_.size() && !finishApart_;
  if (!finish && !scatter_)
    return true;
  int64_t channels = result_.channels();
  int64_t imagePoints = resultRows * result_.rowPoints();
  for (int64_t i = 0; i < slice.batch; ++i)
    result_.forEachRun(
        placed.batchBegin + i, resultRow, resultRows,
        [&](int64_t at, int64_t densePoint, int64_t points) {
          float *values = result + (i * imagePoints + densePoint) * channels;
          if (finish)
            finishRun(buffers, values, at, points, channels, 1);
          if (scatter_)
            copyBlock({memory + at, points, channels, result_.pointStride(),
                       result_.channelStride()},
                      values, channels, 1);
        });
  return true;
}

void ConvCall::zeroResult(void *const *buffers, ThreadPool &pool,
                          int threads) const {
  float *memory = resultAddress(buffers);
  pool.parallelFor(threads, shape_.batch * result_.imageElements(), 65536,
                   [&](int, int64_t begin, int64_t end) {
                     std::fill(memory + begin, memory + end, 0.0f);
                   });
}

/// Post-ops over the whole stored result.
void ConvCall::finishResult(void *const *buffers, ThreadPool &pool,
                            int threads) const {
  int64_t imagePoints =
      result_.imageElements() / std::max<int64_t>(1, result_.channels());
  pool.parallelFor(threads, shape_.batch, 1,
                   [&](int, int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       int64_t offset = i * result_.imageElements();
                       finishRun(buffers, resultAddress(buffers) + offset,
                                 offset, imagePoints, result_.pointStride(),
                                 result_.channelStride());
                     }
                   });
}

Status ConvCall::run(void *const *buffers, ThreadPool &pool, int threads) {
  if (empty_)
    return {};
  if (emptySum_) {
    zeroResult(buffers, pool, threads);
    finishResult(buffers, pool, threads);
    return {};
  }
  OneThreadScope oneThread;
  if (inputGrad_ && shape_.cropped())
    zeroResult(buffers, pool, threads);
  if (!packFilters(static_cast<const float *>(buffers[1]), pool, threads))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to pack a filter"};
  std::atomic<bool> failed{false};
  auto count = static_cast<int64_t>(slices_.size());
  pool.parallelFor(threads, count, std::max<int64_t>(1, count / maxSlices),
                   [&](int worker, int64_t begin, int64_t end) {
                     OneThreadScope::limitWorker(worker);
                     for (int64_t i = begin; i < end; ++i)
                       if (!runSlice(buffers, worker, static_cast<size_t>(i)))
                         failed.store(true, std::memory_order_relaxed);
                   });
  if (failed.load(std::memory_order_relaxed))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to run a convolution"};
  if (finishApart_)
    finishResult(buffers, pool, threads);
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
          " rows, " + variantOf_.front()->primitive.implementation();
  for (const auto &[slice, variant] : variants_)
    if (variant.primitive.implementation() !=
        variantOf_.front()->primitive.implementation())
      text += " / " + variant.primitive.implementation();
  text += filters_.front().plain             ? ", filter in place"
          : filters_.front().constant.data() ? ", filter packed at load"
                                             : ", filter packed per run";
  if (gather_ || scatter_)
    text += ", activations copied";
  if (!postOps_.empty())
    text += ", " + std::to_string(fused_) + " of " +
            std::to_string(postOps_.size()) + " post-ops fused";
  return text;
}

} // namespace

LibraryCallResult sinter::cpu::prepareOneDnnConv(OneDnnContext &context,
                                                 const sinter_command &command,
                                                 const uint8_t *constants) {
  auto call = std::make_unique<ConvCall>(context, command);
  SINTER_RETURN_IF_ERROR(call->prepare(constants));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
