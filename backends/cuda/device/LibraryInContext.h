//===- LibraryInContext.h - a library's work in one context -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_LIBRARYINCONTEXT_H
#define SINTER_BACKENDS_CUDA_DEVICE_LIBRARYINCONTEXT_H

#include "backends/cuda/device/CudaContext.h"
#include "runtime/device/Library.h"

#include <memory>

namespace sinter::cuda {

/// `library` with `context`, which must outlive it, current whenever it or one
/// of its calls works. Without a current context, NVIDIA's libraries work on
/// the process's first device.
std::unique_ptr<rt::Library> inContext(const CudaContext &context,
                                       std::unique_ptr<rt::Library> library);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_LIBRARYINCONTEXT_H
