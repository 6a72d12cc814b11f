//===- SimDevice.h - simulated CUDA devices ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Devices with memory of their own and asynchronous streams that run kernels
// for CUDA on the CPU (Engine.h) and contractions by stand-ins for CUDA's
// libraries. For tests: what a GPU would do wrong silently is an error here.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H
#define SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H

#include "backends/sim/device/SimSettings.h"
#include "runtime/device/Registry.h"

namespace sinter::sim {

/// How many devices there are.
inline constexpr int numSimDevices = 8;

/// Adds the devices "sim:0" to "sim:7". They read SINTER_SIM.
void registerSimDevices(rt::DeviceRegistry &registry);

rt::Result<std::unique_ptr<rt::Device>>
createSimDevice(int ordinal, const SimSettings &settings);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H
