//===- CudaDevice.h - programs on an NVIDIA GPU ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The device "cuda:N" on top of the driver (Driver.h). Links nothing of
// NVIDIA's; what is not installed is said in one line when it is needed.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_CUDADEVICE_H
#define SINTER_BACKENDS_CUDA_DEVICE_CUDADEVICE_H

#include "backends/cuda/device/Driver.h"
#include "runtime/device/Registry.h"

namespace sinter::cuda {

/// Adds the devices "cuda:N".
void registerCudaDevices(rt::DeviceRegistry &registry);

/// Device `ordinal` of a started driver, which must outlive the result.
/// SINTER_INVALID when there are not so many.
rt::Result<std::unique_ptr<rt::Device>>
createCudaDevice(const DriverTable &driver, int ordinal,
                 const rt::DeviceOptions &options);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_CUDADEVICE_H
