//===- SimTarget.h - the simulated CUDA device as a target ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_CODEGEN_SIMTARGET_H
#define SINTER_BACKENDS_SIM_CODEGEN_SIMTARGET_H

#include "backends/cuda/codegen/CudaTarget.h"

namespace sinter::sim {

struct SimTargetOptions {
  /// The architecture whose kernels run on x86: 90.
  unsigned arch = 90;
  cuda::LibraryUse libraries;
  /// Whether accesses are checked (bounds, races), and whether predicates can
  /// be removed.
  bool isChecked = true, isMutable = false;
};

/// Like the CUDA target, but the kernels' LLVM modules become x86-64 code for
/// one simulated thread.
std::unique_ptr<passes::Target>
createSimTarget(const SimTargetOptions &options);

/// "sim".
const passes::DeviceKind &kind();

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_SIMTARGET_H
