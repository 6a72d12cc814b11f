//===- LinkedDevices.cpp - the devices of these tests ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuDevice.h"
#include "backends/cuda/device/CudaDevice.h"
#include "test/runtime/FakeDriver.h"

// cuda:N belongs to the stand-in driver while a test has one.
void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
  cpu::registerCpuDevice(registry);
  DeviceRegistry real;
  cuda::registerCudaDevices(real);
  DeviceKind kind = real.kinds().front();
  kind.create = [create = kind.create](int ordinal,
                                       const DeviceOptions &options) {
    test::FakeDriver *fake = test::FakeDriver::current();
    return fake ? cuda::createCudaDevice(fake->table(), ordinal, options)
                : create(ordinal, options);
  };
  registry.add(kind);
}
