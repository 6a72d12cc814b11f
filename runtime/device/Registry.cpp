//===- Registry.cpp - the devices of a process ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Registry.h"

#include <charconv>

using namespace sinter::rt;

void DeviceRegistry::add(DeviceKind kind) { kinds_.push_back(std::move(kind)); }

std::string sinter::rt::deviceKindOf(const std::string &name) {
  return name.substr(0, name.find(':'));
}

/// The N of "KIND:N"; 0 without one, -1 if it is not a number.
static int ordinalOf(const std::string &name) {
  size_t colon = name.find(':');
  if (colon == std::string::npos)
    return 0;
  int ordinal = -1;
  const char *end = name.data() + name.size();
  auto [last, error] = std::from_chars(name.data() + colon + 1, end, ordinal);
  return error == std::errc() && last == end ? ordinal : -1;
}

Result<const DeviceKind *>
DeviceRegistry::kindOf(const std::string &name) const {
  std::string known, wanted = deviceKindOf(name);
  for (const DeviceKind &kind : kinds_) {
    known +=
        (known.empty() ? "" : ", ") + kind.name + (kind.isNumbered ? ":N" : "");
    if (kind.name != wanted)
      continue;
    int ordinal = ordinalOf(name);
    if (ordinal < 0 || (!kind.isNumbered && ordinal != 0))
      return Status::invalid("there is no device '" + name + "'; expected " +
                             kind.name + (kind.isNumbered ? ":N" : ""));
    return &kind;
  }
  return Status::invalid("there is no device '" + name + "'; this binary has " +
                         (known.empty() ? "none" : known));
}

Status DeviceRegistry::checkName(const std::string &name) const {
  return kindOf(name).status();
}

Result<std::unique_ptr<Device>>
DeviceRegistry::create(const std::string &name,
                       const DeviceOptions &options) const {
  Result<const DeviceKind *> kind = kindOf(name);
  if (!kind.ok())
    return kind.status();
  return (*kind)->create(ordinalOf(name), options);
}

Status DeviceRegistry::nameGroup(const std::string &name,
                                 const GroupRequest &request,
                                 uint8_t *group) const {
  Result<const DeviceKind *> kind = kindOf(name);
  if (!kind.ok())
    return kind.status();
  if (!(*kind)->nameGroup)
    return {SINTER_UNSUPPORTED,
            "devices '" + (*kind)->name + "' cannot work as replicas"};
  return (*kind)->nameGroup(request, group);
}

bool DeviceRegistry::isNumbered(const std::string &name) const {
  Result<const DeviceKind *> kind = kindOf(name);
  return kind.ok() && (*kind)->isNumbered;
}

bool DeviceRegistry::sumsOnHost(const std::string &name) const {
  Result<const DeviceKind *> kind = kindOf(name);
  return kind.ok() && (*kind)->sumsOnHost;
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
