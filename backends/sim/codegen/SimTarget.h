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
  /// Accesses are checked (bounds, races); predicates can be left out.
  bool isChecked = true, isMutable = false;
};

/// Everything as for CUDA, up to the kernels' LLVM modules, which become x86-64
/// code for one simulated thread.
std::unique_ptr<passes::Target>
createSimTarget(const SimTargetOptions &options);

/// "sim".
const passes::DeviceKind &kind();

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_CODEGEN_SIMTARGET_H
