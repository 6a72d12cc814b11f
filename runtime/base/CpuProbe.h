//===- CpuProbe.h - measures one core of this CPU ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_CPUPROBE_H
#define SINTER_RUNTIME_BASE_CPUPROBE_H

#include "runtime/base/CpuRates.h"

namespace sinter::rt {

/// Changes when the same CPU would get other rates.
inline constexpr int cpuProbeVersion = 3;

/// Measures the rates of the core that runs the calling thread, in some 40 ms,
/// with 17 MiB of memory. `cpu` tells the sizes of the caches. Each rate is the
/// best of several rounds of a fraction of a millisecond; the rounds of all
/// instruction sets take turns, so that another process slows none of them
/// alone. An instruction runs only if CPUID and the operating system offer it.
/// For AMX, the process requests the tile registers from the kernel. The result
/// omits rates that this CPU or the kernel does not support.
CpuRates probeCpu(const CpuId &cpu);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CPUPROBE_H
