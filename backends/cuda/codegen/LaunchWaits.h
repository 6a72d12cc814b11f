//===- LaunchWaits.h - kernels that begin before others end -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// On sm_90 and newer a launch may begin before the launches before it on its
// stream have ended (programmatic dependent launch). Its kernel then waits for
// them with an instruction. LLVM 19 has no intrinsic for that, so it is inline
// PTX.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_LAUNCHWAITS_H
#define SINTER_BACKENDS_CUDA_CODEGEN_LAUNCHWAITS_H

#include "llvm/IR/Module.h"

namespace sinter::cuda {

inline constexpr llvm::StringLiteral kWaitForLaunches = "griddepcontrol.wait;";
inline constexpr llvm::StringLiteral kLetNextLaunchBegin =
    "griddepcontrol.launch_dependents;";
/// The first architecture that has these instructions.
inline constexpr unsigned kFirstArchWithWaits = 90;

void removeLaunchWaits(llvm::Module &module);

/// Keeps loads of kernels that wait from becoming ld.global.nc. That is for
/// memory which is constant during the whole kernel; what an earlier launch
/// writes may change before the wait.
void useCoherentLoads(llvm::Module &module);

/// Whether every kernel of `module` waits at its beginning, before it accesses
/// anything but its parameters.
bool waitsBeforeAccesses(const llvm::Module &module);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_LAUNCHWAITS_H
