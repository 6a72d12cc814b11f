//===- LinkedDevices.cpp - the devices of these tests ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

namespace sinter::rt {
class DeviceRegistry;
void registerLinkedDevices(DeviceRegistry &registry);
} // namespace sinter::rt

/// These tests create no device.
void sinter::rt::registerLinkedDevices(DeviceRegistry &) {}
