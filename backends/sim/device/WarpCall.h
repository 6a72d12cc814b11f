//===- WarpCall.h - what the threads of a warp do together ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_WARPCALL_H
#define SINTER_BACKENDS_SIM_DEVICE_WARPCALL_H

#include "sinter/sim.h"

#include <cstdint>

namespace sinter::sim {

/// One lane's part in a meeting of its warp; lives on the lane's stack.
struct WarpCall {
  enum Kind : uint8_t { Sync, Shuffle, Vote, Reduce, Match, LoadMatrix, Mma };
  Kind kind = Sync;
  uint32_t mode = 0;  // sinter_sim_shuffle, _combine, _mma; matrices to load
  uint64_t value = 0; // what the lane brings
  uint32_t lane = 0, clamp = 0;       // of shuffles
  bool isTransposed = false;          // of ldmatrix
  const void *address = nullptr;      // of ldmatrix: the lane's row
  const uint32_t *operands = nullptr; // of mma
  uint32_t *registers = nullptr;      // of ldmatrix and mma: the result
  uint64_t result = 0;
};

/// Computes the result of every lane of `mask`; null entries are not in it.
/// Returns the lane that read from one outside `mask`, or -1.
int computeWarp(WarpCall *const *lanes, uint32_t mask);

/// Fragments of a whole warp: results from operands, per lane.
void computeMma(WarpCall *const *lanes);
void computeLoadMatrix(WarpCall *const *lanes);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_WARPCALL_H
