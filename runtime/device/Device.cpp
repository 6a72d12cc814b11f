//===- Device.cpp - what runs programs, and how it is found ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Device.h"

using namespace sinter::rt;

Device::~Device() = default;
Library::~Library() = default;
LibraryCall::~LibraryCall() = default;

void DeviceRegistry::add(std::string name, DeviceFactory factory) {
  entries_.push_back({std::move(name), std::move(factory)});
}

Result<std::unique_ptr<Device>> DeviceRegistry::create(const std::string &name,
                                                       int threads) const {
  std::string known;
  for (const Entry &entry : entries_) {
    if (entry.name == name)
      return entry.factory(threads);
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  return Status::invalid("there is no device '" + name + "'; this binary has " +
                         (known.empty() ? "none" : known));
}

std::vector<std::string> DeviceRegistry::names() const {
  std::vector<std::string> names;
  for (const Entry &entry : entries_)
    names.push_back(entry.name);
  return names;
}

const DeviceRegistry &sinter::rt::linkedDevices() {
  // A function-local static is initialised once, by the first caller.
  static const DeviceRegistry *registry = [] {
    auto *filled = new DeviceRegistry;
    registerLinkedDevices(*filled);
    return filled;
  }();
  return *registry;
}
