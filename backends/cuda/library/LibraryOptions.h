//===- LibraryOptions.h - what device libraries may do ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LIBRARYOPTIONS_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LIBRARYOPTIONS_H

#include "sinter/abi.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>

namespace sinter::cuda {

class PlanCache;

struct LibraryOptions {
  /// The scratch of the program that one call may use (CallMeans).
  uint64_t maxWorkspaceBytes = 32u << 20;
  /// Allow only algorithms that sum in a fixed order. Results then depend only
  /// on the shape, the device and the library's version.
  bool deterministic = true;
  /// ReLU of NaN must be NaN (CallMeans).
  bool keepsNan = true;
  /// Stores choices and execution plans. If null, calls use the heuristics'
  /// first choice, and nothing is timed.
  std::shared_ptr<PlanCache> cache;
  /// Takes one line that users should see. May be null.
  std::function<void(const std::string &line)> note;
};

/// The alignment of a slice that is known before memory is allocated: buffers
/// of a device begin at multiples of 256 bytes, states of a block at multiples
/// of 64.
inline uint64_t alignmentOf(const sinter_slice &slice) {
  uint64_t base = slice.space == SINTER_SPACE_STATE ? 64 : 256;
  return slice.offsetBytes ? std::gcd(base, slice.offsetBytes) : base;
}

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LIBRARYOPTIONS_H
