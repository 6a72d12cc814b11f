//===- CpuFeaturesTest.cpp - CPUID in LLVM's words ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuFeatures.h"
#include "backends/cpu/device/CpuDevice.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;

TEST_CASE("cpu features: what this CPU has is accepted", "[cpu]") {
  REQUIRE(checkCpuFeatures("").ok());
  REQUIRE(checkCpuFeatures(nullptr).ok());
  REQUIRE(checkCpuFeatures("-avx512f,-no-such-thing").ok());
  REQUIRE(checkCpuFeatures("+x87,+prefer-256-bit,+slow-3ops-lea").ok());
  std::string all;
  for (const std::string &feature : cpuFeatures())
    all += "+" + feature + ",";
  REQUIRE_FALSE(all.empty());
  REQUIRE(checkCpuFeatures(all.c_str()).ok());
#if defined(__x86_64__)
  REQUIRE(checkCpuFeatures("+cx8,+sse2,+64bit").ok());
#endif
}

TEST_CASE("cpu features: all that lack are named in one line", "[cpu]") {
  Status status = checkCpuFeatures("+sse2,+warp-drive,-sse3,+flux,");
  REQUIRE(status.code() == SINTER_DEVICE_FAILED);
  REQUIRE(status.message().find("lacks warp-drive, flux,") !=
          std::string::npos);
  REQUIRE(status.message().find('\n') == std::string::npos);
}

TEST_CASE("cpu features: the compiler's builtins agree", "[cpu]") {
#if defined(__x86_64__)
  __builtin_cpu_init();
  REQUIRE(checkCpuFeatures("+avx2").ok() ==
          bool(__builtin_cpu_supports("avx2")));
  REQUIRE(checkCpuFeatures("+fma").ok() == bool(__builtin_cpu_supports("fma")));
  REQUIRE(checkCpuFeatures("+bmi2").ok() ==
          bool(__builtin_cpu_supports("bmi2")));
  REQUIRE(checkCpuFeatures("+avx512f").ok() ==
          bool(__builtin_cpu_supports("avx512f")));
  REQUIRE(checkCpuFeatures("+avx512vl").ok() ==
          bool(__builtin_cpu_supports("avx512vl")));
  REQUIRE(checkCpuFeatures("+popcnt").ok() ==
          bool(__builtin_cpu_supports("popcnt")));
#endif
}

TEST_CASE("cpu device: the self check passes and reports", "[cpu]") {
  auto lines = sinter::cpu::selfCheck();
  INFO(lines.status().message());
  REQUIRE(lines.ok());
  REQUIRE(lines->size() >= 4);
  REQUIRE((*lines)[2].find("oneDNN") != std::string::npos);
}
