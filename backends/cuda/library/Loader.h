//===- Loader.h - the vendor's libraries, opened ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each library is opened once, when first needed, and never closed. It is
// searched by name, as the system's loader does, then in $CUDA_HOME/lib64 and
// the toolkit's usual folder. A failure is one line that names library,
// versions and package.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LOADER_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LOADER_H

#include "backends/cuda/library/DnnApi.h"
#include "backends/cuda/library/LtApi.h"
#include "backends/cuda/library/NcclApi.h"
#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace sinter::cuda {

rt::Result<const lt::Api *> loadCublasLt();
rt::Result<const dnn::Api *> loadCudnn();
rt::Result<const nccl::Api *> loadNccl();

/// Name and version of the library that executes commands of a kind
/// (sinter_command_kind): "cuDNN 9.19.0". Empty for kinds that need no library.
rt::Result<std::string> libraryFor(uint32_t command);

/// Opens a library of the toolkit: tries dlopen of `names` in order, then of
/// each in the folders. `hint` ends the error: "cuDNN 9 (package
/// cudnn9-cuda-13)".
rt::Result<void *> openLibrary(const std::vector<std::string> &names,
                               const std::string &hint);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LOADER_H
