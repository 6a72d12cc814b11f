//===- EpilogueKernel.cpp - cuBLASLt's epilogues as kernels ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Device code: the build compiles it to PTX, which EpilogueModule.cpp holds as
// text and launches with the blocks of EpilogueKernel.h; every
// kernel works with any number of blocks.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/device/EpilogueKernel.h"

using namespace sinter::cuda;

namespace {

struct Gpu {
  static float exp2(float x) { return __nvvm_ex2_approx_f(x); }
  static float fromHalf(uint16_t bits) {
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
  }
  static float fromBfloat(uint16_t bits) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
  }
  static uint16_t toHalf(float value) {
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
  }
  static uint16_t toBfloat(float value) {
    return __builtin_bit_cast(uint16_t, static_cast<__bf16>(value));
  }
};

inline int threadX() { return __nvvm_read_ptx_sreg_tid_x(); }
inline int threadY() { return __nvvm_read_ptx_sreg_tid_y(); }
inline int64_t blockX() {
  return static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x());
}
inline int64_t numBlocks() {
  return static_cast<uint32_t>(__nvvm_read_ptx_sreg_nctaid_x());
}

} // namespace

/// A warp takes 32 rows of a column, so that it has whole bytes of a mask.
extern "C" __attribute__((nvptx_kernel)) void
sinter_lt_epilogue(const LtEpilogueArgs args) {
  const int64_t rowTiles = (args.m + epilogueTileRows - 1) / epilogueTileRows,
                colTiles = (args.n + epilogueTileCols - 1) / epilogueTileCols;
  const bool hasMask = storesMask(args);
  for (int64_t tile = blockX(), tiles = rowTiles * colTiles * args.batch;
       tile < tiles; tile += numBlocks()) {
    const int64_t i = tile % rowTiles * epilogueTileRows + threadX(),
                  firstCol = tile / rowTiles % colTiles * epilogueTileCols,
                  b = tile / rowTiles / colTiles;
    for (int step = threadY(); step < epilogueTileCols;
         step += epilogueBlockRows) {
      const int64_t j = firstCol + step;
      if (j >= args.n)
        break;
      bool isPositive = false;
      if (i < args.m)
        isPositive = applyEpilogue<Gpu>(args, i, j, b);
      if (!hasMask)
        continue;
      unsigned bits = __nvvm_vote_ballot_sync(0xffffffffu, isPositive);
      if (threadX() % 8 == 0 && i < args.m)
        storeMask(args, i, j, b, bits >> threadX());
    }
  }
}

[[clang::loader_uninitialized]] static __attribute__((
    address_space(3))) float partials[sumTileLines][ltSumLanes + 1];

/// Neighbouring threads read neighbouring elements: those of other lines, or of
/// the same line if its terms are adjacent.
extern "C" __attribute__((nvptx_kernel)) void
sinter_lt_sums(const LtSumArgs args) {
  const int thread = threadX();
  const bool isAlongTerms = args.termStride == 1;
  const int lane = isAlongTerms ? thread % ltSumLanes : thread / sumTileLines,
            row = isAlongTerms ? thread / ltSumLanes : thread % sumTileLines;
  for (int64_t first = blockX() * sumTileLines; first < args.lines;
       first += numBlocks() * sumTileLines) {
    if (first + row < args.lines)
      partials[row][lane] = partialSum<Gpu>(args, first + row, lane);
    __syncthreads();
    if (thread < sumTileLines && first + thread < args.lines) {
      float own[ltSumLanes];
      for (int p = 0; p < ltSumLanes; ++p)
        own[p] = partials[thread][p];
      finishSum<Gpu>(args, first + thread, own, 1);
    }
    __syncthreads();
  }
}
