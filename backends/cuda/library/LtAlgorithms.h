//===- LtAlgorithms.h - algorithms of cuBLASLt compared ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTALGORITHMS_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTALGORITHMS_H

#include "backends/cuda/library/LibraryOptions.h"
#include "backends/cuda/library/LtApi.h"
#include "backends/cuda/library/LtPlan.h"

#include <array>
#include <optional>
#include <string>

namespace sinter::cuda {

/// How many of the heuristics' algorithms are compared.
inline constexpr int maxLtCandidates = 8;

/// Bytes, of A, B, C, D, the bias and what is kept beside; 0: none.
using LtAlignments = std::array<uint32_t, 6>;

/// One line that names everything an algorithm is chosen by, but for library
/// and device.
std::string textOf(const LtPlan &plan, const LtAlignments &alignments,
                   const LibraryOptions &options);

/// An algorithm as text, for the same version of the library; and back, if it
/// is one.
std::string textOf(const lt::Algo &algo);
std::optional<lt::Algo> readAlgo(const std::string &text);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTALGORITHMS_H
