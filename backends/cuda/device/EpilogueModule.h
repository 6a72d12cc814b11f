//===- EpilogueModule.h - kernels for epilogues on a GPU --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_EPILOGUEMODULE_H
#define SINTER_BACKENDS_CUDA_DEVICE_EPILOGUEMODULE_H

#include "backends/cuda/device/Driver.h"
#include "backends/cuda/library/LtKernels.h"

#include <memory>

namespace sinter::cuda {

/// The PTX of EpilogueKernel.cpp, for sm_80 and newer. Null if Sinter was built
/// without a compiler for it.
const char *epiloguePtx();

/// Loads the kernels into the current context, which must be current in all
/// calls of the result and when it is destroyed. SINTER_UNSUPPORTED if there is
/// no PTX.
rt::Result<std::unique_ptr<LtKernels>>
loadEpilogueKernels(const DriverTable &driver);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_EPILOGUEMODULE_H
