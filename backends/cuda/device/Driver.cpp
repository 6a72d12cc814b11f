//===- Driver.cpp - the CUDA driver, opened at run time -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/Driver.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace sinter;
using namespace sinter::cuda;
using rt::Result;
using rt::Status;

static Status failure(std::string message) {
  return {SINTER_DEVICE_FAILED, std::move(message)};
}

std::string cuda::errorText(const DriverTable &table, DriverResult error) {
  const char *name = nullptr, *meaning = nullptr;
  // The toolkit's stub returns an error and writes nothing.
  if (table.getErrorName(error, &name) != result::success || !name)
    return "CUDA error " + std::to_string(error);
  if (table.getErrorString(error, &meaning) != result::success || !meaning)
    return name;
  return std::string(name) + " (" + meaning + ")";
}

bool cuda::isSticky(DriverResult error) {
  switch (error) {
  case result::eccUncorrectable:
  case result::nvlinkUncorrectable:
  case result::contained:
  case result::illegalAddress:
  case result::launchTimeout:
  case result::contextIsDestroyed:
  case result::deviceAssert:
  case result::hardwareStackError:
  case result::illegalInstruction:
  case result::misalignedAddress:
  case result::invalidAddressSpace:
  case result::invalidPc:
  case result::launchFailed:
  case result::tensorMemoryLeak:
  case result::externalDevice:
  case result::unknown:
    return true;
  default:
    return false;
  }
}

/// "12.1" for 12010.
static std::string versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

static std::string needed() {
  return "; driver " + versionText(oldestDriver) + " or newer is needed";
}

Status cuda::resolveDriver(void *library, DriverTable &table) {
#define SINTER_RESOLVE(FIELD, EXPORT, PARAMETERS)                              \
  table.FIELD =                                                                \
      reinterpret_cast<decltype(table.FIELD)>(dlsym(library, #EXPORT));        \
  if (!table.FIELD)                                                            \
    return failure("the NVIDIA driver is too old: it has no " #EXPORT +        \
                   needed());
  SINTER_CUDA_DRIVER_FUNCTIONS(SINTER_RESOLVE)
#undef SINTER_RESOLVE
  return {};
}

/// Describes the variable with which a user may have hidden devices.
static std::string visibility() {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? std::string(" (CUDA_VISIBLE_DEVICES is '") + visible + "')"
                 : "";
}

Status cuda::startDriver(const DriverTable &table) {
  DriverResult code = table.init(0);
  switch (code) {
  case result::success:
    break;
  case result::stubLibrary:
    return failure("libcuda.so.1 is the CUDA toolkit's stub library; a real "
                   "NVIDIA driver is needed");
  case result::noDevice:
    return failure("the NVIDIA driver sees no GPU" + visibility());
  case result::systemDriverMismatch:
    return failure("libcuda.so.1 and the NVIDIA kernel module are of different "
                   "versions; restart the machine after a driver update");
  default:
    return failure("cannot initialize the NVIDIA driver: " +
                   errorText(table, code));
  }
  int version = 0, count = 0;
  code = table.driverGetVersion(&version);
  if (code != result::success)
    return failure("the NVIDIA driver does not report its version: " +
                   errorText(table, code));
  if (version < oldestDriver)
    return failure("the NVIDIA driver supports CUDA " + versionText(version) +
                   needed());
  code = table.deviceGetCount(&count);
  if (code != result::success)
    return failure("the NVIDIA driver cannot list its GPUs: " +
                   errorText(table, code));
  if (count == 0)
    return failure("the NVIDIA driver sees no GPU" + visibility());
  return {};
}

Result<const DriverTable *> cuda::openDriver() {
  struct Opened {
    DriverTable table;
    Status status;
  };
  // The library is never closed, because the driver's threads do not end.
  static const Opened *opened = [] {
    auto *result = new Opened;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? nullptr : dlerror();
    result->status =
        library ? resolveDriver(library, result->table)
                : failure(std::string("there is no NVIDIA driver on this "
                                      "machine (") +
                          (why ? why : "libcuda.so.1 was not found") + ")");
    if (result->status.ok())
      result->status = startDriver(result->table);
    return result;
  }();
  if (!opened->status.ok())
    return opened->status;
  return &opened->table;
}
