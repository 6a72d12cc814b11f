//===- ConvPlan.cpp - convolutions as operation graphs of cuDNN -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/ConvPlan.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace sinter;
using namespace sinter::cuda;

namespace {

class Builder {
public:
  Builder(const sinter_conv &p, uint32_t resultSlice, DnnGraph &graph)
      : p_(p), resultSlice_(resultSlice), graph_(graph) {}
  void make();

private:
  bool takeType();
  /// {batch, channels, spatial..}, dense in the convolution's layout.
  DnnTensor activation(int64_t channels, const int64_t *spatial) const;
  DnnTensor filter() const;
  /// Cuts off what negative pads exclude.
  void crop(DnnTensor &input);
  /// Puts the post-ops into the order that cuDNN supports.
  bool orderPostOps();
  /// Moves the sums of the channels out of the post-ops; false if cuDNN cannot
  /// compute them.
  bool takeChannelSums();
  bool takesAnySteps(const DnnTensor &result, const DnnTensor &weights) const;
  bool addPostOps(int value, DnnTensor result, int64_t channels);
  void addChannelSums(int result);
  int addVirtual(const DnnTensor &like);
  int addNumber(float value, int32_t rank);

  size_t rank() const { return spatial_ + 2; }

  const sinter_conv &p_;
  const uint32_t resultSlice_;
  DnnGraph &graph_;
  DnnOperation conv_;
  std::vector<sinter_post_op> postOps_;
  int32_t type_ = dnn::f32, resultType_ = dnn::f32;
  uint32_t sumSlice_ = SINTER_NONE, squaresSlice_ = SINTER_NONE;
  /// cuDNN accepts two or three spatial dimensions.
  size_t spatial_ = 2, missing_ = 0;
  bool cropped_ = false, emptySum_ = false;
};

} // namespace

/// False if cuDNN has no such type.
static bool toDnnType(uint32_t dtype, int32_t &type) {
  switch (dtype) {
  case SINTER_F32:
  case SINTER_TF32:
    type = dnn::f32;
    return true;
  case SINTER_F64:
    type = dnn::f64;
    return true;
  case SINTER_F16:
    type = dnn::f16;
    return true;
  case SINTER_BF16:
    type = dnn::bf16;
    return true;
  default:
    return false;
  }
}

bool Builder::takeType() {
  if (!toDnnType(p_.dtype, type_)) {
    graph_.refusal =
        "cuDNN does not convolve dtype " + std::to_string(p_.dtype);
    return false;
  }
  // 16-bit operands may have a float32 result in the forward direction (as
  // reported by cuDNN 9.19 for an H200; a test checks it). All others have a
  // result of their own type.
  bool isNarrow = (type_ == dnn::f16 || type_ == dnn::bf16) &&
                  p_.direction == SINTER_CONV_FORWARD;
  if (p_.outDtype &&
      (!toDnnType(p_.outDtype, resultType_) ||
       (resultType_ != type_ && !(isNarrow && resultType_ == dnn::f32)))) {
    graph_.refusal = "cuDNN does not convolve dtype " +
                     std::to_string(p_.dtype) + " into dtype " +
                     std::to_string(p_.outDtype);
    return false;
  }
  if (!p_.outDtype)
    resultType_ = type_;
  graph_.allowsTf32 = p_.dtype == SINTER_TF32;
  graph_.computeType = type_ == dnn::f64 ? dnn::f64 : dnn::f32;
  return true;
}

DnnTensor Builder::activation(int64_t channels, const int64_t *spatial) const {
  DnnTensor tensor;
  tensor.type = type_;
  tensor.dims = {p_.batch, channels};
  for (size_t i = 0; i < spatial_; ++i)
    tensor.dims.push_back(i < missing_ ? 1 : spatial[i - missing_]);
  tensor.strides.resize(rank());
  bool last = p_.layout == SINTER_CHANNELS_LAST;
  int64_t stride = last ? channels : 1;
  for (size_t i = rank(); i-- > 2;) {
    tensor.strides[i] = stride;
    stride *= tensor.dims[i];
  }
  tensor.strides[1] = last ? 1 : stride;
  tensor.strides[0] = last ? stride : stride * channels;
  return tensor;
}

DnnTensor Builder::filter() const {
  DnnTensor tensor;
  tensor.type = type_;
  int64_t channels = p_.channels / p_.groups;
  tensor.dims = {p_.filters, channels};
  for (size_t i = 0; i < spatial_; ++i)
    tensor.dims.push_back(i < missing_ ? 1 : p_.kernel[i - missing_]);
  tensor.strides.resize(rank());
  // Filters of one point are in both layouts; use that of the activations.
  int64_t points = 1;
  for (size_t i = 2; i < rank(); ++i)
    points *= tensor.dims[i];
  bool last = points == 1 || channels == 1
                  ? p_.layout == SINTER_CHANNELS_LAST
                  : p_.filterLayout == SINTER_CHANNELS_LAST;
  int64_t stride = last ? channels : 1;
  for (size_t i = rank(); i-- > 2;) {
    tensor.strides[i] = stride;
    stride *= tensor.dims[i];
  }
  tensor.strides[1] = last ? 1 : stride;
  tensor.strides[0] = last ? stride : stride * channels;
  return tensor;
}

void Builder::crop(DnnTensor &input) {
  for (size_t i = 0; i < spatial_; ++i) {
    int64_t low = std::max<int64_t>(0, -conv_.prePads[i]),
            high = std::max<int64_t>(0, -conv_.postPads[i]);
    if (low + high == 0)
      continue;
    cropped_ = true;
    input.offset += low * input.strides[i + 2];
    input.dims[i + 2] = std::max<int64_t>(0, input.dims[i + 2] - low - high);
    conv_.prePads[i] += low;
    conv_.postPads[i] += high;
  }
  emptySum_ = std::count(input.dims.begin(), input.dims.end(), 0) > 0;
}

int Builder::addVirtual(const DnnTensor &like) {
  DnnTensor tensor = like;
  tensor.type = dnn::f32;
  tensor.isVirtual = true;
  tensor.slice = SINTER_NONE;
  tensor.offset = 0;
  return graph_.add(std::move(tensor));
}

int Builder::addNumber(float value, int32_t rank) {
  DnnTensor tensor;
  tensor.dims.assign(static_cast<size_t>(rank), 1);
  tensor.strides = tensor.dims;
  tensor.isByValue = true;
  tensor.value = value;
  return graph_.add(std::move(tensor));
}

bool Builder::takeChannelSums() {
  size_t count = postOps_.size();
  if (count < 2 || postOps_[count - 1].kind != SINTER_POST_CHANNEL_SQUARES ||
      postOps_[count - 2].kind != SINTER_POST_CHANNEL_SUM)
    return true;
  squaresSlice_ = postOps_.back().slice;
  postOps_.pop_back();
  sumSlice_ = postOps_.back().slice;
  postOps_.pop_back();
  if ((type_ != dnn::f16 && type_ != dnn::bf16) ||
      p_.layout != SINTER_CHANNELS_LAST)
    graph_.refusal = "cuDNN sums channels only in 16 bits with channels last";
  else if (!postOps_.empty())
    graph_.refusal = "cuDNN sums channels only without other post-ops";
  return graph_.refusal.empty();
}

/// Swaps a bias with the addition after it; the sum is the same. True if the
/// steps are those that any forward convolution supports.
bool Builder::orderPostOps() {
  size_t count = postOps_.size(), at = 0;
  if (count > 1 && postOps_[0].kind == SINTER_POST_BIAS &&
      postOps_[1].kind == SINTER_POST_ADD)
    std::swap(postOps_[0], postOps_[1]);
  if (at < count && postOps_[at].kind == SINTER_POST_ADD)
    ++at;
  if (at == count || postOps_[at++].kind != SINTER_POST_BIAS)
    return false;
  if (at == count)
    return true;
  uint32_t last = postOps_[at++].kind;
  return at == count &&
         (last == SINTER_POST_RELU || last == SINTER_POST_CLIP ||
          last == SINTER_POST_SIGMOID || last == SINTER_POST_TANH);
}

bool Builder::takesAnySteps(const DnnTensor &result,
                            const DnnTensor &weights) const {
  return p_.spatialRank <= 2 && result.strides[1] == 1 &&
         weights.strides[1] == 1 && p_.layout == SINTER_CHANNELS_LAST;
}

/// Adds the steps from `value`, the convolution's sums in fp32, to `result`.
bool Builder::addPostOps(int value, DnnTensor result, int64_t channels) {
  auto rank = static_cast<int32_t>(this->rank());
  for (size_t i = 0; i < postOps_.size(); ++i) {
    const sinter_post_op &op = postOps_[i];
    DnnOperation step;
    step.x = value;
    switch (op.kind) {
    case SINTER_POST_BIAS: {
      DnnTensor bias;
      bias.type = resultType_;
      bias.dims.assign(static_cast<size_t>(rank), 1);
      bias.dims[1] = channels;
      bias.strides.assign(static_cast<size_t>(rank), channels);
      bias.strides[1] = 1;
      bias.slice = op.slice;
      step.mode = dnn::add;
      step.w = graph_.add(std::move(bias));
      break;
    }
    case SINTER_POST_ADD: {
      DnnTensor added = result;
      added.slice = op.slice;
      step.mode = dnn::add;
      step.w = graph_.add(std::move(added));
      break;
    }
    case SINTER_POST_SCALE:
      step.mode = dnn::mul;
      step.w = addNumber(op.alpha, rank);
      break;
    case SINTER_POST_RELU:
      step.mode = dnn::reluForward;
      break;
    case SINTER_POST_CLIP:
      // Below `lower`, the result is `lower` only if `lower` is 0.
      if (op.alpha != 0) {
        graph_.refusal = "cuDNN can clip only from 0";
        return false;
      }
      step.mode = dnn::reluForward;
      step.hasUpper = !std::isinf(op.beta);
      step.upper = op.beta;
      break;
    case SINTER_POST_GELU_ERF:
      step.mode = dnn::geluForward;
      break;
    case SINTER_POST_GELU_TANH:
      step.mode = dnn::geluTanhForward;
      break;
    case SINTER_POST_SIGMOID:
      step.mode = dnn::sigmoidForward;
      break;
    case SINTER_POST_TANH:
      step.mode = dnn::tanhForward;
      break;
    case SINTER_POST_SWISH:
      step.mode = dnn::swishForward;
      break;
    default:
      graph_.refusal =
          "cuDNN has no post-op " + std::to_string(op.kind) + " to fuse";
      return false;
    }
    bool isLast = i + 1 == postOps_.size();
    value = step.y = isLast ? graph_.add(result) : addVirtual(result);
    graph_.operations.push_back(std::move(step));
  }
  return true;
}

/// Adds the sums over each channel of `result`, in fp32.
void Builder::addChannelSums(int result) {
  DnnTensor sums;
  sums.dims.assign(rank(), 1);
  sums.dims[1] = p_.filters;
  sums.strides.assign(rank(), p_.filters);
  sums.strides[1] = 1;
  DnnOperation step;
  step.kind = DnnOperation::GenStats;
  step.x = result;
  sums.slice = sumSlice_;
  step.y = graph_.add(sums);
  sums.slice = squaresSlice_;
  step.w = graph_.add(sums);
  graph_.operations.push_back(std::move(step));
}

void Builder::make() {
  if (!takeType())
    return;
  postOps_.assign(p_.postOps, p_.postOps + p_.numPostOps);
  if (!takeChannelSums())
    return;
  missing_ = p_.spatialRank < 2 ? 2 - p_.spatialRank : 0;
  spatial_ = p_.spatialRank + missing_;
  auto list = [&](const int64_t *values, int64_t fallback) {
    std::vector<int64_t> result(missing_, fallback);
    result.insert(result.end(), values, values + p_.spatialRank);
    return result;
  };
  conv_.strides = list(p_.strides, 1);
  conv_.dilations = list(p_.dilations, 1);
  conv_.prePads = list(p_.padsLow, 0);
  conv_.postPads = list(p_.padsHigh, 0);
  DnnTensor input = activation(p_.channels, p_.inputDims), weights = filter(),
            output = activation(p_.filters, p_.outputDims);
  auto isEmpty = [](const DnnTensor &tensor) {
    return std::count(tensor.dims.begin(), tensor.dims.end(), 0) > 0;
  };
  bool isForward = p_.direction == SINTER_CONV_FORWARD,
       isInputGrad = p_.direction == SINTER_CONV_INPUT_GRAD;
  (isForward ? output : isInputGrad ? input : weights).type = resultType_;
  graph_.empty = isEmpty(isForward ? output : isInputGrad ? input : weights);
  if (graph_.empty) {
    if (squaresSlice_ != SINTER_NONE)
      graph_.refusal = "cuDNN cannot sum the channels of an empty result";
    return;
  }
  crop(input);
  emptySum_ |= isEmpty(output) || isEmpty(weights);
  if (emptySum_ || (cropped_ && isInputGrad)) {
    if (p_.numPostOps) {
      graph_.refusal = "a convolution with parts that are always zero cannot "
                       "have post-ops";
      return;
    }
    graph_.zeroFirst = true;
  }
  if (emptySum_)
    return;

  if (isForward) {
    conv_.kind = DnnOperation::ConvForward;
    input.slice = 0;
    weights.slice = 1;
    output.slice = resultSlice_;
    conv_.x = graph_.add(input);
    conv_.w = graph_.add(weights);
  } else if (isInputGrad) {
    conv_.kind = DnnOperation::ConvInputGrad;
    output.slice = 0;
    weights.slice = 1;
    input.slice = resultSlice_;
    conv_.x = graph_.add(output);
    conv_.w = graph_.add(weights);
  } else {
    conv_.kind = DnnOperation::ConvFilterGrad;
    input.slice = 0;
    output.slice = 1;
    weights.slice = resultSlice_;
    conv_.x = graph_.add(input);
    conv_.w = graph_.add(output);
  }
  const DnnTensor &result = isForward ? output : isInputGrad ? input : weights;
  if (!postOps_.empty() && type_ == dnn::f64) {
    graph_.refusal = "cuDNN cannot fuse post-ops with a convolution in fp64";
    return;
  }
  bool isUsual = orderPostOps() && isForward;
  if (!postOps_.empty() && !isUsual && !takesAnySteps(result, weights)) {
    graph_.refusal = isForward
                         ? "cuDNN fuses such steps only with channels "
                           "last in activations and filter"
                         : "cuDNN cannot fuse post-ops with this gradient";
    return;
  }
  int y = conv_.y = postOps_.empty() ? graph_.add(result) : addVirtual(result);
  graph_.operations.push_back(conv_);
  if (squaresSlice_ != SINTER_NONE)
    addChannelSums(y);
  else
    addPostOps(y, result, isInputGrad ? p_.channels : p_.filters);
}

DnnGraph sinter::cuda::convGraph(const sinter_conv &params,
                                 uint32_t resultSlice) {
  DnnGraph graph;
  Builder(params, resultSlice, graph).make();
  return graph;
}

bool sinter::cuda::convFits(const sinter_conv &params) {
  return convGraph(params, 2 + params.numPostOps).refusal.empty();
}
