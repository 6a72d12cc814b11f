//===- ByteStore.cpp - finish and store blocks of 8-bit products ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/ByteStore.h"
#include "backends/cpu/device/CpuLibrary.h"
#include "backends/cpu/device/EveryWidth.h"
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

SINTER_EVERY_WIDTH
void addIntegers(uint32_t *to, const uint32_t *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
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

SINTER_EVERY_WIDTH
void toCodes(const float *x, float zero, uint8_t *to) {
  for (int64_t i = 0; i < panelColumns; ++i)
    to[i] = static_cast<uint8_t>(static_cast<int32_t>(x[i] + zero));
}

void quantizeLine(float *x, const Quantizer &by, uint8_t *to) {
  roundLine(x, by);
  toCodes(x, by.zero, to);
}

void fakeQuantizeLine(float *x, const Quantizer &by) {
  roundLine(x, by);
  for (int64_t i = 0; i < panelColumns; ++i)
    x[i] *= by.scale;
}

SINTER_EVERY_WIDTH
void widenUnsigned(const uint8_t *codes, int64_t count, int64_t stride,
                   float *to) {
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(codes[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(codes[i * stride]);
}
SINTER_EVERY_WIDTH
void widenSigned(const uint8_t *codes, int64_t count, int64_t stride,
                 float *to) {
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(static_cast<int8_t>(codes[i]));
  else
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(static_cast<int8_t>(codes[i * stride]));
}

SINTER_EVERY_WIDTH
void addScaled(float *x, const float *codes, int64_t count, float zero,
               float scale) {
  for (int64_t i = 0; i < count; ++i) {
    const float added = (codes[i] - zero) * scale;
    x[i] += added;
  }
}

void addCodesTo(float *x, int64_t count, const uint8_t *codes, int64_t stride,
                uint32_t dtype, const sinter_post_op &op) {
  float wide[panelColumns];
  for (int64_t i = 0; i < count; i += panelColumns) {
    const int64_t some = std::min(panelColumns, count - i);
    widenCodes(codes + i * stride, dtype == SINTER_I8, some, stride, wide);
    addScaled(x + i, wide, some, op.beta, op.alpha);
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

/// The largest magnitude of a zero point that is a code.
constexpr float mostZero = 255;

bool isCode(uint32_t dtype) { return dtype == SINTER_U8 || dtype == SINTER_I8; }

} // namespace

void sinter::cpu::widenCodes(const uint8_t *codes, bool isSigned, int64_t count,
                             int64_t stride, float *to) {
  (isSigned ? widenSigned : widenUnsigned)(codes, count, stride, to);
}

ByteStore::ByteStore(std::span<const sinter_post_op> postOps, uint32_t outDtype,
                     bool alongRows, int64_t columnStride)
    : postOps_(postOps), outDtype_(outDtype), alongRows_(alongRows),
      columnStride_(columnStride),
      isInRegisters_(readForm() && !alongRows && columnStride == 1),
      hasFastCodes_(
          form_.quantize && !form_.add && !form_.relu &&
          !form_.fakeQuantize == !form_.addCodes &&
          (!form_.addCodes || std::abs(form_.addCodes->beta) <= mostZero)) {}

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

/// Step by step, each for all rows. Rows that are dropped are computed, too,
/// but read and write no memory at their places.
void ByteStore::storeSteps(uint32_t *sums, const BlockPlace &place,
                           void *const *buffers, void *result) const {
  alignas(64) float lines[blockRows][panelColumns], factors[panelColumns] = {};
  alignas(64) uint8_t codes[blockRows][panelColumns];
  const int64_t columns = place.columns;
  bool isFloat = false;
  auto forEachRow = [&](auto function) {
    for (int64_t row = 0; row < place.count; ++row)
      function(row, place.rows[static_cast<size_t>(row)]);
  };
  for (const sinter_post_op &op : postOps_) {
    const void *operand = readsOperand(op) ? buffers[op.slice] : nullptr;
    const auto *numbers = static_cast<const float *>(operand);
    const Quantizer quantizer(op, outDtype_);
    switch (op.kind) {
    case SINTER_POST_DEQUANTIZE:
      forEachRow([&](int64_t row, int64_t) {
        if (alongRows_)
          std::fill_n(factors, columns, numbers[place.firstRow + row]);
        else if (row == 0)
          std::copy_n(numbers + place.firstColumn, columns, factors);
        dequantizeLine(sums + row * panelColumns, factors, lines[row]);
      });
      isFloat = true;
      break;
    case SINTER_POST_QUANTIZE:
      forEachRow([&](int64_t row, int64_t) {
        quantizeLine(lines[row], quantizer, codes[row]);
      });
      break;
    case SINTER_POST_FAKE_QUANTIZE:
      forEachRow([&](int64_t row, int64_t) {
        fakeQuantizeLine(lines[row], quantizer);
      });
      break;
    case SINTER_POST_ADD_CODES:
      forEachRow([&](int64_t row, int64_t offset) {
        if (offset != BlockPlace::dropped)
          addCodesTo(lines[row], columns,
                     static_cast<const uint8_t *>(operand) + offset,
                     columnStride_, outDtype_, op);
      });
      break;
    default:
      if (!isFloat)
        applyToSums(op, sums, place, operand);
      else if (readsResultShape(op))
        forEachRow([&](int64_t row, int64_t offset) {
          if (offset == BlockPlace::dropped)
            return;
          const PostOpOperand added{numbers + offset, 0, columnStride_};
          applyPostOps({&op, 1}, {lines[row], 1, columns, panelColumns, 1},
                       &added);
        });
      else {
        PostOpOperand added;
        if (operand)
          added = alongRows_ ? PostOpOperand{numbers + place.firstRow, 1, 0}
                             : PostOpOperand{numbers + place.firstColumn, 0, 1};
        applyPostOps({&op, 1},
                     {lines[0], place.count, columns, panelColumns, 1}, &added);
      }
    }
  }
  forEachRow([&](int64_t row, int64_t offset) {
    if (offset == BlockPlace::dropped)
      return;
    if (isCode(outDtype_))
      storeElements(codes[row], columns, columnStride_, result, offset);
    else if (isFloat)
      storeElements(lines[row], columns, columnStride_, result, offset);
    else
      storeElements(sums + row * panelColumns, columns, columnStride_, result,
                    offset);
  });
}

/// A ReLU, or a bias of integers, of sums that are not floats yet.
void ByteStore::applyToSums(const sinter_post_op &op, uint32_t *sums,
                            const BlockPlace &place,
                            const void *operand) const {
  const auto *added = static_cast<const uint32_t *>(operand);
  for (int64_t row = 0; row < place.count; ++row) {
    uint32_t *line = sums + row * panelColumns;
    if (op.kind == SINTER_POST_RELU)
      for (int64_t j = 0; j < place.columns; ++j)
        line[j] = static_cast<int32_t>(line[j]) <= 0 ? 0 : line[j];
    else if (op.kind == SINTER_POST_BIAS && alongRows_)
      for (int64_t j = 0; j < place.columns; ++j)
        line[j] += added[place.firstRow + row];
    else if (op.kind == SINTER_POST_BIAS)
      addIntegers(line, added + place.firstColumn, place.columns);
    else if (const int64_t offset = place.rows[static_cast<size_t>(row)];
             offset != BlockPlace::dropped)
      for (int64_t j = 0; j < place.columns; ++j)
        line[j] += added[offset + j * columnStride_];
  }
}

void ByteStore::store(uint32_t *sums, const BlockPlace &place,
                      void *const *buffers, uint32_t result) const {
  if (isInRegisters_)
    storeInRegisters(sums, place, buffers, buffers[result]);
  else
    storeSteps(sums, place, buffers, buffers[result]);
}
