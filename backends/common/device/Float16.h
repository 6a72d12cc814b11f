//===- Float16.h - the two 16-bit floats ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Conversion to fp32 and back, rounding to nearest, ties to even; NaN stays
// NaN. Also the rounding of fp32 to tf32.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_DEVICE_FLOAT16_H
#define SINTER_BACKENDS_COMMON_DEVICE_FLOAT16_H

#include <bit>
#include <cstdint>

namespace sinter::plain {

struct Bfloat {
  uint16_t bits;
};
struct Half {
  uint16_t bits;
};

/// A float32 of whose mantissa tensor cores use ten bits.
struct Tf32 {
  float value;
};

inline float toFloat(float value) { return value; }
inline double toFloat(double value) { return value; }
inline float toFloat(Bfloat value) {
  return std::bit_cast<float>(uint32_t(value.bits) << 16);
}
inline float toFloat(Half value) {
  uint32_t sign = uint32_t(value.bits & 0x8000u) << 16;
  uint32_t rest = value.bits & 0x7fffu;
  if (rest >= 0x7c00u) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest < 0x400u) { // a multiple of 2^-24
    float magnitude = static_cast<float>(rest) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
}

/// Rounds to nearest, ties away from zero (PTX's cvt.rna).
inline float toFloat(Tf32 value) {
  uint32_t bits = std::bit_cast<uint32_t>(value.value);
  if ((bits & 0x7f800000u) == 0x7f800000u) // infinity, NaN
    return value.value;
  return std::bit_cast<float>((bits + 0x1000u) & ~uint32_t(0x1fff));
}

inline void fromFloat(float value, float &to) { to = value; }
inline void fromFloat(double value, double &to) { to = value; }
inline void fromFloat(float value, Bfloat &to) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    to.bits = static_cast<uint16_t>(bits >> 16 | 0x40u);
  else
    to.bits = static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline void fromFloat(float value, Half &to) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  uint32_t half;
  if (rest > 0x7f800000u) {
    half = 0x7e00u;
  } else if (rest >= 0x477ff000u) { // 65520 and more
    half = 0x7c00u;
  } else if (rest < 0x38800000u) { // below 2^-14: multiples of 2^-24
    // The last place of the sum with 1.5 * 2^-1 is 2^-24.
    float sum = std::bit_cast<float>(rest) + 0.75f;
    half = std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.75f);
  } else {
    half = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
  }
  to.bits = static_cast<uint16_t>(sign | half);
}

} // namespace sinter::plain

#endif // SINTER_BACKENDS_COMMON_DEVICE_FLOAT16_H
