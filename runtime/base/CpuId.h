//===- CpuId.h - which CPU this is ------------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_CPUID_H
#define SINTER_RUNTIME_BASE_CPUID_H

#include <cstdint>
#include <string>

namespace sinter::rt {

/// Identifies a model of CPU as a process sees it. For reports and as the key
/// of measurements; no code is chosen by it.
struct CpuId {
  std::string vendor; // "GenuineIntel", "AuthenticAMD"; "" if unknown
  std::string name;   // the CPU's own name, "unknown" when it has none
  uint32_t family = 0, model = 0, stepping = 0;
  int cpus = 0; // that this process may run on
  /// Sizes of the data caches that one core reaches; 0 if unknown or missing.
  uint64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;

  /// One line: name, vendor, family, model, stepping.
  std::string text() const;
};

/// The CPU that the process runs on. Reads files.
CpuId hostCpuId();
/// Its l2Bytes, which are asked for once.
uint64_t hostL2Bytes();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CPUID_H
