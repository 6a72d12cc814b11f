//===- Main.cpp - the unit tests of the run tower -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "backends/cpu/device/CpuDevice.h"

void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
  cpu::registerCpuDevice(registry);
}
