//===- CudaContext.h - the primary context of a GPU -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_CUDACONTEXT_H
#define SINTER_BACKENDS_CUDA_DEVICE_CUDACONTEXT_H

#include "backends/cuda/device/Driver.h"

#include <memory>

namespace sinter::cuda {

/// The properties of a GPU.
struct DeviceFacts {
  std::string name;
  std::string uuid; // "GPU-..."; with MIG, that of the partition
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int maxThreadsPerBlock = 0;
  int maxBlock[3] = {}, maxGrid[3] = {};
  int maxSharedBytes = 0, maxSharedBytesOptIn = 0;
  bool hasCooperativeLaunch = false; // all blocks of a kernel may run at once
  uint64_t totalBytes = 0;
  int driverVersion = 0; // 13000: CUDA 13.0

  /// 90 for compute capability 9.0.
  unsigned arch() const { return static_cast<unsigned>(10 * major + minor); }
};

/// The primary context, shared with libraries and other users in the process.
class CudaContext {
public:
  /// `ordinal` counts the devices that the driver shows, so it follows
  /// CUDA_VISIBLE_DEVICES. SINTER_INVALID if there are not that many.
  static rt::Result<std::unique_ptr<CudaContext>>
  create(const DriverTable &driver, int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const DriverTable &driver() const { return driver_; }
  ContextHandle handle() const { return handle_; }
  DeviceNumber device() const { return device_; }
  const DeviceFacts &facts() const { return facts_; }
  /// The free memory when the context was created.
  uint64_t freeBytes() const { return freeBytes_; }

private:
  explicit CudaContext(const DriverTable &driver) : driver_(driver) {}
  rt::Status open(int ordinal);
  rt::Status readFacts();

  const DriverTable &driver_;
  DeviceNumber device_ = 0;
  ContextHandle handle_ = nullptr;
  DeviceFacts facts_;
  uint64_t freeBytes_ = 0;
};

/// Makes a context current for the calling thread, and at its end restores the
/// host program's own context.
class CurrentContext {
public:
  CurrentContext(const DriverTable &driver, ContextHandle context)
      : driver_(driver) {
    ContextHandle before = nullptr;
    (void)driver_.ctxGetCurrent(&before);
    isPushed_ =
        before != context && driver_.ctxPushCurrent(context) == result::success;
  }
  ~CurrentContext() {
    ContextHandle popped;
    if (isPushed_)
      (void)driver_.ctxPopCurrent(&popped);
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

private:
  const DriverTable &driver_;
  bool isPushed_ = false;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_CUDACONTEXT_H
