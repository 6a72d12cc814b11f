//===- PostOps.cpp - steps applied to a contraction's result --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/PostOps.h"
#include "runtime/base/Gelu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace sinter;
using namespace sinter::cpu;

namespace {

// The same additions, comparisons and products in the widest registers of the
// CPU. The results are in a core's cache, where register width matters.
#if defined(__x86_64__)
#define SINTER_EVERY_WIDTH                                                     \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SINTER_EVERY_WIDTH
#endif

SINTER_EVERY_WIDTH
void addLine(float *data, const float *operand, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    data[i] += operand[i];
}

/// NaN stays NaN.
SINTER_EVERY_WIDTH
void clipLine(float *data, int64_t count, float low, float high) {
  for (int64_t i = 0; i < count; ++i) {
    float x = data[i];
    x = x <= low ? low : x; // -0 becomes a `low` of 0
    data[i] = x > high ? high : x;
  }
}

SINTER_EVERY_WIDTH
void reluLine(float *data, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    data[i] = data[i] <= 0.0f ? 0.0f : data[i];
}

SINTER_EVERY_WIDTH
void hardSwishLine(float *data, int64_t count) {
  constexpr float sixth = 1.0f / 6.0f;
  for (int64_t i = 0; i < count; ++i) {
    float x = data[i], gate = x * sixth + 0.5f;
    gate = gate < 0.0f ? 0.0f : gate;
    data[i] = x * (gate > 1.0f ? 1.0f : gate);
  }
}

template <typename Function>
void forEach(float *data, int64_t count, int64_t stride, Function &&function) {
  if (stride == 1) // a loop that vectorises
    for (int64_t i = 0; i < count; ++i)
      data[i] = function(data[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      data[i * stride] = function(data[i * stride]);
}

/// One op on one line of the block.
void applyLine(const sinter_post_op &op, float *data, int64_t count,
               int64_t stride, const float *operand, int64_t operandStride) {
  switch (op.kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
    if (stride == 1 && operandStride == 1)
      addLine(data, operand, count);
    else
      for (int64_t i = 0; i < count; ++i)
        data[i * stride] += operand[i * operandStride];
    break;
  case SINTER_POST_RELU:
    // NaN stays NaN; -0 becomes 0.
    if (stride == 1)
      reluLine(data, count);
    else
      forEach(data, count, stride,
              [](float x) { return x <= 0.0f ? 0.0f : x; });
    break;
  case SINTER_POST_GELU_ERF:
    forEach(data, count, stride, rt::gelu::erfForm<float>);
    break;
  case SINTER_POST_GELU_TANH:
    forEach(data, count, stride, rt::gelu::tanhForm<float>);
    break;
  case SINTER_POST_SIGMOID:
    forEach(data, count, stride,
            [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
    break;
  case SINTER_POST_TANH:
    forEach(data, count, stride, [](float x) { return std::tanh(x); });
    break;
  case SINTER_POST_CLIP:
    if (stride == 1) {
      clipLine(data, count, op.alpha, op.beta);
      break;
    }
    forEach(data, count, stride, [low = op.alpha, high = op.beta](float x) {
      x = x <= low ? low : x; // -0 becomes a `low` of 0
      return x > high ? high : x;
    });
    break;
  case SINTER_POST_SCALE:
    forEach(data, count, stride,
            [scale = op.alpha](float x) { return x * scale; });
    break;
  case SINTER_POST_SWISH:
    forEach(data, count, stride,
            [](float x) { return x / (1.0f + std::exp(-x)); });
    break;
  case SINTER_POST_HARD_SWISH:
    if (stride == 1)
      hardSwishLine(data, count);
    else
      for (int64_t i = 0; i < count; ++i)
        hardSwishLine(data + i * stride, 1);
    break;
  default:
    std::abort(); // OneDnnLibrary refuses a call with another kind
  }
}

} // namespace

void sinter::cpu::applyPostOps(std::span<const sinter_post_op> ops,
                               const Block &block,
                               const PostOpOperand *operands) {
  // Lines run along the dimension with the smaller stride.
  bool alongCols = block.colStride <= block.rowStride || block.rows == 1;
  int64_t lines = alongCols ? block.rows : block.cols;
  int64_t length = alongCols ? block.cols : block.rows;
  int64_t lineStride = alongCols ? block.rowStride : block.colStride;
  int64_t stride = alongCols ? block.colStride : block.rowStride;
  bool operandsAreRead = std::any_of(ops.begin(), ops.end(), readsOperand);
  if (!operandsAreRead && stride == 1 && lineStride == length) {
    length *= lines; // dense, and all elements are treated alike
    lines = 1;
  }
  for (int64_t line = 0; line < lines; ++line)
    for (size_t i = 0; i < ops.size(); ++i) {
      const PostOpOperand &operand = operands[i];
      int64_t operandLine = alongCols ? operand.rowStride : operand.colStride;
      int64_t operandStride = alongCols ? operand.colStride : operand.rowStride;
      applyLine(ops[i], block.data + line * lineStride, length, stride,
                operand.address ? operand.address + line * operandLine
                                : nullptr,
                operandStride);
    }
}

size_t sinter::cpu::fusablePostOps(std::span<const sinter_post_op> ops) {
  size_t count = 0;
  while (count < ops.size() && ops[count].kind != SINTER_POST_RELU &&
         ops[count].kind != SINTER_POST_CLIP)
    ++count;
  return count;
}

void sinter::cpu::appendPostOp(dnnl::post_ops &list, const sinter_post_op &op,
                               const dnnl::memory::desc &operand) {
  using dnnl::algorithm;
  switch (op.kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
    list.append_binary(algorithm::binary_add, operand);
    break;
  case SINTER_POST_RELU:
    shim::appendEltwise(list, algorithm::eltwise_relu, 0.0f, 0.0f);
    break;
  case SINTER_POST_GELU_ERF:
    shim::appendEltwise(list, algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
    break;
  case SINTER_POST_GELU_TANH:
    shim::appendEltwise(list, algorithm::eltwise_gelu_tanh, 0.0f, 0.0f);
    break;
  case SINTER_POST_SIGMOID:
    shim::appendEltwise(list, algorithm::eltwise_logistic, 0.0f, 0.0f);
    break;
  case SINTER_POST_TANH:
    shim::appendEltwise(list, algorithm::eltwise_tanh, 0.0f, 0.0f);
    break;
  case SINTER_POST_CLIP:
    shim::appendEltwise(list, algorithm::eltwise_clip, op.alpha, op.beta);
    break;
  case SINTER_POST_SCALE:
    shim::appendEltwise(list, algorithm::eltwise_linear, op.alpha, 0.0f);
    break;
  case SINTER_POST_SWISH:
    shim::appendEltwise(list, algorithm::eltwise_swish, 1.0f, 0.0f);
    break;
  case SINTER_POST_HARD_SWISH:
    shim::appendHardSwish(list);
    break;
  default:
    std::abort(); // OneDnnLibrary refuses a call with another kind
  }
}
