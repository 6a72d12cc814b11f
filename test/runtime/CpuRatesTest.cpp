//===- CpuRatesTest.cpp - the rates of a CPU and their cache --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Which rates there are, never how high they are: that depends on who else uses
// the machine.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuDevice.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/CpuProbe.h"
#include "runtime/base/File.h"
#include "runtime/base/RecordedCpus.h"
#include "test/runtime/TestFiles.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>

using namespace sinter::rt;

namespace {

CpuId someCpu() {
  CpuId cpu;
  cpu.vendor = "GenuineExample";
  cpu.name = "A CPU";
  cpu.family = 25;
  cpu.model = 17;
  cpu.l1Bytes = 32 << 10;
  return cpu;
}

CpuRates someRates() {
  CpuRates rates;
  rates.source = "measured on 2026-03-31";
  rates[CpuRate::Fp32] = 100e9;
  rates[CpuRate::Bf16] = 200e9;
  rates[CpuRate::L1] = 0.1 + 3e11;
  return rates;
}

} // namespace

TEST_CASE("cpu id: the level 3 that one core reaches", "[cpu]") {
  // As Linux says it, in KiB: of AMD, that of a complex and not of the socket.
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  uint64_t kibibytes = 0;
  if (file >> kibibytes)
    REQUIRE(hostCpuId().l3Bytes <= kibibytes << 10);
}

TEST_CASE("cpu rates: what the CPU can do is measured, and only that",
          "[cpu]") {
  CpuRates rates = probeCpu(hostCpuId());
  for (const CpuRateTraits &row : cpuRateTraits()) {
    INFO(row.name);
    if (rates[row.rate])
      REQUIRE((std::isfinite(*rates[row.rate]) && *rates[row.rate] > 0));
  }
#if defined(__x86_64__)
  REQUIRE(rates[CpuRate::Fp32].has_value());
  REQUIRE(rates[CpuRate::Memory].has_value());
  REQUIRE(rates[CpuRate::MemoryFill].has_value());
  REQUIRE(rates[CpuRate::MemoryCopy].has_value());
  REQUIRE(rates[CpuRate::Bf16].has_value() ==
          checkCpuFeatures("+avx512bf16").ok());
  REQUIRE(rates[CpuRate::Fp16].has_value() ==
          checkCpuFeatures("+avx512fp16").ok());
  // The system may refuse the tiles.
  if (!checkCpuFeatures("+amx-bf16").ok())
    REQUIRE_FALSE(rates[CpuRate::Bf16Tiles].has_value());
#endif
}

TEST_CASE("cpu rates: the unit for bf16 follows classes", "[cpu]") {
  CpuRates rates;
  REQUIRE(bf16Unit(rates) == Bf16Unit::Widened);
  rates[CpuRate::Bf16] = 100e9;
  REQUIRE(bf16Unit(rates) == Bf16Unit::Widened);
  rates[CpuRate::Fp32] = 100e9;
  REQUIRE(bf16Unit(rates) == Bf16Unit::Widened);
  rates[CpuRate::Bf16] = 140e9;
  REQUIRE(bf16Unit(rates) == Bf16Unit::Widened);
  rates[CpuRate::Bf16] = 190e9;
  REQUIRE(bf16Unit(rates) == Bf16Unit::Dot);
  rates[CpuRate::Bf16Tiles] = 800e9;
  REQUIRE(bf16Unit(rates) == Bf16Unit::Tiles);
}

TEST_CASE("cpu rates: the best of two measurements is kept", "[cpu]") {
  CpuRates known = someRates(), fresh = someRates();
  fresh.source = "measured on 2026-04-01";
  fresh[CpuRate::Fp32] = 104e9;
  fresh[CpuRate::Bf16] = 150e9;
  REQUIRE(bestOf(known, fresh).perSecond == known.perSecond);
  REQUIRE(bestOf(known, fresh).source == known.source);
  fresh[CpuRate::Fp32] = 106e9;
  fresh[CpuRate::L2] = 50e9;
  CpuRates best = bestOf(known, fresh);
  REQUIRE(best.source == fresh.source);
  REQUIRE(best[CpuRate::Fp32] == 106e9);
  REQUIRE(best[CpuRate::Bf16] == 200e9);
  REQUIRE(best[CpuRate::L2] == 50e9);
}

TEST_CASE("cpu rates: the cache returns what was stored", "[cpu]") {
  testfiles::TempFolder dir;
  CpuRateCache cache(dir / "new/cpu");
  REQUIRE_FALSE(cache.find(someCpu()));
  REQUIRE(cache.store(someCpu(), someRates()).ok());
  auto found = cache.find(someCpu());
  REQUIRE(found);
  REQUIRE(found->perSecond == someRates().perSecond);
  REQUIRE(found->source == someRates().source);
  CpuId other = someCpu();
  other.stepping = 1;
  REQUIRE_FALSE(cache.find(other));
  other = someCpu();
  other.l1Bytes = 48 << 10;
  REQUIRE_FALSE(cache.find(other));
}

TEST_CASE("cpu rates: a bad file counts as missing", "[cpu]") {
  testfiles::TempFolder dir;
  CpuRateCache cache(dir / "cpu");
  REQUIRE(cache.store(someCpu(), someRates()).ok());
  const std::string path = cache.pathOf(someCpu()),
                    good = testfiles::read(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    REQUIRE(writeFileAtomic(path, bad).ok());
    CAPTURE(i);
    REQUIRE_FALSE(cache.find(someCpu()));
    REQUIRE(writeFileAtomic(path, good.substr(0, i)).ok());
    REQUIRE_FALSE(cache.find(someCpu()));
  }
  // The file of another CPU, and of another version of the probe.
  CpuId other = someCpu();
  other.model = 18;
  REQUIRE(writeFileAtomic(cache.pathOf(other), good).ok());
  REQUIRE_FALSE(cache.find(other));
  REQUIRE(cache.store(someCpu(), someRates()).ok());
  REQUIRE(cache.find(someCpu()));
}

TEST_CASE("cpu rates: without a folder nothing is stored", "[cpu]") {
  REQUIRE_FALSE(CpuRateCache("").find(someCpu()));
  REQUIRE_FALSE(CpuRateCache("").store(someCpu(), someRates()).ok());
  testfiles::TempFolder dir;
  REQUIRE(writeFileAtomic(dir / "file", std::string("x")).ok());
  CpuRateCache blocked(dir / "file/cpu");
  REQUIRE_FALSE(blocked.store(someCpu(), someRates()).ok());
  REQUIRE_FALSE(blocked.find(someCpu()));
}

TEST_CASE("cpu rates: recorded CPUs", "[cpu]") {
  REQUIRE(recordedCpu("native") == nullptr);
  REQUIRE(recordedCpu("") == nullptr);
  for (const RecordedCpu &cpu : recordedCpus()) {
    INFO(cpu.name);
    REQUIRE(recordedCpu(cpu.name) == &cpu);
    CpuRates rates = cpu.rates();
    REQUIRE(rates[CpuRate::Fp32].has_value());
    REQUIRE(rates[CpuRate::Memory].has_value());
    REQUIRE(rates.source.find(cpu.name) != std::string::npos);
  }
  REQUIRE(bf16Unit(recordedCpu("sapphirerapids")->rates()) == Bf16Unit::Tiles);
  REQUIRE(bf16Unit(recordedCpu("znver4")->rates()) == Bf16Unit::Dot);
  REQUIRE(bf16Unit(recordedCpu("znver3")->rates()) == Bf16Unit::Widened);
  REQUIRE(recordedCpu("znver4")->rates()[CpuRate::Fp32] == 32 * 2.4e9);
}
