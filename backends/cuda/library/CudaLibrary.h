//===- CudaLibrary.h - contractions of a CUDA device ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Matrix products by cuBLASLt and convolutions by cuDNN's graph API, called
// through tables of functions. Those of the CUDA device are loaded from the
// vendor's files (Loader.h); those of the simulated device check their
// arguments.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_CUDALIBRARY_H
#define SINTER_BACKENDS_CUDA_LIBRARY_CUDALIBRARY_H

#include "backends/cuda/library/DnnApi.h"
#include "backends/cuda/library/LibraryOptions.h"
#include "backends/cuda/library/LtKernels.h"
#include "runtime/device/Library.h"

#include <functional>
#include <memory>

namespace sinter::cuda {

/// Each function is called at the first command that needs it, with the
/// device's context current. The tables live as long as the process. A failure
/// is one line that names package and version.
struct LibraryTables {
  std::function<rt::Result<const lt::Api *>()> openLt;
  std::function<rt::Result<const dnn::Api *>()> openDnn;
  /// Queues zeros on a stream of the device.
  std::function<rt::Status(void *to, uint64_t sizeBytes, void *stream)>
      zeroFill;
  /// The kernels for epilogues that cuBLASLt lacks. They live as long as the
  /// library. If null, such products are not supported.
  std::function<rt::Result<std::unique_ptr<LtKernels>>()> openLtKernels;
};

std::unique_ptr<rt::Library> createCudaLibrary(LibraryTables tables,
                                               const LibraryOptions &options);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_CUDALIBRARY_H
