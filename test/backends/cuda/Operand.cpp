//===- Operand.cpp - operands of one command, for tests -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/backends/cuda/Operand.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

using namespace sinter;
using namespace sinter::test;

namespace {

int64_t bytesOf(uint32_t dtype) {
  switch (dtype) {
  case SINTER_F64:
    return 8;
  case SINTER_F32:
  case SINTER_I32:
    return 4;
  case SINTER_F16:
  case SINTER_BF16:
    return 2;
  default:
    return 1;
  }
}

template <typename T> T read(const uint8_t *bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

double load(uint32_t dtype, const uint8_t *bytes, int64_t index) {
  switch (dtype) {
  case SINTER_F64:
    return read<double>(bytes, index);
  case SINTER_F32:
    return read<float>(bytes, index);
  case SINTER_F16:
    return rt::toFloat(read<rt::Half>(bytes, index));
  case SINTER_BF16:
    return rt::toFloat(read<rt::Bfloat>(bytes, index));
  case SINTER_I32:
    return read<int32_t>(bytes, index);
  default:
    return read<int8_t>(bytes, index);
  }
}

template <typename T> void write(uint8_t *bytes, int64_t index, T value) {
  std::memcpy(bytes + index * int64_t(sizeof(T)), &value, sizeof(T));
}

void save(uint32_t dtype, uint8_t *bytes, int64_t index, double value) {
  switch (dtype) {
  case SINTER_F64:
    return write(bytes, index, value);
  case SINTER_F32:
    return write(bytes, index, static_cast<float>(value));
  case SINTER_F16: {
    rt::Half half;
    rt::fromFloat(static_cast<float>(value), half);
    return write(bytes, index, half);
  }
  case SINTER_BF16: {
    rt::Bfloat bfloat;
    rt::fromFloat(static_cast<float>(value), bfloat);
    return write(bytes, index, bfloat);
  }
  default:
    return write(bytes, index, static_cast<int8_t>(value * 100));
  }
}

} // namespace

double sinter::test::roundingOf(uint32_t dtype) {
  switch (dtype) {
  case SINTER_F64:
    return 0x1p-53;
  case SINTER_F32:
    return 0x1p-24;
  case SINTER_F16:
    return 0x1p-11;
  case SINTER_BF16:
    return 0x1p-8;
  default:
    return 0;
  }
}

Operand Operand::random(uint32_t dtype, int64_t elements, uint32_t seed) {
  Operand operand;
  operand.dtype = dtype;
  operand.bytes.resize(static_cast<size_t>(elements * bytesOf(dtype)));
  uint32_t state = 12345u + 2654435761u * seed;
  for (int64_t i = 0; i < elements; ++i) {
    state = state * 1664525u + 1013904223u;
    if (dtype == SINTER_BOOL)
      operand.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(state >> 24);
    else
      save(dtype, operand.bytes.data(), i, (state >> 8) / 8388608.0 - 1);
    operand.values.push_back(operand.load(i));
  }
  return operand;
}

double Operand::load(int64_t index) const {
  return ::load(dtype, bytes.data(), index);
}

void Operand::store(int64_t index, double value) {
  save(dtype, bytes.data(), index, value);
  values[static_cast<size_t>(index)] = load(index);
}

void Comparison::fail(std::string line) {
  ++numWrong_;
  if (failure_.empty())
    failure_ = std::move(line);
}

void Comparison::within(double found, double value, double allowed,
                        const char *what, int64_t index) {
  double error = std::abs(found - value);
  // Of NaN and infinity nothing can be subtracted.
  bool isRight = std::isfinite(value) ? error <= allowed
                 : std::isnan(value)  ? std::isnan(found)
                                      : found == value;
  if (std::isfinite(value) && std::isfinite(found) && error > 0)
    worst_ = std::max(worst_, error / allowed);
  if (isRight)
    return;
  char text[160];
  std::snprintf(text, sizeof(text),
                "%s[%lld] is %.9g, not %.9g: off by %.3g, at most %.3g", what,
                static_cast<long long>(index), found, value, error, allowed);
  fail(text);
}

void Comparison::near(double found, double value, uint32_t dtype,
                      double magnitude, int64_t terms, const char *what,
                      int64_t index, double vendor) {
  double sums = dtype == SINTER_F64   ? 0x1p-53
                : dtype == SINTER_I32 ? 0
                                      : 0x1p-24;
  double allowed =
      sums * magnitude * 2 * std::sqrt(static_cast<double>(terms) + 8) +
      roundingOf(dtype) * std::abs(value) * 1.01 +
      (sums == 0x1p-24 ? slack_ * magnitude : 0) + (slack_ > 0 ? vendor : 0);
  // Where ReLU made a number of minus infinity, it is exact.
  if (!std::isfinite(allowed))
    allowed = 0;
  within(found, value, allowed, what, index);
}

std::vector<sinter_slice>
sinter::test::slicesOf(const std::vector<Operand> &operands,
                       uint32_t numReads) {
  std::vector<sinter_slice> slices;
  for (uint32_t i = 0; i < operands.size(); ++i)
    slices.push_back(
        {uint32_t(i < numReads ? SINTER_SPACE_INPUT : SINTER_SPACE_OUTPUT), i,
         operands[i].offsetBytes, operands[i].bytes.size()});
  return slices;
}
