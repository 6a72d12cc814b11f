//===- DriverHeaderTest.cpp - our declarations of the CUDA driver ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Built where the vendor's header is installed: the numbers and the parameters
// that Driver.h writes down are compared with it.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/Driver.h"

#include <catch2/catch.hpp>
#include <cuda.h>

#include <cstddef>
#include <string>
#include <type_traits>

using namespace sinter::cuda;

namespace {

/// "p8 i4 ": pointers and numbers with their sizes.
template <typename... Parameters>
std::string shapeOf(DriverResult (*)(Parameters...)) {
  std::string text;
  ((text += std::is_pointer_v<Parameters> ? "p" : "i",
    text += std::to_string(sizeof(Parameters)) + " "),
   ...);
  return text;
}
template <typename... Parameters>
std::string shapeOf(CUresult (*)(Parameters...)) {
  return shapeOf(static_cast<DriverResult (*)(Parameters...)>(nullptr));
}

} // namespace

TEST_CASE("cuda: the driver's functions take what its header says", "[cuda]") {
  const DriverTable table;
  // The header's macros turn an unsuffixed name into the current export; the
  // suffixed names are not declared.
#define cuDeviceGetUuid_v2 cuDeviceGetUuid
#define cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxRelease
#define SINTER_COMPARE(FIELD, EXPORT, PARAMETERS)                              \
  CHECK(#FIELD + (" " + shapeOf(table.FIELD)) ==                               \
        #FIELD + (" " + shapeOf(&EXPORT)));
  SINTER_CUDA_DRIVER_FUNCTIONS(SINTER_COMPARE)
#undef SINTER_COMPARE
}

TEST_CASE("cuda: the driver's numbers are those of its header", "[cuda]") {
  static_assert(sizeof(CUuuid) == sizeof(DriverUuid));
  static_assert(sizeof(CUresult) == sizeof(DriverResult));
  static_assert(sizeof(CUlaunchAttribute) == sizeof(LaunchAttribute));
  static_assert(offsetof(CUlaunchAttribute, value) ==
                offsetof(LaunchAttribute, programmaticSerializationAllowed));
  static_assert(sizeof(CUlaunchConfig) == sizeof(LaunchConfig));
  static_assert(offsetof(CUlaunchConfig, sharedMemBytes) ==
                offsetof(LaunchConfig, sharedBytes));
  static_assert(offsetof(CUlaunchConfig, hStream) ==
                offsetof(LaunchConfig, stream));
  static_assert(offsetof(CUlaunchConfig, attrs) ==
                offsetof(LaunchConfig, attributes));
  static_assert(offsetof(CUlaunchConfig, numAttrs) ==
                offsetof(LaunchConfig, numAttributes));
  CHECK(launchProgrammaticSerialization ==
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  CHECK(result::success == CUDA_SUCCESS);
  CHECK(result::invalidValue == CUDA_ERROR_INVALID_VALUE);
  CHECK(result::outOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(result::notInitialized == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(result::stubLibrary == CUDA_ERROR_STUB_LIBRARY);
  CHECK(result::noDevice == CUDA_ERROR_NO_DEVICE);
  CHECK(result::invalidDevice == CUDA_ERROR_INVALID_DEVICE);
  CHECK(result::invalidContext == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(result::noBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK(result::eccUncorrectable == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(result::invalidPtx == CUDA_ERROR_INVALID_PTX);
  CHECK(result::nvlinkUncorrectable == CUDA_ERROR_NVLINK_UNCORRECTABLE);
  CHECK(result::unsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  CHECK(result::contained == CUDA_ERROR_CONTAINED);
  CHECK(result::invalidHandle == CUDA_ERROR_INVALID_HANDLE);
  CHECK(result::notFound == CUDA_ERROR_NOT_FOUND);
  CHECK(result::notReady == CUDA_ERROR_NOT_READY);
  CHECK(result::illegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(result::launchOutOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CHECK(result::launchTimeout == CUDA_ERROR_LAUNCH_TIMEOUT);
  CHECK(result::peerAccessAlreadyEnabled ==
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(result::contextIsDestroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(result::deviceAssert == CUDA_ERROR_ASSERT);
  CHECK(result::hardwareStackError == CUDA_ERROR_HARDWARE_STACK_ERROR);
  CHECK(result::illegalInstruction == CUDA_ERROR_ILLEGAL_INSTRUCTION);
  CHECK(result::misalignedAddress == CUDA_ERROR_MISALIGNED_ADDRESS);
  CHECK(result::invalidAddressSpace == CUDA_ERROR_INVALID_ADDRESS_SPACE);
  CHECK(result::invalidPc == CUDA_ERROR_INVALID_PC);
  CHECK(result::launchFailed == CUDA_ERROR_LAUNCH_FAILED);
#if CUDA_VERSION >= 13000
  CHECK(result::tensorMemoryLeak == CUDA_ERROR_TENSOR_MEMORY_LEAK);
#endif
  CHECK(result::systemDriverMismatch == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  CHECK(result::captureUnsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(result::captureInvalidated == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(result::captureUnjoined == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  CHECK(result::captureIsolation == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CHECK(result::externalDevice == CUDA_ERROR_EXTERNAL_DEVICE);
  CHECK(result::unknown == CUDA_ERROR_UNKNOWN);

  CHECK(attribute::maxThreadsPerBlock ==
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  CHECK(attribute::maxBlockX == CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  CHECK(attribute::maxBlockY == CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  CHECK(attribute::maxBlockZ == CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  CHECK(attribute::maxGridX == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  CHECK(attribute::maxGridY == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  CHECK(attribute::maxGridZ == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  CHECK(attribute::maxSharedBytes ==
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  CHECK(attribute::multiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  CHECK(attribute::capabilityMajor ==
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  CHECK(attribute::capabilityMinor ==
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  CHECK(attribute::maxSharedBytesOptIn ==
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  CHECK(streamNonBlocking == CU_STREAM_NON_BLOCKING);
  CHECK(eventDisableTiming == CU_EVENT_DISABLE_TIMING);
  CHECK(hostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
  CHECK(captureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CHECK(functionMaxDynamicShared ==
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  CHECK(jitErrorLog == CU_JIT_ERROR_LOG_BUFFER);
  CHECK(jitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
}
