//===- SimDevice.h - simulated CUDA devices ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Devices with their own memory and asynchronous streams. They run kernels for
// CUDA on the CPU (Engine.h) and contractions by stand-ins for CUDA's
// libraries. For tests: what would silently go wrong on a GPU is an error here.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H
#define SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H

#include "backends/sim/device/SimSettings.h"
#include "runtime/collective/Exchange.h"
#include "runtime/device/Registry.h"

namespace sinter::sim {

/// The number of simulated devices.
inline constexpr int numSimDevices = 8;

/// Adds the devices "sim:0" to "sim:7". They read SINTER_SIM. `makeExchange`
/// connects the processes of a job; null if there cannot be several.
void registerSimDevices(rt::DeviceRegistry &registry,
                        const rt::MakeExchange &makeExchange = nullptr);

rt::Result<std::unique_ptr<rt::Device>>
createSimDevice(int ordinal, const SimSettings &settings);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H
