//===- CudaContext.cpp - the primary context of a GPU ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaContext.h"

#include <cstdio>

using namespace sinter;
using namespace sinter::cuda;
using rt::Result;
using rt::Status;

/// "GPU-1b2c..." as nvidia-smi prints it.
static std::string uuidText(const DriverUuid &uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", uuid.bytes[i]);
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "");
    text += digits;
  }
  return text;
}

Result<std::unique_ptr<CudaContext>>
CudaContext::create(const DriverTable &driver, int ordinal) {
  std::unique_ptr<CudaContext> context(new CudaContext(driver));
  SINTER_RETURN_IF_ERROR(context->open(ordinal));
  return context;
}

Status CudaContext::open(int ordinal) {
  int count = 0;
  const std::string name = "cuda:" + std::to_string(ordinal);
  auto check = [&](DriverResult code, const char *what) {
    return code == result::success
               ? Status()
               : Status(SINTER_DEVICE_FAILED,
                        name + ": " + what + ": " + errorText(driver_, code));
  };
  SINTER_RETURN_IF_ERROR(
      check(driver_.deviceGetCount(&count), "the driver cannot list devices"));
  if (ordinal >= count)
    return Status::invalid("there is no device " + name +
                           ": the driver shows " + std::to_string(count) +
                           (count == 1 ? " (cuda:0)" : ""));
  SINTER_RETURN_IF_ERROR(
      check(driver_.deviceGet(&device_, ordinal), "cannot get the device"));
  SINTER_RETURN_IF_ERROR(check(driver_.primaryCtxRetain(&handle_, device_),
                               "cannot get the device's context"));
  CurrentContext current(driver_, handle_);
  SINTER_RETURN_IF_ERROR(readFacts());
  size_t freeBytes = 0, totalBytes = 0;
  SINTER_RETURN_IF_ERROR(check(driver_.memGetInfo(&freeBytes, &totalBytes),
                               "the driver does not report the free memory"));
  freeBytes_ = freeBytes;
  return {};
}

Status CudaContext::readFacts() {
  DriverResult failed = result::success;
  auto note = [&](DriverResult code) {
    failed = failed == result::success ? code : failed;
  };
  auto get = [&](int number) {
    int value = 0;
    note(driver_.deviceGetAttribute(&value, number, device_));
    return value;
  };
  char name[128] = "";
  DriverUuid uuid{};
  size_t bytes = 0;
  note(driver_.deviceGetName(name, sizeof(name), device_));
  note(driver_.deviceGetUuid(&uuid, device_));
  note(driver_.deviceTotalMem(&bytes, device_));
  note(driver_.driverGetVersion(&facts_.driverVersion));
  facts_.name = name;
  facts_.uuid = uuidText(uuid);
  facts_.totalBytes = bytes;
  facts_.major = get(attribute::capabilityMajor);
  facts_.minor = get(attribute::capabilityMinor);
  facts_.multiprocessors = get(attribute::multiprocessors);
  facts_.maxThreadsPerBlock = get(attribute::maxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) {
    facts_.maxBlock[i] = get(attribute::maxBlockX + i);
    facts_.maxGrid[i] = get(attribute::maxGridX + i);
  }
  facts_.maxSharedBytes = get(attribute::maxSharedBytes);
  facts_.maxSharedBytesOptIn = get(attribute::maxSharedBytesOptIn);
  facts_.hasCooperativeLaunch = get(attribute::cooperativeLaunch) != 0;
  if (failed != result::success)
    return {SINTER_DEVICE_FAILED, "the driver does not describe its device: " +
                                      errorText(driver_, failed)};
  return {};
}

CudaContext::~CudaContext() {
  if (handle_)
    (void)driver_.primaryCtxRelease(device_);
}
