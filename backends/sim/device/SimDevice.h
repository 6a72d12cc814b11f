//===- SimDevice.h - simulated CUDA devices ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H
#define SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H

#include "runtime/device/Registry.h"

namespace sinter::sim {

/// Adds the devices "sim:0" to "sim:7".
void registerSimDevices(rt::DeviceRegistry &registry);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SIMDEVICE_H
