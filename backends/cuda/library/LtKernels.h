//===- LtKernels.h - who applies epilogues beside cuBLASLt ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTKERNELS_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTKERNELS_H

#include "backends/cuda/library/LtEpilogue.h"
#include "runtime/base/Status.h"

namespace sinter::cuda {

/// Computes what LtEpilogue.h says, on a stream of a device. Calls queue the
/// work, allocate nothing and wait for nothing.
class LtKernels {
public:
  virtual ~LtKernels() = default;
  virtual rt::Status apply(const LtEpilogueArgs &args, void *stream) = 0;
  virtual rt::Status sum(const LtSumArgs &args, void *stream) = 0;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTKERNELS_H
