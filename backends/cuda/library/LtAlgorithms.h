//===- LtAlgorithms.h - comparing and storing algorithms --------*- C++ -*-===//
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

/// The largest number of the heuristics' algorithms to compare.
inline constexpr int maxLtCandidates = 8;

/// Alignments in bytes of A, B, C, D, the bias and the auxiliary matrix; 0 for
/// those that are absent.
using LtAlignments = std::array<uint32_t, 6>;

/// One line that names everything that the choice of an algorithm depends on,
/// except library and device.
std::string textOf(const LtPlan &plan, const LtAlignments &alignments,
                   const LibraryOptions &options);

/// An algorithm as text, for the same version of the library, and the reverse,
/// if the text is an algorithm.
std::string textOf(const lt::Algo &algo);
std::optional<lt::Algo> readAlgo(const std::string &text);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTALGORITHMS_H
