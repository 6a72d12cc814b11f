//===- LtFallback.h - products whose epilogue cuBLASLt lacks ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// cuBLASLt neither documents all combinations of types, epilogue and leading
// dimensions that it computes nor promises them for the next GPU. Where it has
// no algorithm, it computes the same product without the epilogue, and a kernel
// of ours (LtKernels.h) applies the epilogue. So do programs where the
// epilogue is a ReLU, which must not make 0 of NaN.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTFALLBACK_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTFALLBACK_H

#include "backends/cuda/library/LibraryOptions.h"
#include "backends/cuda/library/LtContext.h"
#include "backends/cuda/library/LtKernels.h"
#include "backends/cuda/library/LtPlan.h"
#include "runtime/device/Library.h"

#include <functional>
#include <string>

namespace sinter::cuda {

/// What the preparation of fallbacks needs, and how many there were for want of
/// an algorithm.
struct LtFallbacks {
  /// The device's kernels, which outlive all calls. Null: there are none.
  std::function<rt::Result<LtKernels *>()> openKernels;
  uint64_t numProducts = 0, numFallbacks = 0;
  std::string firstReason; // of numFallbacks
  /// Products of programs whose ReLU stays the library's, which may
  /// make 0 of NaN, because a fallback cannot be prepared.
  uint64_t numHidingNan = 0;
  std::string firstHidingNan; // why
};

/// Prepares a product without the epilogue of `plan`, and the kernels that
/// apply it. The result is the same except for roundings: a 16-bit result is
/// rounded once, at the end. The float32 product of such a result takes at most
/// half of the workspace; if that is too little, it is made in pieces of
/// columns. Fails with SINTER_UNSUPPORTED if one column does not fit or the
/// library has no algorithm for the plain product.
rt::Result<std::unique_ptr<rt::LibraryCall>>
prepareLtFallback(const LtContext &context, const LtPlan &plan,
                  const sinter_command &command, const LibraryOptions &options,
                  LtKernels &kernels);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTFALLBACK_H
