//===- CpuFeatures.h - what this CPU can do, in LLVM's words ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An artifact says what its code needs as an LLVM feature string. This decides
// by CPUID and by the register state that the operating system saves, never by
// the name of the CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_CPUFEATURES_H
#define SINTER_RUNTIME_BASE_CPUFEATURES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sinter::rt {

/// Succeeds when this CPU has every feature that `features` asks for, written
/// as
/// "+avx2,+fma,-avx512f,..." ("" asks for nothing; "-x" entries and tuning
/// hints are ignored). The error names all that lack, in one line. A feature
/// that this runtime does not know counts as lacking.
Status checkCpuFeatures(const char *features);

/// The known features that this CPU has, in CPUID order.
std::vector<std::string> cpuFeatures();

/// The CPU's own name for reports ("unknown" when it has none).
std::string cpuModelName();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CPUFEATURES_H
