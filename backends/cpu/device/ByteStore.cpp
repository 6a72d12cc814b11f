//===- ByteStore.cpp - finish and store blocks of 8-bit products ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteStore.h"
#include "backends/cpu/device/EveryWidth.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/CpuFeatures.h"

#include <algorithm>
#include <cmath>

using namespace sinter;
using namespace sinter::cpu;

namespace {

/// Added to a float of less than 2^22, it leaves the float, rounded to nearest
/// even, in the lowest bits of the sum.
constexpr float roundingMagic = 12582912.0f; // 1.5 * 2^23

SINTER_EVERY_WIDTH
void dequantizeLine(const uint32_t *sums, const float *scales, float *to) {
  for (int64_t i = 0; i < panelColumns; ++i)
    to[i] = static_cast<float>(static_cast<int32_t>(sums[i])) * scales[i];
}

/// Sets x to its codes before the zero point is added. Clamping first gives the
/// same code, since the bounds are integers.
SINTER_EVERY_WIDTH
void roundLine(float *x, const Quantizer &by) {
  for (int64_t i = 0; i < panelColumns; ++i) {
    float q = x[i] / by.scale;
    q = q != q ? -by.zero : q;
    q = q < by.least ? by.least : q;
    q = q > by.greatest ? by.greatest : q;
    x[i] = (q + roundingMagic) - roundingMagic;
  }
}

void quantizeLine(float *x, const Quantizer &by, uint8_t *to) {
  roundLine(x, by);
  for (int64_t i = 0; i < panelColumns; ++i)
    to[i] = static_cast<uint8_t>(static_cast<int32_t>(x[i] + by.zero));
}

void fakeQuantizeLine(float *x, const Quantizer &by) {
  roundLine(x, by);
  for (int64_t i = 0; i < panelColumns; ++i)
    x[i] *= by.scale;
}

void addCodesTo(float *x, int64_t count, const uint8_t *codes, int64_t stride,
                uint32_t dtype, const sinter_post_op &op) {
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t byte = codes[i * stride];
    const float code = dtype == SINTER_I8
                           ? static_cast<float>(static_cast<int8_t>(byte))
                           : static_cast<float>(byte);
    const float added = (code - op.beta) * op.alpha;
    x[i] += added;
  }
}

template <class Element>
void storeElements(const Element *line, int64_t count, int64_t stride,
                   void *result, int64_t offset) {
  Element *to = static_cast<Element *>(result) + offset;
  if (stride == 1) {
    std::copy_n(line, count, to);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    to[i * stride] = line[i];
}

bool isCode(uint32_t dtype) { return dtype == SINTER_U8 || dtype == SINTER_I8; }

} // namespace

ByteStore::ByteStore(std::span<const sinter_post_op> postOps, uint32_t outDtype,
                     bool alongRows, int64_t columnStride)
    : postOps_(postOps), outDtype_(outDtype), alongRows_(alongRows),
      columnStride_(columnStride),
      isInRegisters_(readForm() && !alongRows && columnStride == 1),
      hasFastCodes_(form_.quantize && !form_.add && !form_.relu &&
                    !form_.fakeQuantize == !form_.addCodes) {}

/// Sets form_; false if the post-ops have another order, or the CPU has other
/// registers.
bool ByteStore::readForm() {
  auto next = postOps_.begin();
  auto take = [&](uint32_t kind) {
    return next != postOps_.end() && next->kind == kind ? &*next++ : nullptr;
  };
  form_.integerBias = take(SINTER_POST_BIAS);
  form_.scales = take(SINTER_POST_DEQUANTIZE);
  if (form_.scales) {
    form_.bias = take(SINTER_POST_BIAS);
    form_.fakeQuantize = take(SINTER_POST_FAKE_QUANTIZE);
    form_.add = take(SINTER_POST_ADD);
    form_.addCodes = take(SINTER_POST_ADD_CODES);
    form_.relu = take(SINTER_POST_RELU);
    form_.quantize = take(SINTER_POST_QUANTIZE);
  }
  // The reciprocal of the scale needs all its digits.
  auto isNormal = [](const sinter_post_op *op) {
    return !op || (std::isnormal(op->alpha) && std::isnormal(1.0f / op->alpha));
  };
  return next == postOps_.end() && isNormal(form_.quantize) &&
         isNormal(form_.fakeQuantize) &&
         rt::checkCpuFeatures("+avx512f,+avx512bw,+avx512vl,+avx512dq").ok();
}

bool ByteStore::fits(const sinter_command &command,
                     std::span<const sinter_post_op> postOps,
                     uint32_t outDtype) {
  bool isFloat = false, isCoded = false;
  for (const sinter_post_op &op : postOps) {
    switch (op.kind) {
    case SINTER_POST_BIAS:
    case SINTER_POST_ADD:
    case SINTER_POST_RELU:
      break;
    case SINTER_POST_DEQUANTIZE:
      isFloat = true;
      break;
    case SINTER_POST_ADD_CODES:
      if (!isFloat || op.beta != std::nearbyint(op.beta))
        return false;
      break;
    case SINTER_POST_FAKE_QUANTIZE:
    case SINTER_POST_QUANTIZE: {
      isCoded = op.kind == SINTER_POST_QUANTIZE;
      const Quantizer by(op, outDtype);
      if (by.zero != std::nearbyint(by.zero) || by.least > 0 || by.greatest < 0)
        return false;
      break;
    }
    default:
      if (!isFloat || !hasPostOp(op.kind))
        return false;
    }
  }
  return outDtype == (isFloat ? SINTER_F32 : SINTER_I32) ||
                 (isCoded && isCode(outDtype))
             ? !readsOther(command, postOps)
             : false;
}

/// One row, step by step.
void ByteStore::storeLine(uint32_t *sums, int64_t row, const BlockPlace &place,
                          void *const *buffers, void *result) const {
  const int64_t offset = place.rows[static_cast<size_t>(row)],
                columns = place.columns;
  alignas(64) float line[panelColumns] = {}, factors[panelColumns] = {};
  alignas(64) uint8_t codes[panelColumns];
  bool isFloat = false;
  for (const sinter_post_op &op : postOps_) {
    const void *operand = readsOperand(op) || op.kind == SINTER_POST_DEQUANTIZE
                              ? buffers[op.slice]
                              : nullptr;
    const bool isAdded = readsResultShape(op);
    const int64_t first = isAdded      ? offset
                          : alongRows_ ? place.firstRow + row
                                       : place.firstColumn,
                  step = isAdded      ? columnStride_
                         : alongRows_ ? 0
                                      : 1;
    if (op.kind == SINTER_POST_DEQUANTIZE) {
      for (int64_t j = 0; j < columns; ++j)
        factors[j] = static_cast<const float *>(operand)[first + j * step];
      dequantizeLine(sums, factors, line);
      isFloat = true;
    } else if (op.kind == SINTER_POST_QUANTIZE) {
      quantizeLine(line, Quantizer(op, outDtype_), codes);
    } else if (op.kind == SINTER_POST_FAKE_QUANTIZE) {
      fakeQuantizeLine(line, Quantizer(op, outDtype_));
    } else if (op.kind == SINTER_POST_ADD_CODES) {
      addCodesTo(line, columns, static_cast<const uint8_t *>(operand) + first,
                 step, outDtype_, op);
    } else if (isFloat) {
      PostOpOperand added;
      if (operand)
        added = {static_cast<const float *>(operand) + first, 0, step};
      applyPostOps({&op, 1}, {line, 1, columns, panelColumns, 1}, &added);
    } else if (op.kind == SINTER_POST_RELU) {
      for (int64_t j = 0; j < columns; ++j)
        sums[j] = static_cast<int32_t>(sums[j]) <= 0 ? 0 : sums[j];
    } else {
      for (int64_t j = 0; j < columns; ++j)
        sums[j] += static_cast<const uint32_t *>(operand)[first + j * step];
    }
  }
  if (isCode(outDtype_))
    storeElements(codes, columns, columnStride_, result, offset);
  else if (isFloat)
    storeElements(line, columns, columnStride_, result, offset);
  else
    storeElements(sums, columns, columnStride_, result, offset);
}

void ByteStore::store(uint32_t *sums, const BlockPlace &place,
                      void *const *buffers, uint32_t result) const {
  if (isInRegisters_)
    return storeInRegisters(sums, place, buffers, buffers[result]);
  for (int64_t row = 0; row < place.count; ++row)
    if (place.rows[static_cast<size_t>(row)] != BlockPlace::dropped)
      storeLine(sums + row * panelColumns, row, place, buffers,
                buffers[result]);
}
