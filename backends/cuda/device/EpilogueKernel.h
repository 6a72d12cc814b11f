//===- EpilogueKernel.h - the kernels for epilogues -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What EpilogueKernel.cpp (device code) and whoever launches it agree on. Each
// kernel has one parameter: LtEpilogueArgs or LtSumArgs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_EPILOGUEKERNEL_H
#define SINTER_BACKENDS_CUDA_DEVICE_EPILOGUEKERNEL_H

#include "backends/cuda/library/LtEpilogue.h"

namespace sinter::cuda {

/// A block computes tiles of this many elements of D, with one warp for each
/// row of the block.
inline constexpr int epilogueTileRows = 32, epilogueTileCols = 64,
                     epilogueBlockRows = 8;
/// A block adds up this many lines, with a thread for each partial sum.
inline constexpr int sumTileLines = 32;

inline constexpr const char *epilogueKernelName = "sinter_lt_epilogue";
inline constexpr const char *sumKernelName = "sinter_lt_sums";

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_EPILOGUEKERNEL_H
