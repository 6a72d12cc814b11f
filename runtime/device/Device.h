//===- Device.h - what runs programs, and how it is found -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A Device owns memory and runs commands; the executor knows no more of it than
// this interface. Devices are registered explicitly, never by static
// initialisers: whoever links a binary defines registerLinkedDevices().
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_DEVICE_H
#define SINTER_RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/Status.h"
#include "runtime/device/Library.h"
#include "sinter/kernel.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sinter::rt {

/// One program's view of a device. Calls come from one thread at a time; work
/// is ordered as it was issued, and synchronize() waits for all of it.
class Device {
public:
  virtual ~Device();

  /// The name that found it: "cpu".
  virtual const std::string &name() const = 0;

  /// One line each for `doctor`: hardware, libraries, what they can do.
  virtual std::vector<std::string> report() const = 0;

  /// Succeeds when code that needs `features` (sinter_artifact.cpuFeatures) can
  /// run here; else one line naming what lacks.
  virtual Status checkFeatures(const char *features) const = 0;

  /// How many workers one command may use; the same for the device's lifetime.
  virtual int threads() const = 0;

  /// Zeroed memory, 64-byte aligned; null for 0 bytes. `purpose` is for the
  /// error: "the arena".
  virtual Result<void *> allocate(uint64_t sizeBytes, const char *purpose) = 0;
  virtual void free(void *address) = 0;

  /// True when host addresses can be used by commands as they are.
  virtual bool sharesHostMemory() const = 0;

  virtual Status copy(void *to, const void *from, uint64_t sizeBytes) = 0;
  virtual Status fillZero(void *to, uint64_t sizeBytes) = 0;

  /// Runs tiles [0, tiles) of a generated kernel.
  virtual Status launch(sinter_cpu_kernel kernel, void *const *buffers,
                        int64_t tiles) = 0;

  /// Runs a call that this device's library prepared.
  virtual Status call(LibraryCall &call, void *const *buffers) = 0;

  /// The contraction library; null when the device has none.
  virtual Library *library() = 0;

  virtual Status synchronize() = 0;
};

/// Makes a device for a program. `threads` 0 means one per available CPU.
using DeviceFactory =
    std::function<Result<std::unique_ptr<Device>>(int threads)>;

/// The devices of a process by name, in order of registration.
class DeviceRegistry {
public:
  void add(std::string name, DeviceFactory factory);
  /// Fails naming the known devices when there is none called `name`.
  Result<std::unique_ptr<Device>> create(const std::string &name,
                                         int threads) const;
  std::vector<std::string> names() const;

private:
  struct Entry {
    std::string name;
    DeviceFactory factory;
  };
  std::vector<Entry> entries_;
};

/// Defined by whoever links a binary, in one line per device, e.g.
///   void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
///     cpu::registerCpuDevice(registry);
///   }
/// Called once, before the first program is created.
void registerLinkedDevices(DeviceRegistry &registry);

/// The registry of this process, filled by registerLinkedDevices.
const DeviceRegistry &linkedDevices();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_DEVICE_H
