//===- DnnConv.h - convolutions by cuDNN ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_DNNCONV_H
#define SINTER_BACKENDS_CUDA_LIBRARY_DNNCONV_H

#include "backends/cuda/library/DnnPlan.h"
#include "backends/cuda/library/LibraryOptions.h"
#include "runtime/device/Library.h"

#include <functional>
#include <memory>

namespace sinter::cuda {

/// Queues zeros on a stream of the device.
using ZeroFill =
    std::function<rt::Status(void *to, uint64_t sizeBytes, void *stream)>;

/// Prepares a CONV. Fails with SINTER_UNSUPPORTED and a reason if cuDNN cannot
/// compute it. `context` and `zeroFill` must outlive the call.
rt::Result<std::unique_ptr<rt::LibraryCall>>
prepareDnnConv(const DnnContext &context, const sinter_command &command,
               const LibraryOptions &options, const ZeroFill &zeroFill);

/// Likewise prepares an ATTENTION.
rt::Result<std::unique_ptr<rt::LibraryCall>>
prepareDnnAttention(const DnnContext &context, const sinter_command &command,
                    const LibraryOptions &options, const ZeroFill &zeroFill);

/// The same for a given graph, whose tensors name slices of `command`. `name`
/// begins the description.
rt::Result<std::unique_ptr<rt::LibraryCall>>
prepareDnnGraph(const DnnContext &context, const sinter_command &command,
                DnnGraph graph, const std::string &name,
                const LibraryOptions &options, const ZeroFill &zeroFill);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_DNNCONV_H
