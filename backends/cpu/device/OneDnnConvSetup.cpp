//===- OneDnnConvSetup.cpp - fp32 convolutions, prepared at load ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnConv.h"

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;
using dnnl::memory;

static constexpr auto f32 = memory::data_type::f32;

Status ConvCall::prepare(const uint8_t *constants) {
  empty_ = shape_.batch == 0 || result_.imageElements() == 0;
  emptySum_ = shape_.emptySum() || source_.imageElements() == 0;
  gather_ = !source_.direct();
  scatter_ = !result_.direct();
  if (!empty_ && !emptySum_) {
    slices_ = cutConv(shape_, inputGrad_, gather_ || scatter_);
    // The library writes only dense results.
    scatter_ |= slices_.front().slice.filters != shape_.filters;
  }
  SINTER_RETURN_IF_ERROR(choosePostOps());
  if (finishApart_)
    fused_ = 0;
  if (empty_ || emptySum_)
    return {};

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

/// Decides whether the library or our loops apply the post-ops, depending on
/// what they read.
Status ConvCall::choosePostOps() {
  const sinter_slice &target = command_.slices[command_.numSlices - 1];
  bool sharesMemory = false;
  size_t firstAdd = postOps_.size(), firstLong = firstAdd;
  for (uint32_t i = 0; i < postOps_.size(); ++i) {
    // The library's long functions take twice the time of ours.
    if (isLongFunction(postOps_[i].kind))
      firstLong = std::min<size_t>(firstLong, i);
    if (!readsOperand(postOps_[i]))
      continue;
    const sinter_slice &operand = command_.slices[postOps_[i].slice];
    bool isAdd = postOps_[i].kind == SINTER_POST_ADD;
    if (isAdd)
      firstAdd = std::min<size_t>(firstAdd, i);
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
  if (!inputGrad_ && !sharesMemory)
    fused_ = std::min({fusablePostOps(postOps_), firstAdd, firstLong});
  // Only the library can add in place to what the result's memory holds. Else
  // the result is computed in scratch, so that operands in the same memory are
  // intact when they are read.
  scatter_ |=
      sharesMemory || (accumulate_ != SINTER_NONE && accumulate_ >= fused_);
  if (scatter_) {
    // The added operand does not have the layout of the library's result.
    fused_ = std::min(fused_, firstAdd);
    accumulate_ = SINTER_NONE;
  }
  if (fused_ == 0)
    accumulate_ = SINTER_NONE;
  return {};
}

void ConvCall::makeVariant(const ConvSlice &slice) {
  // Slices of all shapes share one layout if the library allows it.
  for (size_t i = 0; i < layouts_.size(); ++i)
    if (layouts_[i].filters == slice.filters && tryVariant(slice, i))
      return;
  if (tryVariant(slice, layouts_.size()))
    return;
  if (fused_) {
    // The library has no fast kernel with these post-ops.
    fused_ = 0;
    if (accumulate_ != SINTER_NONE) {
      accumulate_ = SINTER_NONE;
      scatter_ = true;
    }
    variants_.clear();
    layouts_.clear();
    for (const PlacedConvSlice &placed : slices_)
      if (!variants_.count(placed.slice))
        makeVariant(placed.slice);
    return;
  }
  throw dnnl::error(dnnl_unimplemented, "no implementation");
}

/// Makes the primitive for `slice` with a given layout of filters, or with one
/// of the library's choice, which is then appended. False if only the reference
/// implementation supports it, unless there is no other for this shape.
bool ConvCall::tryVariant(const ConvSlice &slice, size_t layout) {
  bool choose = layout == layouts_.size();
  memory::desc input =
      activationDesc(shape_, true, slice.batch, slice.in, shape_.channels);
  memory::desc output =
      activationDesc(shape_, false, slice.batch, slice.out, slice.filters);
  memory::desc weights = choose
                             ? filterDesc(shape_, slice.filters, /*any=*/true)
                             : layouts_[layout].desc;
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
        bias = {{slice.filters}, f32, memory::format_tag::x};
        operands.push_back({DNNL_ARG_BIAS, bias});
        continue;
      }
      if (op.kind == SINTER_POST_BIAS) {
        memory::dims dims(shape_.dims.size() + 2, 1);
        dims[1] = slice.filters;
        memory::dims strides(dims.size(), slice.filters);
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
    ConvVariant variant;
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
    variant.layout = layout;
    if (choose)
      layouts_.push_back({slice.filters, chosen});
    variants_.emplace(slice, std::move(variant));
    return true;
  } catch (const dnnl::error &error) {
    if (error.status == dnnl_unimplemented)
      return false;
    throw;
  }
}

void ConvCall::prepareFilters(const uint8_t *constants) {
  std::map<std::pair<size_t, int64_t>, size_t> known;
  for (size_t i = 0; i < slices_.size(); ++i) {
    size_t layout = variantOf_[i]->layout;
    int64_t begin = slices_[i].filterBegin;
    auto [it, isNew] = known.try_emplace({layout, begin}, filters_.size());
    if (isNew)
      filters_.push_back({layout, begin});
    filterOf_.push_back(it->second);
  }

  const float *constant = constantAddress(command_.slices[1], constants);
  int64_t offset = 0;
  for (PackedFilter &filter : filters_) {
    const auto &[count, desc] = layouts_[filter.layout];
    memory::desc plain = filterDesc(shape_, count, /*any=*/false);
    if (desc == plain) {
      filter.plain = true;
    } else if (constant) {
      filter.constant =
          context_.packed.make(desc.get_size(), [&](uint8_t *packed) {
            reorderNow(context_, plain, constant + filterOffset(filter), desc,
                       packed);
          });
    } else {
      filter.reorder =
          FilterReorder(context_, shape_, count, desc, /*toPacked=*/true);
      filter.sharedOffset = offset;
      offset += alignUp(static_cast<int64_t>(desc.get_size()));
    }
  }
  sharedBytes_ = static_cast<uint64_t>(offset);
}

LibraryCallResult sinter::cpu::prepareOneDnnConv(OneDnnContext &context,
                                                 const sinter_command &command,
                                                 const uint8_t *constants) {
  auto call = std::make_unique<ConvCall>(context, command);
  SINTER_RETURN_IF_ERROR(call->prepare(constants));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
