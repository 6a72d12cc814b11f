//===- Float16Test.cpp - conversions of the 16-bit floats -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Float16.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sinter::rt;

namespace {

/// The value by its definition.
template <class Narrow> double valueOf(uint16_t bits) {
  int mantissa = bits & ((1 << Narrow::mantissaBits) - 1);
  int exponent = (bits & 0x7fff) >> Narrow::mantissaBits;
  int lowest = 1 - Narrow::exponentBias - Narrow::mantissaBits;
  double magnitude =
      exponent == 0x7fff >> Narrow::mantissaBits ? (mantissa ? NAN : INFINITY)
      : exponent == 0                            ? std::ldexp(mantissa, lowest)
                      : std::ldexp((1 << Narrow::mantissaBits) + mantissa,
                                   lowest + exponent - 1);
  return bits & 0x8000 ? -magnitude : magnitude;
}

template <class Narrow> void checkAll() {
  constexpr uint16_t infinity = 0x7fff >> Narrow::mantissaBits
                                              << Narrow::mantissaBits;
  int wrong = 0;
  for (int word = 0; word < 0x10000; ++word) {
    auto bits = static_cast<uint16_t>(word);
    double value = valueOf<Narrow>(bits);
    double widened = toFloat(Narrow{bits});
    if (std::isnan(value)) {
      Narrow single;
      fromFloat(toFloat(Narrow{bits}), single);
      wrong += !std::isnan(widened) ||
               !std::isnan(toFloat(narrowed<Narrow>(widened))) ||
               narrowed<Narrow>(widened).bits >> 15 != bits >> 15 ||
               !std::isnan(toFloat(single)) || single.bits >> 15 != bits >> 15;
      continue;
    }
    wrong += widened != value || std::signbit(widened) != std::signbit(value);
    wrong += narrowed<Narrow>(value).bits != bits;
    if ((bits & 0x7fff) >= infinity)
      continue;
    // Between this number and the next one away from zero: below the middle,
    // at it and above it. The middle goes to the even one. The next one after
    // the largest number is where infinity begins.
    double next = std::ldexp(1.0, Narrow::exponentBias + 1);
    if ((bits & 0x7fff) + 1 < infinity)
      next = std::fabs(valueOf<Narrow>(bits + 1));
    double middle = (std::fabs(value) + next) / 2;
    auto rounds = [&](double magnitude, uint16_t expected) {
      double signedValue = std::copysign(magnitude, value);
      wrong += narrowed<Narrow>(signedValue).bits != expected;
      Narrow single;
      auto narrow = static_cast<float>(signedValue);
      fromFloat(narrow, single);
      wrong += narrow == signedValue && single.bits != expected;
    };
    rounds(middle, bits & 1 ? bits + 1 : bits);
    rounds(std::nextafter(middle, 0.0), bits);
    rounds(std::nextafter(middle, INFINITY), bits + 1);
    rounds(std::nextafterf(static_cast<float>(middle), INFINITY), bits + 1);
  }
  CHECK(wrong == 0);
  CHECK(narrowed<Narrow>(1e300).bits == infinity);
  CHECK(narrowed<Narrow>(-1e300).bits == (0x8000 | infinity));
  CHECK(narrowed<Narrow>(-1e-300).bits == 0x8000);
}

} // namespace

TEST_CASE("every half converts exactly, and doubles round once") {
  checkAll<Half>();
}

TEST_CASE("every bfloat converts exactly, and doubles round once") {
  checkAll<Bfloat>();
}
