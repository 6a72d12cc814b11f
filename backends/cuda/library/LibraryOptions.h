//===- LibraryOptions.h - what a device lets its libraries do ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LIBRARYOPTIONS_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LIBRARYOPTIONS_H

#include "sinter/abi.h"

#include <cstdint>
#include <memory>
#include <numeric>

namespace sinter::cuda {

class PlanCache;

struct LibraryOptions {
  /// What one call may take of the program's scratch (CallMeans).
  uint64_t maxWorkspaceBytes = 32u << 20;
  /// Only algorithms whose sums have one order. What they compute then depends
  /// on the shape, the device and the library's version alone.
  bool deterministic = true;
  /// Where choices and execution plans are kept; null: calls take what the
  /// heuristics put first, and nothing is timed.
  std::shared_ptr<PlanCache> cache;
};

/// What is known of the address of a slice before there is memory: buffers of a
/// device begin at multiples of 256 bytes, states of a block at multiples of
/// 64.
inline uint64_t alignmentOf(const sinter_slice &slice) {
  uint64_t base = slice.space == SINTER_SPACE_STATE ? 64 : 256;
  return slice.offsetBytes ? std::gcd(base, slice.offsetBytes) : base;
}

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LIBRARYOPTIONS_H
