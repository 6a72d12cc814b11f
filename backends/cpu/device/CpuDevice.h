//===- CpuDevice.h - programs on this machine's CPU -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Generated kernels run as tiles on the process-wide thread pool; contractions
// go to oneDNN (OneDnnLibrary.h). Everything has finished when a call returns.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CPUDEVICE_H
#define SINTER_BACKENDS_CPU_DEVICE_CPUDEVICE_H

#include "runtime/device/Registry.h"

#include <string>
#include <vector>

namespace sinter::cpu {

/// Adds the device "cpu".
void registerCpuDevice(rt::DeviceRegistry &registry);

/// A CPU device that uses `threads` threads of the shared pool; 0 means one per
/// available CPU. Fails when `threads` is out of range or the system refuses.
/// `memoryLimitBytes` 0: as much as there is.
rt::Result<std::unique_ptr<rt::Device>>
createCpuDevice(int threads, uint64_t memoryLimitBytes = 0);

/// For `doctor`: one line each on the CPU, its features, the available CPUs and
/// the contraction library, after trying a small contraction whose result is
/// known. Fails with one line when that goes wrong.
rt::Result<std::vector<std::string>> selfCheck();

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CPUDEVICE_H
