//===- DotDepthwise.h - filters of channels by vdpbf16ps --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_DOTDEPTHWISE_H
#define SINTER_BACKENDS_CPU_DEVICE_DOTDEPTHWISE_H

#include "backends/cpu/device/OneDnnPrimitive.h"
#include "runtime/base/Float16.h"
#include "runtime/device/Library.h"

#include <memory>

namespace sinter::cpu {

/// The call of `command`, which fitsBfloatStore() and DepthwiseCall::fits();
/// null for windows that DepthwiseLine.h has no function for.
/// `constantFilter` may be null.
std::unique_ptr<rt::LibraryCall>
makeDotDepthwise(OneDnnContext &context, const sinter_command &command,
                 const rt::Bfloat *constantFilter);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_DOTDEPTHWISE_H
