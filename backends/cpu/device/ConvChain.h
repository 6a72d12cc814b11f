//===- ConvChain.h - convolutions that run in bands -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A chain of convolutions is computed for one band of rows of the last result
// after the other, so that the results between them stay in a core's cache of
// level 2 (fused-layer convolution: Alwani et al., MICRO 2016). A worker keeps
// the rows that two bands need: only where it starts are some computed that
// another worker computes, too. What must stay true: bands depend on the shapes
// alone, and the bits of a row do not depend on the band.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CONVCHAIN_H
#define SINTER_BACKENDS_CPU_DEVICE_CONVCHAIN_H

#include "runtime/device/Library.h"

#include <functional>
#include <memory>
#include <span>

namespace sinter::cpu {

/// Makes the call of a CONV, which outlives it.
using PrepareMember =
    std::function<rt::Result<std::unique_ptr<rt::LibraryCall>>(
        const sinter_command &conv)>;

/// The chain of `commands`, which outlive it: forward, in two dimensions, with
/// channels last, pointwise or depthwise. Null for others, where bands are no
/// gain, and if they would take more scratch than `means` allow.
rt::Result<std::unique_ptr<rt::LibraryChain>>
prepareConvChain(std::span<const sinter_command> commands,
                 const rt::CallMeans &means, const PrepareMember &prepare);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CONVCHAIN_H
