//===- GatherModule.h - gathers rows on a GPU -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_GATHERMODULE_H
#define SINTER_BACKENDS_CUDA_DEVICE_GATHERMODULE_H

#include "backends/cuda/device/CudaContext.h"
#include "runtime/device/RowGather.h"
#include "sinter/abi.h"

#include <memory>

namespace sinter::cuda {

/// The PTX of GatherKernel.cpp, for sm_80 and newer. Null if Sinter was built
/// without a compiler for it.
const char *gatherPtx();

class GatherModule {
public:
  /// Loads the kernel. The context must be current here, in launch() and when
  /// the result is destroyed. Fails with SINTER_UNSUPPORTED if this build has
  /// no PTX for the kernel, or if the driver does not load it.
  static rt::Result<std::unique_ptr<GatherModule>>
  load(const DriverTable &driver);
  ~GatherModule();
  GatherModule(const GatherModule &) = delete;
  GatherModule &operator=(const GatherModule &) = delete;

  /// Queues the kernel; the driver copies `gather`.
  DriverResult launch(const rt::RowGather &gather, StreamHandle stream);
  /// The kernel as it was launched last, for errors.
  const sinter_kernel_desc &lastLaunch() const { return last_; }

private:
  explicit GatherModule(const DriverTable &driver) : driver_(driver) {}

  const DriverTable &driver_;
  ModuleHandle module_ = nullptr;
  FunctionHandle kernel_ = nullptr;
  sinter_kernel_desc last_ = {};
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_GATHERMODULE_H
