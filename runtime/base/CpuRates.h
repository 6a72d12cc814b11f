//===- CpuRates.h - how fast one core of a CPU is ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What an instruction set is good for differs from chip to chip: products of
// bf16 by vdpbf16ps are twice as fast as fp32 on one CPU that has them, and no
// faster on another. So the CPU of this machine is measured (CpuProbe.h), once,
// and the rates are kept in the user's cache. For a CPU that code is compiled
// for by name, RecordedCpus.h holds rates.
//
// A measured number changes from run to run, so none may decide directly: the
// same flags must give the same bytes, and a run the same bits as the one
// before. A choice may ask only for a class with wide margins that no noise
// crosses, such as bf16Unit(): the ratios on either side of its limit of 1.5
// are 1 and 2. The compiler makes no choice that depends on the rates of the
// machine that it runs on. The choice of the unit for 16-bit products is made
// where a program is loaded, because it depends on the CPU there.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_CPURATES_H
#define SINTER_RUNTIME_BASE_CPURATES_H

#include "runtime/base/CpuId.h"
#include "runtime/base/Status.h"

#include <array>
#include <optional>
#include <span>
#include <string>

namespace sinter::rt {

/// Of one core. A multiply-add is two operations.
enum class CpuRate : uint8_t {
  Fp32,      // multiply-adds of fp32 in the widest vectors
  Bf16,      // products of bf16 added to fp32 (vdpbf16ps)
  Bf16Tiles, // the same in AMX (tdpbf16ps)
  Fp16,      // multiply-adds of fp16 (AVX512-FP16)
  Int8,      // products of int8 added to int32 (vpdpbusd)
  Int8Tiles, // the same in AMX (tdpbusd)
  L1,        // reads of data in the cache of level 1
  L1Fill,    // writes to it
  L2,        // of level 2
  L2Fill,
  L3, // of level 3
  L3Fill,
  Memory,     // reads of data that no cache holds
  MemoryFill, // writes that bypass the caches
  MemoryCopy, // both; read and written bytes are counted
};
inline constexpr size_t kCpuRates = 15;

struct CpuRateTraits {
  CpuRate rate;
  const char *name; // in the cache's files: letters, digits and '-'
  const char *text; // for people
  const char *unit; // of 1e9 in a second: "GFLOP/s", "GOP/s", "GB/s"
};
/// All rates, in the order of the enumeration.
std::span<const CpuRateTraits> cpuRateTraits();

struct CpuRates {
  /// Operations or bytes in a second; nothing if the CPU cannot do that.
  std::array<std::optional<double>, kCpuRates> perSecond;
  /// "measured on 2026-03-31", "recorded for znver4".
  std::string source;

  std::optional<double> operator[](CpuRate rate) const {
    return perSecond[static_cast<size_t>(rate)];
  }
  std::optional<double> &operator[](CpuRate rate) {
    return perSecond[static_cast<size_t>(rate)];
  }
  /// `rate` as a multiple of fp32's; 0 if either is missing.
  double timesFp32(CpuRate rate) const;
};

/// What multiplies bf16 fastest. `Widened` means: as fp32.
enum class Bf16Unit { Widened, Dot, Tiles };

/// The unit to use, by class: Tiles or Dot if their rate is at least 1.5 times
/// that of fp32, the faster one of the two if both are.
Bf16Unit bf16Unit(const CpuRates &rates);
/// "fp32", "vdpbf16ps" or "AMX".
const char *nameOf(Bf16Unit unit);

/// Keeps rates in a file for each CPU, below `folder`. A damaged file, one of
/// another CPU and one of another version of the probe count as missing.
class CpuRateCache {
public:
  /// Empty: nothing is found or stored.
  explicit CpuRateCache(std::string folder) : folder_(std::move(folder)) {}

  std::optional<CpuRates> find(const CpuId &cpu) const;
  /// Replaces the file atomically. An error is for information: nothing else
  /// depends on it.
  Status store(const CpuId &cpu, const CpuRates &rates) const;

  std::string pathOf(const CpuId &cpu) const;

private:
  const std::string folder_;
};

/// `known` with each rate that `fresh` exceeds by more than 5 percent, or that
/// is new, replaced by that of `fresh`: a busy machine only makes a measurement
/// lower. The source is that of `fresh` if anything was replaced.
CpuRates bestOf(const CpuRates &known, const CpuRates &fresh);

/// The rates of this machine: those in the user's cache, else measured and
/// stored there. The same ones for the lifetime of the process; the first call
/// may take some 30 ms. No rate if the probe does not know this kind of CPU.
const CpuRates &hostCpuRates();

/// Measures this machine again and stores the best rates of all measurements so
/// far. What hostCpuRates() has returned stays as it is.
CpuRates measureHostCpuAgain();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CPURATES_H
