//===- LinkedDevices.cpp - the devices of these tests ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/device/SimDevice.h"

void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
  sim::registerSimDevices(registry);
}
