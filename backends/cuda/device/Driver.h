//===- Driver.h - the CUDA driver, opened at run time -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The entry points of libcuda.so.1 that we use, as a table of functions, with
// the types and constants that they take. A build needs neither toolkit nor
// driver, a binary starts without them, and tests pass the device their own
// table. All of these functions exist since driver 12.0. The second argument of
// F is the library's exact export: names without a suffix can be old interfaces
// (32-bit sizes).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_DRIVER_H
#define SINTER_BACKENDS_CUDA_DEVICE_DRIVER_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace sinter::cuda {

using DriverResult = int;                 // CUresult
using DeviceNumber = int;                 // CUdevice
using DeviceAddress = unsigned long long; // CUdeviceptr
using ContextHandle = struct ContextTag *;
using StreamHandle = struct StreamTag *;
using EventHandle = struct EventTag *;
using ModuleHandle = struct ModuleTag *;
using FunctionHandle = struct FunctionTag *;
using GraphHandle = struct GraphTag *;
using GraphExecHandle = struct GraphExecTag *;
using GraphNodeHandle = struct GraphNodeTag *;

struct DriverUuid {
  unsigned char bytes[16];
};

/// CUlaunchAttribute.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    int programmaticSerializationAllowed;
  };
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

/// CUresult.
namespace result {
inline constexpr DriverResult success = 0, invalidValue = 1, outOfMemory = 2,
                              notInitialized = 3, stubLibrary = 34,
                              noDevice = 100, invalidDevice = 101,
                              invalidContext = 201, noBinaryForGpu = 209,
                              eccUncorrectable = 214, invalidPtx = 218,
                              nvlinkUncorrectable = 220,
                              unsupportedPtxVersion = 222, contained = 226,
                              invalidHandle = 400, notFound = 500,
                              notReady = 600, illegalAddress = 700,
                              launchOutOfResources = 701, launchTimeout = 702,
                              peerAccessAlreadyEnabled = 704,
                              contextIsDestroyed = 709, deviceAssert = 710,
                              hardwareStackError = 714,
                              illegalInstruction = 715, misalignedAddress = 716,
                              invalidAddressSpace = 717, invalidPc = 718,
                              launchFailed = 719,
                              cooperativeLaunchTooLarge = 720,
                              tensorMemoryLeak = 721,
                              systemDriverMismatch = 803,
                              captureUnsupported = 900,
                              captureInvalidated = 901, captureUnjoined = 904,
                              captureIsolation = 905, externalDevice = 911,
                              unknown = 999;
} // namespace result

/// CUdevice_attribute.
namespace attribute {
inline constexpr int maxThreadsPerBlock = 1, maxBlockX = 2, maxBlockY = 3,
                     maxBlockZ = 4, maxGridX = 5, maxGridY = 6, maxGridZ = 7,
                     maxSharedBytes = 8, multiprocessors = 16,
                     capabilityMajor = 75, capabilityMinor = 76,
                     cooperativeLaunch = 95, maxSharedBytesOptIn = 97;
} // namespace attribute

inline constexpr unsigned streamNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
inline constexpr unsigned eventDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING
inline constexpr unsigned hostAllocPortable = 1;   // CU_MEMHOSTALLOC_PORTABLE
inline constexpr int captureThreadLocal = 1;       // CU_STREAM_CAPTURE_MODE_...
inline constexpr int functionMaxDynamicShared = 8; // CU_FUNC_ATTRIBUTE_...
/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
inline constexpr int launchProgrammaticSerialization = 6;
/// CUjit_option.
inline constexpr int jitErrorLog = 5, jitErrorLogBytes = 6;

/// F(field, export, parameters).
#define SINTER_CUDA_DRIVER_FUNCTIONS(F)                                        \
  F(init, cuInit, (unsigned flags))                                            \
  F(driverGetVersion, cuDriverGetVersion, (int *version))                      \
  F(getErrorName, cuGetErrorName, (DriverResult error, const char **text))     \
  F(getErrorString, cuGetErrorString, (DriverResult error, const char **text)) \
  F(deviceGetCount, cuDeviceGetCount, (int *count))                            \
  F(deviceGet, cuDeviceGet, (DeviceNumber * device, int ordinal))              \
  F(deviceGetName, cuDeviceGetName,                                            \
    (char *name, int sizeBytes, DeviceNumber device))                          \
  F(deviceGetUuid, cuDeviceGetUuid_v2,                                         \
    (DriverUuid * uuid, DeviceNumber device))                                  \
  F(deviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, DeviceNumber device)) \
  F(deviceGetAttribute, cuDeviceGetAttribute,                                  \
    (int *value, int attribute, DeviceNumber device))                          \
  F(deviceCanAccessPeer, cuDeviceCanAccessPeer,                                \
    (int *can, DeviceNumber device, DeviceNumber peer))                        \
  F(primaryCtxRetain, cuDevicePrimaryCtxRetain,                                \
    (ContextHandle * context, DeviceNumber device))                            \
  F(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (DeviceNumber device))    \
  F(ctxGetCurrent, cuCtxGetCurrent, (ContextHandle * context))                 \
  F(ctxPushCurrent, cuCtxPushCurrent_v2, (ContextHandle context))              \
  F(ctxPopCurrent, cuCtxPopCurrent_v2, (ContextHandle * context))              \
  F(ctxSynchronize, cuCtxSynchronize, ())                                      \
  F(ctxEnablePeerAccess, cuCtxEnablePeerAccess,                                \
    (ContextHandle peer, unsigned flags))                                      \
  F(memGetInfo, cuMemGetInfo_v2, (size_t *freeBytes, size_t *totalBytes))      \
  F(memAlloc, cuMemAlloc_v2, (DeviceAddress * address, size_t bytes))          \
  F(memFree, cuMemFree_v2, (DeviceAddress address))                            \
  F(memHostAlloc, cuMemHostAlloc,                                              \
    (void **address, size_t bytes, unsigned flags))                            \
  F(memFreeHost, cuMemFreeHost, (void *address))                               \
  F(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                     \
    (DeviceAddress to, const void *from, size_t bytes, StreamHandle stream))   \
  F(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                     \
    (void *to, DeviceAddress from, size_t bytes, StreamHandle stream))         \
  F(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                     \
    (DeviceAddress to, DeviceAddress from, size_t bytes, StreamHandle stream)) \
  F(memcpyPeerAsync, cuMemcpyPeerAsync,                                        \
    (DeviceAddress to, ContextHandle toContext, DeviceAddress from,            \
     ContextHandle fromContext, size_t bytes, StreamHandle stream))            \
  F(memsetD8Async, cuMemsetD8Async,                                            \
    (DeviceAddress to, unsigned char value, size_t bytes,                      \
     StreamHandle stream))                                                     \
  F(streamCreate, cuStreamCreate, (StreamHandle * stream, unsigned flags))     \
  F(streamDestroy, cuStreamDestroy_v2, (StreamHandle stream))                  \
  F(streamSynchronize, cuStreamSynchronize, (StreamHandle stream))             \
  F(streamWaitEvent, cuStreamWaitEvent,                                        \
    (StreamHandle stream, EventHandle event, unsigned flags))                  \
  F(eventCreate, cuEventCreate, (EventHandle * event, unsigned flags))         \
  F(eventDestroy, cuEventDestroy_v2, (EventHandle event))                      \
  F(eventRecord, cuEventRecord, (EventHandle event, StreamHandle stream))      \
  F(eventSynchronize, cuEventSynchronize, (EventHandle event))                 \
  F(eventElapsedTime, cuEventElapsedTime,                                      \
    (float *milliseconds, EventHandle begin, EventHandle end))                 \
  F(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (ModuleHandle * module, const void *image, unsigned numOptions,            \
     int *options, void **values))                                             \
  F(moduleUnload, cuModuleUnload, (ModuleHandle module))                       \
  F(moduleGetFunction, cuModuleGetFunction,                                    \
    (FunctionHandle * function, ModuleHandle module, const char *name))        \
  F(funcSetAttribute, cuFuncSetAttribute,                                      \
    (FunctionHandle function, int attribute, int value))                       \
  F(launchKernel, cuLaunchKernel,                                              \
    (FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ,  \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     StreamHandle stream, void **parameters, void **extra))                    \
  F(launchKernelEx, cuLaunchKernelEx,                                          \
    (const LaunchConfig *config, FunctionHandle function, void **parameters,   \
     void **extra))                                                            \
  F(launchCooperativeKernel, cuLaunchCooperativeKernel,                        \
    (FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ,  \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     StreamHandle stream, void **parameters))                                  \
  F(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                    \
    (int *blocks, FunctionHandle function, int blockThreads,                   \
     size_t sharedBytes))                                                      \
  F(streamBeginCapture, cuStreamBeginCapture_v2,                               \
    (StreamHandle stream, int mode))                                           \
  F(streamEndCapture, cuStreamEndCapture,                                      \
    (StreamHandle stream, GraphHandle * graph))                                \
  F(graphInstantiate, cuGraphInstantiateWithFlags,                             \
    (GraphExecHandle * exec, GraphHandle graph, unsigned long long flags))     \
  F(graphUpload, cuGraphUpload, (GraphExecHandle exec, StreamHandle stream))   \
  F(graphLaunch, cuGraphLaunch, (GraphExecHandle exec, StreamHandle stream))   \
  F(graphExecDestroy, cuGraphExecDestroy, (GraphExecHandle exec))              \
  F(graphDestroy, cuGraphDestroy, (GraphHandle graph))

struct DriverTable {
#define SINTER_FIELD(FIELD, EXPORT, PARAMETERS)                                \
  DriverResult(*FIELD) PARAMETERS = nullptr;
  SINTER_CUDA_DRIVER_FUNCTIONS(SINTER_FIELD)
#undef SINTER_FIELD
};

/// The oldest driver that reads generated kernels, which are PTX 8.1: 12.1. It
/// has all of these functions.
inline constexpr int oldestDriver = 12010;

/// The initialised driver of this machine; opened at the first call and kept.
/// SINTER_DEVICE_FAILED with one line if there is none, it is the toolkit's
/// stub, it is too old, or it sees no device.
rt::Result<const DriverTable *> openDriver();

/// Fills `table` from an open library. SINTER_DEVICE_FAILED naming the first
/// export that it lacks.
rt::Status resolveDriver(void *library, DriverTable &table);

/// Initialises the driver and checks the above; for openDriver and tests.
rt::Status startDriver(const DriverTable &table);

/// "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)".
std::string errorText(const DriverTable &table, DriverResult error);

/// True for errors after which the context is unusable.
bool isSticky(DriverResult error);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_DRIVER_H
