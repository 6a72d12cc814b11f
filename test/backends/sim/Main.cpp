//===- Main.cpp - runs the tests of the simulated device ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "backends/sim/device/SimDevice.h"

void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
  sim::registerSimDevices(registry);
}
