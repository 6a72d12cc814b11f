//===- LtMatmul.h - matrix products by cuBLASLt -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTMATMUL_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTMATMUL_H

#include "backends/cuda/library/LibraryOptions.h"
#include "backends/cuda/library/LtContext.h"
#include "backends/cuda/library/LtFallback.h"
#include "runtime/device/Library.h"

#include <memory>

namespace sinter::cuda {

/// Prepares a MATMUL. If cuBLASLt has no algorithm with the epilogue, the call
/// does without it and is counted in `fallbacks`. Fails with SINTER_UNSUPPORTED
/// and a reason if no call of cuBLASLt computes it.
rt::Result<std::unique_ptr<rt::LibraryCall>>
prepareLtMatmul(const LtContext &context, const sinter_command &command,
                const LibraryOptions &options, LtFallbacks &fallbacks);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTMATMUL_H
