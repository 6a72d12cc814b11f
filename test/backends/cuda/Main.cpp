//===- Main.cpp - entry of the tests of CUDA's libraries ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

namespace sinter::rt {
class DeviceRegistry;
void registerLinkedDevices(DeviceRegistry &registry);
} // namespace sinter::rt

/// These tests create no device.
void sinter::rt::registerLinkedDevices(DeviceRegistry &) {}
