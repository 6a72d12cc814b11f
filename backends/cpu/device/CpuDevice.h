//===- CpuDevice.h - programs on this machine's CPU -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Generated kernels run as tiles on the process-wide thread pool; contractions
// go to oneDNN (CpuLibrary.h). When a call returns, its work is done.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CPUDEVICE_H
#define SINTER_BACKENDS_CPU_DEVICE_CPUDEVICE_H

#include "runtime/collective/Exchange.h"
#include "runtime/device/Registry.h"

#include <string>
#include <vector>

namespace sinter::cpu {

/// Adds the device "cpu". `makeExchange` connects the processes of a job; null
/// if there cannot be several.
void registerCpuDevice(rt::DeviceRegistry &registry,
                       const rt::MakeExchange &makeExchange = nullptr);

/// A CPU device that uses `threads` threads of the shared pool; 0 means one per
/// available CPU. Fails if `threads` is out of range or the system refuses. Of
/// `options`, it reads what is about memory.
rt::Result<std::unique_ptr<rt::Device>>
createCpuDevice(int threads, const rt::DeviceOptions &options = {});

/// Name, number of CPUs, caches, features, the rates of one core and when they
/// were measured. Measures this machine and keeps the best rates of all
/// measurements (CpuRates.h).
std::vector<rt::DeviceFact> describeCpu();

/// For `doctor`: tries a small contraction with a known result, then returns
/// one line each about the CPU, its features, the available CPUs and the
/// contraction library. Fails with one line if the contraction goes wrong.
rt::Result<std::vector<std::string>> selfCheck();

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CPUDEVICE_H
