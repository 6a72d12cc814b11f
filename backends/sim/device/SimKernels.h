//===- SimKernels.h - the kernels of an artifact, loaded --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SIMKERNELS_H
#define SINTER_BACKENDS_SIM_DEVICE_SIMKERNELS_H

#include "backends/sim/device/Engine.h"
#include "backends/sim/device/SimReport.h"
#include "runtime/device/Stream.h"

#include <vector>

namespace sinter::sim {

class SimKernels final : public rt::KernelModule {
public:
  /// Finds the kernel of `drop`, whose number counts sites of the whole
  /// program. Fails if a kernel is not for this device or there is no such
  /// site.
  static rt::Result<std::unique_ptr<SimKernels>>
  create(const sinter_artifact &artifact, const Drop &drop, Engine &engine);

  /// The launch of kernel `index` on `buffers`, with the ranges that it may
  /// access.
  Launch launch(uint32_t index, void *const *buffers) const;

  const DropSites &sites(uint32_t index) const { return kernels_[index].sites; }
  /// For the engine: the kernel and the number of the site in it.
  const Drop &drop() const { return drop_; }

private:
  struct Buffer {
    uint64_t sizeBytes = 0;
    bool isWritten = false;
  };
  struct Kernel {
    DropSites sites;
    std::vector<Buffer> buffers; // empty: no command uses it
  };

  explicit SimKernels(const sinter_artifact &artifact) : artifact_(artifact) {}
  void readCommand(const sinter_command &command);
  rt::Status countSites(const Drop &drop, Engine &engine);

  const sinter_artifact &artifact_;
  std::vector<Kernel> kernels_;
  Drop drop_;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SIMKERNELS_H
