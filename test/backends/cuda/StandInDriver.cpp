//===- StandInDriver.cpp - a libcuda.so.1 without a device ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// cuDNN makes plans for a described device only if there is a driver. This one
// has the functions that cuDNN looks up; each reports that there is no device.
// It is built as a library with the driver's SONAME: a dlopen of it by path
// before cuDNN's makes it the driver.
//
//===----------------------------------------------------------------------===//

#define EXPORT extern "C" __attribute__((visibility("default"), used))

static constexpr int noDevice = 100; // CUDA_ERROR_NO_DEVICE

EXPORT int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

EXPORT int cuDeviceGetCount(int *count) {
  *count = 0;
  return noDevice;
}

#define NO_DEVICE(NAME)                                                        \
  EXPORT int NAME() { return noDevice; }

NO_DEVICE(cuCtxGetCurrent)
NO_DEVICE(cuCtxGetDevice)
NO_DEVICE(cuCtxGetLimit)
NO_DEVICE(cuCtxPopCurrent)
NO_DEVICE(cuCtxPopCurrent_v2)
NO_DEVICE(cuCtxPushCurrent)
NO_DEVICE(cuCtxPushCurrent_v2)
NO_DEVICE(cuCtxSetCurrent)
NO_DEVICE(cuDeviceGet)
NO_DEVICE(cuDeviceGetAttribute)
NO_DEVICE(cuDeviceGetName)
NO_DEVICE(cuDevicePrimaryCtxGetState)
NO_DEVICE(cuDevicePrimaryCtxRetain)
NO_DEVICE(cuFuncGetAttribute)
NO_DEVICE(cuFuncSetAttribute)
NO_DEVICE(cuGetErrorName)
NO_DEVICE(cuGetErrorString)
NO_DEVICE(cuGetProcAddress)
NO_DEVICE(cuGetProcAddress_v2)
NO_DEVICE(cuInit)
NO_DEVICE(cuKernelGetAttribute)
NO_DEVICE(cuKernelSetAttribute)
NO_DEVICE(cuLaunchCooperativeKernel)
NO_DEVICE(cuLaunchKernel)
NO_DEVICE(cuLaunchKernelEx)
NO_DEVICE(cuLibraryGetKernel)
NO_DEVICE(cuLibraryLoadData)
NO_DEVICE(cuLibraryLoadFromFile)
NO_DEVICE(cuLibraryUnload)
NO_DEVICE(cuLinkAddData)
NO_DEVICE(cuLinkAddData_v2)
NO_DEVICE(cuLinkComplete)
NO_DEVICE(cuLinkCreate)
NO_DEVICE(cuLinkCreate_v2)
NO_DEVICE(cuLinkDestroy)
NO_DEVICE(cuModuleGetFunction)
NO_DEVICE(cuModuleLoadData)
NO_DEVICE(cuModuleLoadDataEx)
NO_DEVICE(cuModuleUnload)
NO_DEVICE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
NO_DEVICE(cuOccupancyMaxActiveClusters)
NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
NO_DEVICE(cuStreamGetCtx)
NO_DEVICE(cuTensorMapEncodeTiled)
