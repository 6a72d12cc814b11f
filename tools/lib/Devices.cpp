//===- Devices.cpp - what programs run on ---------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Linked into sinter-run, into every trainer and into every inference library.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/device/CpuDevice.h"
#include "backends/cuda/device/CudaDevice.h"
#include "backends/sim/device/SimDevice.h"

void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
  cpu::registerCpuDevice(registry);
  cuda::registerCudaDevices(registry);
  sim::registerSimDevices(registry);
}
