//===- PostOps.cpp - steps applied to a contraction's result --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/PostOps.h"
#include "backends/cpu/device/EveryWidth.h"
#include "runtime/base/FloatFunctions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

using namespace sinter;
using namespace sinter::cpu;

namespace {

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

// Functions with several operations, in vector registers. Each operation waits
// for the one before: with four registers in turn, loops take 15 % less time.
#if defined(__clang__)
#define SINTER_FOUR_IN_TURN _Pragma("clang loop interleave_count(4)")
#else
#define SINTER_FOUR_IN_TURN
#endif
#define SINTER_LINE(NAME, FUNCTION)                                            \
  SINTER_EVERY_WIDTH                                                           \
  void NAME(float *data, int64_t count) {                                      \
    SINTER_FOUR_IN_TURN                                                        \
    for (int64_t i = 0; i < count; ++i)                                        \
      data[i] = FUNCTION(data[i]);                                             \
  }
SINTER_LINE(hardSwishLine, rt::hardSwish)
SINTER_LINE(sigmoidLine, rt::fastSigmoid)
SINTER_LINE(swishLine, rt::fastSwish)
SINTER_LINE(geluErfLine, rt::fastGeluErf)
SINTER_LINE(geluTanhLine, rt::fastGeluTanh)
#undef SINTER_LINE
#undef SINTER_FOUR_IN_TURN

/// A line of the block and of the operand.
struct Line {
  float *data;
  int64_t count, stride;
  const float *operand;
  int64_t operandStride;

  template <typename Function> void forEach(Function &&function) const {
    if (stride == 1) // a loop that vectorises
      for (int64_t i = 0; i < count; ++i)
        data[i] = function(data[i]);
    else
      for (int64_t i = 0; i < count; ++i)
        data[i * stride] = function(data[i * stride]);
  }
};

void addOperand(const sinter_post_op &, const Line &line) {
  if (line.stride == 1 && line.operandStride == 1)
    addLine(line.data, line.operand, line.count);
  else
    for (int64_t i = 0; i < line.count; ++i)
      line.data[i * line.stride] += line.operand[i * line.operandStride];
}

void relu(const sinter_post_op &, const Line &line) {
  // NaN stays NaN; -0 becomes 0.
  if (line.stride == 1)
    reluLine(line.data, line.count);
  else
    line.forEach([](float x) { return x <= 0.0f ? 0.0f : x; });
}

void clip(const sinter_post_op &op, const Line &line) {
  if (line.stride == 1)
    clipLine(line.data, line.count, op.alpha, op.beta);
  else
    line.forEach([low = op.alpha, high = op.beta](float x) {
      x = x <= low ? low : x; // -0 becomes a `low` of 0
      return x > high ? high : x;
    });
}

template <void (*function)(float *data, int64_t count)>
void applyLine(const sinter_post_op &, const Line &line) {
  if (line.stride == 1)
    function(line.data, line.count);
  else
    for (int64_t i = 0; i < line.count; ++i)
      function(line.data + i * line.stride, 1);
}
void tanhOf(const sinter_post_op &, const Line &line) {
  line.forEach([](float x) { return std::tanh(x); });
}
void scale(const sinter_post_op &op, const Line &line) {
  line.forEach([scale = op.alpha](float x) { return x * scale; });
}

void appendAdd(dnnl::post_ops &list, const sinter_post_op &,
               const dnnl::memory::desc &operand) {
  list.append_binary(dnnl::algorithm::binary_add, operand);
}
/// With constant parameters.
template <dnnl::algorithm algorithm, int alpha = 0>
void appendFunction(dnnl::post_ops &list, const sinter_post_op &,
                    const dnnl::memory::desc &) {
  shim::appendEltwise(list, algorithm, alpha, 0.0f);
}
/// With the parameters of the post-op.
template <dnnl::algorithm algorithm>
void appendNumbers(dnnl::post_ops &list, const sinter_post_op &op,
                   const dnnl::memory::desc &) {
  shim::appendEltwise(list, algorithm, op.alpha, op.beta);
}
void appendScale(dnnl::post_ops &list, const sinter_post_op &op,
                 const dnnl::memory::desc &) {
  shim::appendEltwise(list, dnnl::algorithm::eltwise_linear, op.alpha, 0.0f);
}
void appendHardSwish(dnnl::post_ops &list, const sinter_post_op &,
                     const dnnl::memory::desc &) {
  shim::appendHardSwish(list);
}

/// The two forms of a post-op.
struct PostOpCode {
  uint32_t kind;
  bool isLong; // isLongFunction()
  void (*apply)(const sinter_post_op &op, const Line &line);
  void (*append)(dnnl::post_ops &list, const sinter_post_op &op,
                 const dnnl::memory::desc &operand);
};

using dnnl::algorithm;
constexpr PostOpCode postOpCodes[] = {
    {SINTER_POST_BIAS, false, addOperand, appendAdd},
    {SINTER_POST_ADD, false, addOperand, appendAdd},
    {SINTER_POST_RELU, false, relu, appendFunction<algorithm::eltwise_relu>},
    {SINTER_POST_GELU_ERF, true, applyLine<geluErfLine>,
     appendFunction<algorithm::eltwise_gelu_erf>},
    {SINTER_POST_GELU_TANH, true, applyLine<geluTanhLine>,
     appendFunction<algorithm::eltwise_gelu_tanh>},
    {SINTER_POST_SIGMOID, true, applyLine<sigmoidLine>,
     appendFunction<algorithm::eltwise_logistic>},
    {SINTER_POST_TANH, false, tanhOf, appendFunction<algorithm::eltwise_tanh>},
    {SINTER_POST_CLIP, false, clip, appendNumbers<algorithm::eltwise_clip>},
    {SINTER_POST_SCALE, false, scale, appendScale},
    {SINTER_POST_SWISH, true, applyLine<swishLine>,
     appendFunction<algorithm::eltwise_swish, 1>},
    {SINTER_POST_HARD_SWISH, false, applyLine<hardSwishLine>, appendHardSwish},
};

const PostOpCode *findCode(uint32_t kind) {
  const PostOpCode *found =
      std::find_if(std::begin(postOpCodes), std::end(postOpCodes),
                   [&](const PostOpCode &code) { return code.kind == kind; });
  return found == std::end(postOpCodes) ? nullptr : found;
}

} // namespace

bool sinter::cpu::hasPostOp(uint32_t kind) { return findCode(kind) != nullptr; }

bool sinter::cpu::isLongFunction(uint32_t kind) {
  const PostOpCode *code = findCode(kind);
  return code && code->isLong;
}

void sinter::cpu::applyLongFunction(uint32_t kind, float *data, int64_t count) {
  findCode(kind)->apply({kind, 0, 0, 0}, {data, count, 1, nullptr, 0});
}

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
  std::array<const PostOpCode *, SINTER_MAX_POST_OPS> codes;
  for (size_t i = 0; i < ops.size(); ++i)
    codes[i] = findCode(ops[i].kind);
  auto applyToLine = [&](size_t i, float *data, int64_t line) {
    const PostOpOperand &operand = operands[i];
    const int64_t operandLine =
        alongCols ? operand.rowStride : operand.colStride;
    codes[i]->apply(
        ops[i],
        {data, length, stride,
         operand.address ? operand.address + line * operandLine : nullptr,
         alongCols ? operand.colStride : operand.rowStride});
  };

  // A short line fills too few registers to hide the latency of a function, so
  // many lines are copied to one buffer and treated together.
  constexpr int64_t shortLine = 128, mostElements = 1536;
  const bool joinsLines =
      lines > 1 && stride == 1 && length > 0 && length <= shortLine &&
      std::any_of(codes.begin(), codes.begin() + ops.size(),
                  [](const PostOpCode *code) { return code->isLong; });
  if (!joinsLines) {
    for (int64_t line = 0; line < lines; ++line)
      for (size_t i = 0; i < ops.size(); ++i)
        applyToLine(i, block.data + line * lineStride, line);
    return;
  }
  alignas(64) float joined[mostElements];
  const int64_t most = mostElements / length;
  for (int64_t first = 0; first < lines; first += most) {
    const int64_t count = std::min(most, lines - first);
    float *data = block.data + first * lineStride;
    copyBlock({joined, count, length, length, 1}, data, lineStride, 1);
    for (size_t i = 0; i < ops.size(); ++i) {
      if (readsOperand(ops[i]))
        for (int64_t line = 0; line < count; ++line)
          applyToLine(i, joined + line * length, first + line);
      else
        codes[i]->apply(ops[i], {joined, count * length, 1, nullptr, 0});
    }
    copyBlock({data, count, length, lineStride, 1}, joined, length, 1);
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
  findCode(op.kind)->append(list, op, operand);
}
