//===- Devices.cpp - the devices that programs run on ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Linked into sinter-run, into every trainer and into every inference library.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/device/CpuDevice.h"
#include "backends/cuda/device/CudaDevice.h"
#include "backends/cuda/device/EpilogueModule.h"
#include "backends/cuda/library/CudaLibrary.h"
#include "backends/cuda/library/Loader.h"
#include "backends/cuda/library/NcclGroup.h"
#include "backends/cuda/library/PlanCache.h"
#include "runtime/collective/SpanningGroup.h"
#ifdef SINTER_GLOO
#include "backends/cpu/library/JobExchange.h"
#endif
#ifdef SINTER_SIMULATED
#include "backends/sim/device/SimDevice.h"
#endif

#include <cstdio>

using namespace sinter;

/// It opens the libraries that it calls at the first contraction that needs
/// one.
static rt::Result<std::unique_ptr<rt::Library>>
makeCudaLibrary(const std::string &device) {
  cuda::LibraryTables tables;
  tables.openLt = cuda::loadCublasLt;
  tables.openDnn = cuda::loadCudnn;
  auto driver = cuda::openDriver();
  if (!driver.ok())
    return driver.status();
  tables.zeroFill = [driver = *driver](void *to, uint64_t sizeBytes,
                                       void *stream) {
    cuda::DriverResult result =
        driver->memsetD8Async(reinterpret_cast<uintptr_t>(to), 0, sizeBytes,
                              static_cast<cuda::StreamHandle>(stream));
    return result == 0 ? rt::Status()
                       : rt::Status(SINTER_DEVICE_FAILED,
                                    "zeros before a convolution: " +
                                        cuda::errorText(*driver, result));
  };
  if (cuda::epiloguePtx())
    tables.openLtKernels = [driver = *driver] {
      return cuda::loadEpilogueKernels(*driver);
    };
  cuda::LibraryOptions options;
  options.note = [](const std::string &line) {
    std::fprintf(stderr, "note: %s\n", line.c_str());
  };
  options.cache = std::make_shared<cuda::PlanCache>(
      cuda::PlanCache::userFolder(), device, options.note);
  return cuda::createCudaLibrary(std::move(tables), options);
}

static rt::Status nameGroup(const rt::GroupRequest &request, uint8_t *group) {
  auto nccl = cuda::loadNccl();
  if (!nccl.ok())
    return nccl.status();
  return rt::nameGroupByLeader(
      request, [&](uint8_t *to) { return cuda::nameNcclGroup(**nccl, to); },
      group);
}

static rt::Result<std::unique_ptr<rt::Communicator>>
joinGroup(const sinter_rank &rank) {
  auto nccl = cuda::loadNccl();
  if (!nccl.ok())
    return nccl.status();
  return cuda::joinNcclGroup(**nccl, rank);
}

void sinter::rt::registerLinkedDevices(DeviceRegistry &registry) {
  rt::MakeExchange makeExchange;
#ifdef SINTER_GLOO
  makeExchange = cpu::makeJobExchange;
#endif
  cpu::registerCpuDevice(registry, makeExchange);
  cuda::registerCudaDevices(registry, makeCudaLibrary, {nameGroup, joinGroup},
                            cuda::libraryFor);
#ifdef SINTER_SIMULATED
  sim::registerSimDevices(registry, makeExchange);
#endif
}
