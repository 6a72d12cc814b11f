//===- GatherKernel.h - the kernel that gathers rows ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What GatherKernel.cpp (device code) and whoever launches it agree on. The
// kernel has one parameter, an rt::RowGather. Dimension y of the grid is the
// column.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_GATHERKERNEL_H
#define SINTER_BACKENDS_CUDA_DEVICE_GATHERKERNEL_H

#include "runtime/device/RowGather.h"

namespace sinter::cuda {

inline constexpr const char *gatherKernelName = "sinter_gather_rows";
inline constexpr uint32_t gatherBlock = 256;

/// The largest number of bytes, up to 16, in which all rows of `column` can be
/// copied: a power of two.
constexpr uint64_t gatherUnit(uint64_t from, uint64_t to, uint64_t rowBytes) {
  const uint64_t bits = from | to | rowBytes | 16;
  return bits & (~bits + 1);
}
inline uint64_t gatherUnit(const rt::RowColumn &column) {
  return gatherUnit(reinterpret_cast<uint64_t>(column.from),
                    reinterpret_cast<uint64_t>(column.to), column.rowBytes);
}

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_GATHERKERNEL_H
