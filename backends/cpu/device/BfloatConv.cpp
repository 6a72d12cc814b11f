//===- BfloatConv.cpp - bf16 convolutions ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The three convolutions on dense channels-last activations, cut along the
// batch into a number of slices that the shape determines. The filter is packed
// at load if it is constant, else at the start of a run. A filter's gradient is
// summed in fp32 in the library's layout; its slices are added in a fixed tree.
// If the library would have to copy operands, WidenedCall does the call
// instead. AMX and vdpbf16ps treat denormal operands as 0.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/ConvOperands.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <array>
#include <atomic>
#include <map>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;
using dnnl::memory;

namespace {

/// The largest useful number of partial results of a filter's gradient.
constexpr int64_t maxChunks = 16;

class BfloatConvCall : public LibraryCall {
public:
  BfloatConvCall(OneDnnContext &context, const sinter_command &command)
      : context_(context), command_(command), params_(*command.conv.params),
        postOps_(params_.postOps, params_.numPostOps), shape_(params_),
        input_(shape_, true), output_(shape_, false),
        outDtype_(params_.outDtype ? params_.outDtype : params_.dtype) {}

  /// False if this implementation does not fit the call.
  bool prepare(const uint8_t *constants);

  uint64_t sharedBytes() const override { return sharedBytes_; }
  uint64_t perWorkerBytes() const override { return scratchpadBytes_; }
  Status bind(const Scratch &scratch, int threads) override;
  Status run(void *const *buffers, const CallContext &context) override;
  std::string description() const override;

private:
  bool isSuitable();
  bool makeVariant(int64_t images);
  void prepareFilter(const uint8_t *constants);
  bool runChunk(void *const *buffers, int worker, int64_t chunk) const;
  bool sumFilterGrad(void *const *buffers, const CallContext &context) const;

  bool isForward() const { return params_.direction == SINTER_CONV_FORWARD; }
  bool isFilterGrad() const {
    return params_.direction == SINTER_CONV_FILTER_GRAD;
  }
  memory::data_type outType() const {
    return outDtype_ == SINTER_BF16 ? memory::data_type::bf16
                                    : memory::data_type::f32;
  }
  int64_t outBytes() const { return outDtype_ == SINTER_BF16 ? 2 : 4; }
  memory::desc filter(memory::data_type type, bool any) const {
    return filterDesc(shape_, shape_.filters, any, type);
  }
  float *partial(int64_t chunk) const {
    return reinterpret_cast<float *>(scratch_.shared) +
           chunk * partialElements_;
  }

  OneDnnContext &context_;
  const sinter_command &command_;
  const sinter_conv &params_;
  std::span<const sinter_post_op> postOps_;
  ConvShape shape_;
  ActivationView input_, output_;
  uint32_t outDtype_;
  Partition chunks_;                            // of the batch
  size_t fused_ = 0;                            // a relu may follow these
  std::map<int64_t, OneDnnPrimitive> variants_; // by number of images
  memory::desc packedDesc_;
  PackedBytes constantFilter_;
  OneDnnPrimitive packFilter_; // for a filter that is not constant
  bool packs_ = false, isPlain_ = false;
  FilterReorder unpack_; // for a filter's gradient
  int64_t partialElements_ = 0;
  uint64_t sharedBytes_ = 0, scratchpadBytes_ = 0;
  Scratch scratch_;
};

} // namespace

bool BfloatConvCall::isSuitable() {
  if (shape_.batch == 0 || shape_.emptySum() || shape_.cropped() ||
      input_.imageElements() == 0 || output_.imageElements() == 0 ||
      !input_.direct() || !output_.direct() ||
      (isFilterGrad() && outDtype_ != SINTER_F32))
    return false;
  fused_ = isForward() ? fusablePostOps(postOps_) : 0;
  // A relu of the rounded result is the rounded relu.
  if (fused_ < postOps_.size() && !(fused_ + 1 == postOps_.size() &&
                                    postOps_[fused_].kind == SINTER_POST_RELU))
    return false;
  const sinter_slice &result = command_.slices[command_.numSlices - 1];
  for (const sinter_post_op &op : postOps_)
    if (readsOperand(op) && overlaps(command_.slices[op.slice], result))
      return false;
  return true;
}

bool BfloatConvCall::prepare(const uint8_t *constants) {
  if (!isSuitable())
    return false;
  int64_t wanted = slicesFor(estimateUs(shape_.flops(), 0) / 4);
  chunks_ = Partition(shape_.batch,
                      isFilterGrad() ? std::min(wanted, maxChunks) : wanted, 1);
  for (int64_t i = 0; i < chunks_.count(); ++i)
    if (!makeVariant(chunks_.size(i)))
      return false;
  prepareFilter(constants);
  for (const auto &[images, primitive] : variants_)
    scratchpadBytes_ = std::max(scratchpadBytes_, primitive.scratchpadBytes());
  scratchpadBytes_ = std::max(scratchpadBytes_, packFilter_.scratchpadBytes());
  scratchpadBytes_ = std::max(scratchpadBytes_, unpack_.scratchpadBytes());
  scratchpadBytes_ =
      static_cast<uint64_t>(alignUp(static_cast<int64_t>(scratchpadBytes_)));
  return true;
}

bool BfloatConvCall::makeVariant(int64_t images) {
  if (variants_.count(images))
    return true;
  constexpr auto bf16 = memory::data_type::bf16;
  const bool forward = isForward(), filterGrad = isFilterGrad();
  const ConvDim &first = shape_.dims.front();
  auto activation = [&](bool isInput, memory::data_type type) {
    return activationDesc(shape_, isInput, images,
                          isInput ? first.in : first.out,
                          isInput ? shape_.channels : shape_.filters, type);
  };
  memory::desc x = activation(true, forward || filterGrad ? bf16 : outType()),
               y = activation(false, forward ? outType() : bf16);
  memory::desc w = variants_.empty()
                       ? filter(filterGrad ? memory::data_type::f32 : bf16,
                                /*any=*/true)
                       : packedDesc_;
  shim::ConvGeometry g = geometry(shape_, first.padLow, first.padHigh);
  dnnl::primitive_attr attributes = makeAttributes();
  memory::desc bias;
  std::vector<PrimitiveArg> operands;
  dnnl::post_ops list;
  for (size_t i = 0; i < fused_; ++i) {
    const sinter_post_op &op = postOps_[i];
    memory::desc operand;
    if (op.kind == SINTER_POST_BIAS && i == 0) {
      bias = {{shape_.filters}, outType(), memory::format_tag::x};
      operands.push_back({DNNL_ARG_BIAS, bias});
      continue;
    }
    if (op.kind == SINTER_POST_BIAS) {
      memory::dims dims(shape_.dims.size() + 2, 1);
      dims[1] = shape_.filters;
      memory::dims strides(dims.size(), shape_.filters);
      strides[1] = 1;
      operand = {dims, outType(), strides};
    } else if (op.kind == SINTER_POST_ADD) {
      operand = y;
    }
    if (readsOperand(op))
      operands.push_back(
          {DNNL_ARG_ATTR_MULTIPLE_POST_OP(list.len()) | DNNL_ARG_SRC_1,
           operand});
    appendPostOp(list, op, operand);
  }
  attributes.set_post_ops(list);
  try {
    std::string implementation;
    std::vector<PrimitiveArg> args;
    OneDnnPrimitive primitive;
    memory::desc chosen;
    // Both gradients take a forward convolution of bf16 as a hint.
    auto hint = [&] {
      memory::desc hintX = activation(true, bf16),
                   hintY = activation(false, bf16);
      return shim::convForward(context_.engine, hintX, filter(bf16, true), {},
                               hintY, g, dnnl::primitive_attr());
    };
    if (forward) {
      auto desc =
          shim::convForward(context_.engine, x, w, bias, y, g, attributes);
      implementation = desc.impl_info_str();
      chosen = desc.weights_desc();
      args = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, chosen}, {DNNL_ARG_DST, y}};
      args.insert(args.end(), operands.begin(), operands.end());
      primitive =
          OneDnnPrimitive(dnnl::convolution_forward(desc), std::move(args),
                          desc.scratchpad_desc(), implementation);
    } else if (filterGrad) {
      auto desc = shim::convBackwardWeights(context_.engine, x, w, y, g,
                                            attributes, hint());
      implementation = desc.impl_info_str();
      chosen = desc.diff_weights_desc();
      args = {{DNNL_ARG_SRC, x},
              {DNNL_ARG_DIFF_DST, y},
              {DNNL_ARG_DIFF_WEIGHTS, chosen}};
      primitive = OneDnnPrimitive(dnnl::convolution_backward_weights(desc),
                                  std::move(args), desc.scratchpad_desc(),
                                  implementation);
    } else {
      auto desc = shim::convBackwardData(context_.engine, x, w, y, g,
                                         attributes, hint());
      implementation = desc.impl_info_str();
      chosen = desc.weights_desc();
      args = {{DNNL_ARG_DIFF_DST, y},
              {DNNL_ARG_WEIGHTS, chosen},
              {DNNL_ARG_DIFF_SRC, x}};
      primitive = OneDnnPrimitive(dnnl::convolution_backward_data(desc),
                                  std::move(args), desc.scratchpad_desc(),
                                  implementation);
    }
    // Other implementations are slower than fp32.
    const char *wanted =
        bfloatUnit() == Bf16Unit::Tiles ? "amx" : "avx512_core_bf16";
    if (implementation.find(wanted) == std::string::npos)
      return false;
    // This one is wrong for an odd number of summed channels (2.6.3): of 30
    // points with 17 channels, almost all results.
    if (!isForward() && !isFilterGrad() && shape_.filters % 2 != 0 &&
        implementation.find("1x1") != std::string::npos)
      return false;
    packedDesc_ = chosen;
    variants_.emplace(images, std::move(primitive));
    return true;
  } catch (const dnnl::error &error) {
    // Some post-ops are refused only when the kernel is generated.
    if (error.status != dnnl_out_of_memory)
      return false;
    throw;
  }
}

void BfloatConvCall::prepareFilter(const uint8_t *constants) {
  if (isFilterGrad()) {
    isPlain_ = packedDesc_ == filter(memory::data_type::f32, false);
    if (!isPlain_)
      unpack_ = FilterReorder(context_, shape_, shape_.filters, packedDesc_,
                              /*toPacked=*/false);
    partialElements_ =
        alignUp(static_cast<int64_t>(packedDesc_.get_size())) / 4;
    sharedBytes_ =
        static_cast<uint64_t>(4 * partialElements_ * chunks_.count());
    return;
  }
  memory::desc plain = filter(memory::data_type::bf16, false);
  if (packedDesc_ == plain)
    return;
  packs_ = true;
  const float *constant = constantAddress(command_.slices[1], constants);
  if (constant) {
    constantFilter_ =
        context_.packed.make(packedDesc_.get_size(), [&](uint8_t *packed) {
          reorderNow(context_, plain, constant, packedDesc_, packed);
        });
    return;
  }
  packFilter_ = makeReorder(context_, plain, packedDesc_);
  sharedBytes_ = static_cast<uint64_t>(
      alignUp(static_cast<int64_t>(packedDesc_.get_size())));
}

Status BfloatConvCall::bind(const Scratch &scratch, int threads) {
  scratch_ = scratch;
  try {
    for (auto &[images, primitive] : variants_)
      primitive.bind(context_, scratch, threads);
    if (packs_ && !constantFilter_)
      packFilter_.bind(context_, scratch, threads);
    if (isFilterGrad() && !isPlain_)
      unpack_.bind(context_, scratch, threads);
  } catch (const dnnl::error &error) {
    return {SINTER_DEVICE_FAILED, std::string("oneDNN: ") + error.what()};
  }
  return {};
}

bool BfloatConvCall::runChunk(void *const *buffers, int worker,
                              int64_t chunk) const {
  const int64_t image = chunks_.begin(chunk), images = chunks_.size(chunk);
  auto at = [&](size_t buffer, const ActivationView &view, int64_t bytes) {
    return static_cast<uint8_t *>(buffers[buffer]) +
           image * view.imageElements() * bytes;
  };
  const OneDnnPrimitive &primitive = variants_.at(images);
  if (isFilterGrad()) {
    void *target = isPlain_ && chunks_.count() == 1
                       ? buffers[command_.numSlices - 1]
                       : static_cast<void *>(partial(chunk));
    void *addresses[] = {at(0, input_, 2), at(1, output_, 2), target};
    return primitive.run(context_, worker, addresses);
  }
  const ActivationView &source = isForward() ? input_ : output_,
                       &target = isForward() ? output_ : input_;
  uint8_t *result = at(command_.numSlices - 1, target, outBytes());
  std::array<void *, 3 + SINTER_MAX_POST_OPS> addresses;
  size_t count = 0;
  addresses[count++] = at(0, source, 2);
  addresses[count++] = !packs_           ? buffers[1]
                       : constantFilter_ ? constantFilter_.get()
                                         : scratch_.shared;
  addresses[count++] = result;
  for (const sinter_post_op &op : postOps_.first(fused_)) {
    if (op.kind == SINTER_POST_BIAS)
      addresses[count++] = buffers[op.slice];
    else if (op.kind == SINTER_POST_ADD)
      addresses[count++] = at(op.slice, target, outBytes());
  }
  if (!primitive.run(context_, worker, addresses.data()))
    return false;
  if (fused_ < postOps_.size())
    reluLine(result, outDtype_ == SINTER_BF16, images * target.imageElements());
  return true;
}

/// Adds the chunks' results and stores them in the program's layout.
bool BfloatConvCall::sumFilterGrad(void *const *buffers,
                                   const CallContext &context) const {
  auto *result = static_cast<float *>(buffers[command_.numSlices - 1]);
  auto elements = static_cast<int64_t>(packedDesc_.get_size() / 4);
  if (chunks_.count() > 1)
    context.parallelFor(
        elements, std::max<int64_t>(1024, 65536 / chunks_.count()),
        [&](int, int64_t begin, int64_t end) {
          sumPartials(partial(0), partialElements_, chunks_.count(), begin,
                      end);
          if (isPlain_)
            std::copy(partial(0) + begin, partial(0) + end, result + begin);
        });
  if (isPlain_)
    return true;
  std::atomic<bool> failed{false};
  context.parallelFor(
      unpack_.pieces(), 1, [&](int worker, int64_t begin, int64_t end) {
        OneThreadScope::limitWorker(worker);
        for (int64_t i = begin; i < end; ++i)
          if (!unpack_.run(context_, worker, i, result, partial(0)))
            failed.store(true, std::memory_order_relaxed);
      });
  return !failed.load(std::memory_order_relaxed);
}

Status BfloatConvCall::run(void *const *buffers, const CallContext &context) {
  OneThreadScope oneThread;
  std::atomic<bool> failed{false};
  if (packs_ && !constantFilter_) {
    void *addresses[] = {buffers[1], scratch_.shared};
    failed = !packFilter_.run(context_, 0, addresses);
  }
  context.parallelFor(chunks_.count(), 1,
                      [&](int worker, int64_t begin, int64_t end) {
                        OneThreadScope::limitWorker(worker);
                        for (int64_t i = begin; i < end; ++i)
                          if (!runChunk(buffers, worker, i))
                            failed.store(true, std::memory_order_relaxed);
                      });
  if (isFilterGrad() && !sumFilterGrad(buffers, context))
    failed = true;
  if (failed.load(std::memory_order_relaxed))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to run a convolution"};
  return {};
}

std::string BfloatConvCall::description() const {
  const auto &[images, primitive] = *variants_.begin();
  static constexpr const char *names[] = {
      "", "bf16 conv", "bf16 conv input grad", "bf16 conv filter grad"};
  return std::string(names[params_.direction]) + " in " +
         std::to_string(chunks_.count()) + " slices of " +
         std::to_string(chunks_.largest()) + " images, " +
         primitive.implementation();
}

LibraryCallResult sinter::cpu::prepareBfloatConv(OneDnnContext &context,
                                                 const sinter_command &command,
                                                 const uint8_t *constants) {
  const auto &params = *command.conv.params;
  if (params.dtype != SINTER_BF16 || bfloatUnit() == Bf16Unit::Widened)
    return std::unique_ptr<LibraryCall>();
  auto call = std::make_unique<BfloatConvCall>(context, command);
  if (!call->prepare(constants))
    return std::unique_ptr<LibraryCall>();
  return std::unique_ptr<LibraryCall>(std::move(call));
}
