//===- Registry.h - the devices of a process --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_REGISTRY_H
#define SINTER_RUNTIME_DEVICE_REGISTRY_H

#include "runtime/device/Device.h"

#include <functional>
#include <optional>

namespace sinter::rt {

struct GroupRequest;

/// What is known about a device. As text it is the line "name: text" and those
/// of the parts that have text. As JSON it is an object of the parts, if there
/// are any, else the number, else the text. If the parts have text, that of the
/// whole says where they come from.
struct DeviceFact {
  std::string name, text;
  std::optional<double> number; // bytes, or operations or bytes in a second
  std::vector<DeviceFact> parts = {};
};

/// A kind of device. Nothing is opened before one of its functions is called.
struct DeviceKind {
  std::string name; // "cuda"
  /// True when devices are numbered: "cuda:0".
  bool isNumbered = false;
  /// How many there are; fails with one line if they cannot be used at all (no
  /// driver).
  std::function<Result<int>()> count;
  /// Opens device `ordinal`, which may be out of range.
  std::function<Result<std::unique_ptr<Device>>(int ordinal,
                                                const DeviceOptions &options)>
      create;
  /// Writes the name of a new group of replicas (SINTER_GROUP_BYTES) for
  /// Device::joinGroup; null if this kind has no replicas. In a job of several
  /// processes, all of them call this.
  std::function<Status(const GroupRequest &request, uint8_t *group)> nameGroup =
      nullptr;
  /// Name and version of the vendor's library that runs commands of a kind
  /// (sinter_command_kind), "cuBLASLt 13.1.0", or one line that says what to
  /// install. For `doctor`; null if programs contain what they need.
  std::function<Result<std::string>(uint32_t command)> libraryFor = nullptr;
  /// The facts about device `ordinal`: what it is, and how fast. May measure
  /// it. Null if nothing is known without opening the device.
  std::function<std::vector<DeviceFact>(int ordinal)> describe = nullptr;
  /// Whether sums over processes run on the host, in memory that counts as this
  /// kind's (SpanningMemory.h); else a library has its own.
  bool sumsOnHost = false;
};

/// The kinds of devices of a process, in order of registration.
class DeviceRegistry {
public:
  void add(DeviceKind kind);
  const std::vector<DeviceKind> &kinds() const { return kinds_; }

  /// The device called `name`: a kind ("cuda" is its first one) or KIND:N.
  /// SINTER_INVALID, naming the kinds, if there is no such device.
  Result<std::unique_ptr<Device>> create(const std::string &name,
                                         const DeviceOptions &options) const;

  /// Names a new group of replicas on devices of the kind of `name`.
  Status nameGroup(const std::string &name, const GroupRequest &request,
                   uint8_t *group) const;
  /// Whether the devices of the kind of `name` are numbered.
  bool isNumbered(const std::string &name) const;
  /// DeviceKind::sumsOnHost of the kind of `name`.
  bool sumsOnHost(const std::string &name) const;

  /// Succeeds if create() would look for a device of that name.
  Status checkName(const std::string &name) const;

private:
  Result<const DeviceKind *> kindOf(const std::string &name) const;

  std::vector<DeviceKind> kinds_;
};

/// The kind in a device's name: "cuda" in "cuda:1".
std::string deviceKindOf(const std::string &name);

/// Defined by whoever links a binary, in one line per device, e.g.
///   void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
///     cpu::registerCpuDevice(registry);
///   }
/// Called once, before the first program is created.
void registerLinkedDevices(DeviceRegistry &registry);

/// The registry of this process, filled by registerLinkedDevices.
const DeviceRegistry &linkedDevices();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_REGISTRY_H
