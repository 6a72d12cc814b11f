//===- CpuFeatures.h - this CPU's features by LLVM's names ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An artifact lists what its code needs in an LLVM feature string. Whether the
// CPU has it follows from CPUID and from the register state that the operating
// system saves, never from the name of the CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_CPUFEATURES_H
#define SINTER_RUNTIME_BASE_CPUFEATURES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sinter::rt {

/// Succeeds if this CPU has every feature in `features`, which is written as
/// "+avx2,+fma,-avx512f,..." ("" asks for nothing; "-x" entries and tuning
/// hints are ignored). The error names all missing features in one line. A
/// feature that this runtime does not know counts as missing.
Status checkCpuFeatures(const char *features);

/// Asks the operating system for AMX's tile registers, which a process may use
/// only with its permission. Every thread has it then. False if it refuses.
bool requestTileRegisters();

/// The known features that this CPU has, in CPUID order.
std::vector<std::string> cpuFeatures();

/// The CPU's own name for reports ("unknown" when it has none).
std::string cpuModelName();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CPUFEATURES_H
