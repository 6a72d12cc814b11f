//===- CpuId.cpp - which CPU this is --------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Family, model and stepping: Intel SDM volume 2A, CPUID leaf 1; AMD computes
// them in the same way. The C library reads the sizes of the caches from CPUID.
// Of AMD's level 3 it gives that of the whole socket. A core reaches the part
// of its own complex, which leaf 8000001D describes (AMD64 Architecture
// Programmer's Manual, volume 3, appendix E; its form is that of Intel's leaf
// 4).
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuId.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace sinter::rt;

static uint64_t cacheBytes(int name) {
  return static_cast<uint64_t>(std::max(0l, ::sysconf(name)));
}

#if defined(__x86_64__)
/// The level 3 that a core of AMD reaches; 0 if the CPU does not tell.
static uint64_t l3BytesOfAmd() {
  constexpr uint32_t leaf = 0x8000001d, mostCaches = 8;
  for (uint32_t i = 0; i < mostCaches; ++i) {
    uint32_t a, b, sets, d;
    if (!__get_cpuid_count(leaf, i, &a, &b, &sets, &d) || (a & 31) == 0)
      return 0;
    const uint64_t ways = (b >> 22) + 1, partitions = (b >> 12 & 1023) + 1,
                   lineBytes = (b & 4095) + 1;
    if ((a >> 5 & 7) == 3)
      return ways * partitions * lineBytes * (uint64_t(sets) + 1);
  }
  return 0;
}
#endif

CpuId sinter::rt::hostCpuId() {
  CpuId id;
  id.name = cpuModelName();
  id.cpus = availableCpus();
  id.l1Bytes = cacheBytes(_SC_LEVEL1_DCACHE_SIZE);
  id.l2Bytes = hostL2Bytes();
  id.l3Bytes = cacheBytes(_SC_LEVEL3_CACHE_SIZE);
#if defined(__x86_64__)
  uint32_t a, b, c, d;
  if (__get_cpuid(0, &a, &b, &c, &d)) {
    char text[12];
    std::memcpy(text, &b, 4);
    std::memcpy(text + 4, &d, 4);
    std::memcpy(text + 8, &c, 4);
    id.vendor.assign(text, 12);
  }
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    uint32_t family = a >> 8 & 15, model = a >> 4 & 15;
    id.family = family == 15 ? family + (a >> 20 & 255) : family;
    id.model =
        family == 6 || family == 15 ? (a >> 16 & 15) << 4 | model : model;
    id.stepping = a & 15;
  }
  if (id.vendor == "AuthenticAMD")
    if (const uint64_t bytes = l3BytesOfAmd())
      id.l3Bytes = bytes;
#endif
  return id;
}

uint64_t sinter::rt::hostL2Bytes() {
  static const uint64_t bytes = cacheBytes(_SC_LEVEL2_CACHE_SIZE);
  return bytes;
}

std::string CpuId::text() const {
  return name + " (" + (vendor.empty() ? "unknown vendor" : vendor) +
         ", family " + std::to_string(family) + ", model " +
         std::to_string(model) + ", stepping " + std::to_string(stepping) + ")";
}
