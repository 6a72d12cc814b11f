//===- ArithmeticTest.cpp - arithmetic of PTX, not of x86 -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/Arithmetic.h"
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// %r of type Out for %a and %b of type In, element by element.
template <typename Out, typename In>
std::vector<Out> compute(const std::string &in, const std::string &out,
                         const std::string &body, std::vector<In> a,
                         std::vector<In> b = {},
                         const std::string &declarations = "") {
  b.resize(a.size());
  std::string text = R"(
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @compute(ptr %x, ptr %y, ptr %z) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr inbounds )" +
                     in + ", ptr %x, i32 %tid\n  %a = load " + in +
                     ", ptr %pa\n  %pb = getelementptr inbounds " + in +
                     ", ptr %y, i32 %tid\n  %b = load " + in + ", ptr %pb\n" +
                     body + "\n  %pr = getelementptr inbounds " + out +
                     ", ptr %z, i32 %tid\n  store " + out +
                     " %r, ptr %pr\n  ret void\n}\n"
                     "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" +
                     declarations;
  std::vector<Out> results;
  for (unsigned level : {0u, 2u}) {
    auto kernel =
        SimKernel::fromText(text, "compute", {level, true, false, false, ""});
    INFO(kernel->error());
    REQUIRE(kernel->code());
    std::vector<Out> r(a.size());
    Engine engine({});
    rt::Status status =
        engine.launch(kernel->launch({rangeOf(a), rangeOf(b), rangeOf(r)}, 1,
                                     uint32_t(a.size())),
                      nullptr);
    INFO(status.message());
    REQUIRE(status.ok());
    if (!results.empty())
      for (size_t i = 0; i < r.size(); ++i)
        CHECK(std::memcmp(&r[i], &results[i], sizeof r[i]) == 0);
    results = r;
  }
  return results;
}

/// Equal bits; all NaNs are equal.
void same(const std::vector<float> &found, const std::vector<float> &expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    INFO("element " << i << ": " << found[i] << ", expected " << expected[i]);
    CHECK((std::isnan(expected[i]) ? std::isnan(found[i])
                                   : std::bit_cast<uint32_t>(found[i]) ==
                                         std::bit_cast<uint32_t>(expected[i])));
  }
}

} // namespace

TEST_CASE("conversions to integers saturate, NaN is 0") {
  std::vector<float> values{1.9f, -1.9f, 3e9f,       -3e9f,
                            inf,  -inf,  notANumber, 300.0f};
  constexpr int32_t least = std::numeric_limits<int32_t>::min();
  constexpr int32_t most = std::numeric_limits<int32_t>::max();
  CHECK(
      compute<int32_t>("float", "i32", "%r = fptosi float %a to i32", values) ==
      std::vector<int32_t>{1, -1, most, least, most, least, 0, 300});
  CHECK(compute<uint32_t>("float", "i32", "%r = fptoui float %a to i32",
                          values) ==
        std::vector<uint32_t>{1, 0, 3000000000u, 0, ~0u, 0, 0, 300});
  // Converted to 16 bits, then truncated.
  CHECK(compute<int8_t>("float", "i8", "%r = fptosi float %a to i8", values) ==
        std::vector<int8_t>{1, -1, -1, 0, -1, 0, 0, 44});
  CHECK(compute<int32_t>("float", "i32",
                         "%r = call i32 @llvm.nvvm.f2i.rn(float %a)",
                         std::vector<float>{0.5f, 1.5f, 2.5f, -1.5f, 1e20f}, {},
                         "declare i32 @llvm.nvvm.f2i.rn(float)") ==
        std::vector<int32_t>{0, 2, 2, -2, most});
}

TEST_CASE("minima and maxima of zeros and NaN") {
  std::vector<float> a{0.0f, -0.0f, notANumber, 1.0f, notANumber, 2.0f, -inf};
  std::vector<float> b{-0.0f, 0.0f, 1.0f, notANumber, notANumber, -3.0f, inf};
  auto of = [&](const std::string &name) {
    std::string full = "@llvm." + name + ".f32";
    return compute<float>("float", "float",
                          "%r = call float " + full + "(float %a, float %b)", a,
                          b, "declare float " + full + "(float, float)");
  };
  same(of("minnum"), {-0.0f, -0.0f, 1.0f, 1.0f, notANumber, -3.0f, -inf});
  same(of("maxnum"), {0.0f, 0.0f, 1.0f, 1.0f, notANumber, 2.0f, inf});
  same(of("minimum"),
       {-0.0f, -0.0f, notANumber, notANumber, notANumber, -3.0f, -inf});
  same(of("maximum"),
       {0.0f, 0.0f, notANumber, notANumber, notANumber, 2.0f, inf});
}

TEST_CASE("roundings") {
  std::vector<float> a{0.5f, 1.5f, 2.5f, -0.5f, -2.5f, 1e30f, -0.2f};
  auto of = [&](const std::string &name) {
    std::string full = "@llvm." + name + ".f32";
    return compute<float>("float", "float",
                          "%r = call float " + full + "(float %a)", a, {},
                          "declare float " + full + "(float)");
  };
  same(of("roundeven"), {0.0f, 2.0f, 2.0f, -0.0f, -2.0f, 1e30f, -0.0f});
  same(of("round"), {1.0f, 2.0f, 3.0f, -1.0f, -3.0f, 1e30f, -0.0f});
  same(of("floor"), {0.0f, 1.0f, 2.0f, -1.0f, -3.0f, 1e30f, -1.0f});
  same(of("ceil"), {1.0f, 2.0f, 3.0f, -0.0f, -2.0f, 1e30f, -0.0f});
  same(of("trunc"), {0.0f, 1.0f, 2.0f, -0.0f, -2.0f, 1e30f, -0.0f});
}

TEST_CASE("arithmetic in other rounding modes") {
  auto of = [&](const std::string &name) {
    std::string full = "@llvm.nvvm." + name + ".f";
    return compute<float>(
        "float", "float", "%r = call float " + full + "(float %a, float %b)",
        std::vector<float>{1.0f, -1.0f}, std::vector<float>{1e-10f, -1e-10f},
        "declare float " + full + "(float, float)");
  };
  float above = std::nextafter(1.0f, 2.0f);
  same(of("add.rn"), {1.0f, -1.0f});
  same(of("add.rz"), {1.0f, -1.0f});
  same(of("add.rp"), {above, -1.0f});
  same(of("add.rm"), {1.0f, -above});
}

TEST_CASE("remainders are those of the NVPTX backend") {
  same(compute<float>("float", "float", "%r = frem float %a, %b",
                      std::vector<float>{7.5f, -7.5f, 5.0f, 1.0f},
                      std::vector<float>{2.0f, 2.0f, inf, 0.0f}),
       {1.5f, -1.5f, 5.0f, notANumber});
}

TEST_CASE("approximations, saturation, flushes") {
  auto of = [&](const std::string &call, std::vector<float> values) {
    std::string declaration = call.substr(0, call.find('(')) + "(float)";
    return compute<float>("float", "float", "%r = call " + call, values, {},
                          "declare " + declaration);
  };
  same(of("float @llvm.nvvm.ex2.approx.f(float %a)",
          {3.0f, -1.0f, inf, notANumber}),
       {8.0f, 0.5f, inf, notANumber});
  same(of("float @llvm.nvvm.lg2.approx.f(float %a)", {8.0f, 0.0f, -1.0f}),
       {3.0f, -inf, notANumber});
  same(of("float @llvm.nvvm.rsqrt.approx.f(float %a)", {4.0f, 0.0f}),
       {0.5f, inf});
  same(of("float @llvm.nvvm.rcp.approx.ftz.f(float %a)", {4.0f, 1e-40f}),
       {0.25f, inf});
  same(of("float @llvm.nvvm.saturate.f(float %a)",
          {-1.0f, 0.25f, 7.0f, notANumber}),
       {0.0f, 0.25f, 1.0f, 0.0f});
  same(compute<float>(
           "float", "float",
           "%r = call float asm \"tanh.approx.f32 $0, $1;\", \"=f,f\"(float "
           "%a)",
           std::vector<float>{0.0f, inf, 0.5f}),
       {0.0f, 1.0f, float(std::tanh(0.5))});
}

TEST_CASE("bytes and high products") {
  CHECK(compute<uint32_t>(
            "i32", "i32",
            "%r = call i32 @llvm.nvvm.prmt(i32 %a, i32 %b, i32 33634)"
            "",
            std::vector<uint32_t>{0x03020100u, 0x80ff0081u},
            std::vector<uint32_t>{0x07060504u, 0x11223344u},
            "declare i32 @llvm.nvvm.prmt(i32, i32, i32)") ==
        std::vector<uint32_t>{0x00030602u, 0xff8022ffu});
  CHECK(compute<int32_t>(
            "i32", "i32", "%r = call i32 @llvm.nvvm.mulhi.i(i32 %a, i32 %b)",
            std::vector<int32_t>{-1, 1 << 30}, std::vector<int32_t>{5, 1 << 4},
            "declare i32 @llvm.nvvm.mulhi.i(i32, i32)") ==
        std::vector<int32_t>{-1, 4});
}

TEST_CASE("16-bit floats are rounded once, to nearest even") {
  for (uint32_t format : {SINTER_SIM_F16, SINTER_SIM_BF16}) {
    uint32_t infinity = format == SINTER_SIM_F16 ? 0x7c00 : 0x7f80;
    for (uint32_t bits = 0; bits < infinity; ++bits) {
      float low = widen(format, bits), high = widen(format, bits + 1);
      REQUIRE(narrow(format, SINTER_SIM_NEAREST, low) == bits);
      REQUIRE(narrow(format, SINTER_SIM_NEAREST, -low) == (bits | 0x8000));
      if (bits + 1 == infinity)
        continue;
      double middle = (double(low) + double(high)) / 2;
      REQUIRE(narrow(format, SINTER_SIM_NEAREST, middle) == bits + (bits & 1));
      double above = std::nextafter(middle, 1e300);
      REQUIRE(narrow(format, SINTER_SIM_NEAREST, above) == bits + 1);
      REQUIRE(narrow(format, SINTER_SIM_TO_ZERO, above) == bits);
      REQUIRE(narrow(format, SINTER_SIM_UP, middle) == bits + 1);
      REQUIRE(narrow(format, SINTER_SIM_DOWN, middle) == bits);
    }
    CHECK(narrow(format, SINTER_SIM_NEAREST, 1e300) == infinity);
    CHECK(narrow(format, SINTER_SIM_TO_ZERO, 1e300) == infinity - 1);
    CHECK(narrow(format, SINTER_SIM_NEAREST, notANumber) == 0x7fff);
    CHECK(std::isnan(widen(format, 0x7fff)));
    CHECK(widen(format, infinity) == inf);
  }
}

TEST_CASE("arithmetic of 16-bit floats in a kernel") {
  auto half = [](double value) {
    return uint16_t(narrow(SINTER_SIM_F16, SINTER_SIM_NEAREST, value));
  };
  auto bfloat = [](double value) {
    return uint16_t(narrow(SINTER_SIM_BF16, SINTER_SIM_NEAREST, value));
  };
  std::vector<uint16_t> a{half(1.5), half(2048), half(-0.25), half(60000)};
  std::vector<uint16_t> b{half(2.5), half(1), half(3), half(60000)};
  CHECK(compute<uint16_t>("half", "half", "%r = fadd half %a, %b", a, b) ==
        std::vector<uint16_t>{half(4), half(2048), half(2.75), half(inf)});
  CHECK(
      compute<uint16_t>("half", "half", "%r = fneg half %a", a) ==
      std::vector<uint16_t>{half(-1.5), half(-2048), half(0.25), half(-60000)});
  same(compute<float>("half", "float", "%r = fpext half %a to float", a),
       {1.5f, 2048.0f, -0.25f, 60000.0f});
  CHECK(compute<uint16_t>(
            "float", "bfloat", "%r = fptrunc float %a to bfloat",
            std::vector<float>{1.00390625f, 1.01171875f, notANumber}) ==
        std::vector<uint16_t>{bfloat(1), bfloat(1.015625), 0x7fff});
  // a * b is exactly half way between two halfs; c decides.
  CHECK(compute<uint16_t>(
            "half", "half",
            "%r = call half @llvm.fma.f16(half %a, half 1.0, half %b)",
            std::vector<uint16_t>{half(2048), half(2048)},
            std::vector<uint16_t>{half(1), half(1.0009765625)},
            "declare half @llvm.fma.f16(half, half, half)") ==
        std::vector<uint16_t>{half(2048), half(2050)});
  // Two at a time.
  CHECK(compute<uint32_t>(
            "<2 x half>", "<2 x half>", "%r = fmul <2 x half> %a, %b",
            std::vector<uint32_t>{half(3) | uint32_t(half(-2)) << 16},
            std::vector<uint32_t>{half(0.5) | uint32_t(half(8)) << 16}) ==
        std::vector<uint32_t>{half(1.5) | uint32_t(half(-16)) << 16});
}

TEST_CASE("an fma of halfs has no second rounding") {
  // 2049 * 1 lies between 2048 and 2050; a tiny addend decides.
  auto half = [](double value) {
    return narrow(SINTER_SIM_F16, SINTER_SIM_NEAREST, value);
  };
  double tiny = std::ldexp(1.0, -24);
  // 683 * 3 = 2049.
  CHECK(fmaHalf(SINTER_SIM_F16, half(683), half(3), half(0)) == half(2048));
  CHECK(fmaHalf(SINTER_SIM_F16, half(683), half(3), half(tiny)) == half(2050));
  CHECK(fmaHalf(SINTER_SIM_F16, half(683), half(3), half(-tiny)) == half(2048));
  // 2051 = 2050 + 1: to even is 2052.
  CHECK(fmaHalf(SINTER_SIM_F16, half(293), half(7), half(0)) == half(2052));
  CHECK(fmaHalf(SINTER_SIM_F16, half(293), half(7), half(-tiny)) == half(2050));
}
