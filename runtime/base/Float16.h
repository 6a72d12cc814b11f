//===- Float16.h - the two 16-bit floats ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Conversions to float and double are exact. Conversions from them round once,
// to nearest, ties to even; NaN stays NaN and keeps its sign and the highest
// bits of its payload. Also the rounding of float32 to tf32.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_FLOAT16_H
#define SINTER_RUNTIME_BASE_FLOAT16_H

#include <bit>
#include <cstdint>

namespace sinter::rt {

struct Bfloat {
  static constexpr int mantissaBits = 7, exponentBias = 127;
  uint16_t bits;
};
struct Half {
  static constexpr int mantissaBits = 10, exponentBias = 15;
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

/// The nearest Half or Bfloat.
template <class Narrow> inline Narrow narrowed(double value) {
  constexpr int mantissa = Narrow::mantissaBits, dropped = 52 - mantissa;
  constexpr uint64_t biasStep = 1023 - Narrow::exponentBias;
  constexpr uint64_t infinity = 0x7fffu >> mantissa << mantissa;
  constexpr uint64_t smallestNormal = (biasStep + 1) << 52;
  // Half a unit of the last place above the largest finite number.
  constexpr uint64_t overflow =
      ((infinity - 1 + (biasStep << mantissa)) << dropped) +
      (uint64_t(1) << (dropped - 1));
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t magnitude = bits & ~(uint64_t(1) << 63), result;
  if (magnitude > uint64_t(0x7ff) << 52) { // NaN
    uint64_t payload = (magnitude & ((uint64_t(1) << 52) - 1)) >> dropped;
    result = infinity | uint64_t(1) << (mantissa - 1) | payload;
  } else if (magnitude >= overflow) {
    result = infinity;
  } else if (magnitude < smallestNormal) {
    // The last place of the sum is that of a subnormal number.
    constexpr double shift =
        std::bit_cast<double>((biasStep + 1 + dropped) << 52);
    double sum = std::bit_cast<double>(magnitude) + shift;
    result = std::bit_cast<uint64_t>(sum) - std::bit_cast<uint64_t>(shift);
  } else {
    uint64_t half =
        (uint64_t(1) << (dropped - 1)) - 1 + (magnitude >> dropped & 1);
    result = ((magnitude + half) >> dropped) - (biasStep << mantissa);
  }
  return {static_cast<uint16_t>(bits >> 63 << 15 | result)};
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
    half = 0x7e00u | (rest & 0x7fffffu) >> 13;
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

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_FLOAT16_H
