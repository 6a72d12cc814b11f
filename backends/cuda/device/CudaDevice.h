//===- CudaDevice.h - programs on an NVIDIA GPU -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The device "cuda:N" on top of the driver (Driver.h). Links no library of
// NVIDIA's. If one is needed but not installed, a one-line error says so.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_CUDADEVICE_H
#define SINTER_BACKENDS_CUDA_DEVICE_CUDADEVICE_H

#include "backends/cuda/device/Driver.h"
#include "runtime/device/Registry.h"

namespace sinter::cuda {

/// Creates the contraction library of a device, at the first contraction of a
/// program, with the device's context current. `device` describes what its
/// choices depend on: "NVIDIA H200, sm_90, 132 multiprocessors, driver 13000".
/// A failure is one line that names what is not installed.
using LibraryFactory = std::function<rt::Result<std::unique_ptr<rt::Library>>(
    const std::string &device)>;

/// How devices work with other replicas; null: not supported. `join` is called
/// with the device's context current, `name` without a context.
struct GroupFactory {
  std::function<rt::Status(const rt::GroupRequest &request, uint8_t *group)>
      name = nullptr;
  std::function<rt::Result<std::unique_ptr<rt::Communicator>>(
      const sinter_rank &rank)>
      join = nullptr;
};

/// DeviceKind::libraryFor.
using LibraryNames = std::function<rt::Result<std::string>(uint32_t command)>;

/// Adds the devices "cuda:N".
void registerCudaDevices(rt::DeviceRegistry &registry,
                         const LibraryFactory &makeLibrary = nullptr,
                         const GroupFactory &groups = {},
                         const LibraryNames &libraryFor = nullptr);

/// Device `ordinal` of a started driver, which must outlive the result.
/// SINTER_INVALID if there are not that many.
rt::Result<std::unique_ptr<rt::Device>>
createCudaDevice(const DriverTable &driver, int ordinal,
                 const rt::DeviceOptions &options,
                 const LibraryFactory &makeLibrary = nullptr,
                 const GroupFactory &groups = {});

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_CUDADEVICE_H
