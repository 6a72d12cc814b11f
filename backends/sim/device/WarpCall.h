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

/// One lane's part in a meeting of its warp; on the lane's stack.
struct WarpCall {
  enum Kind : uint8_t { Sync, Shuffle, Vote, Reduce, Match, LoadMatrix, Mma };
  Kind kind = Sync;
  uint32_t mode = 0;  // sinter_sim_shuffle, _combine, _mma; matrices to load
  uint64_t value = 0; // the lane's operand
  uint32_t lane = 0, clamp = 0;       // for shuffles
  bool isTransposed = false;          // for ldmatrix
  const void *address = nullptr;      // for ldmatrix: the lane's row
  const uint32_t *operands = nullptr; // for mma
  uint32_t *registers = nullptr;      // for ldmatrix and mma: the result
  uint64_t result = 0;
};

/// Computes the result of every lane of `mask`; entries outside it are null.
/// Returns the lane that read from a lane outside `mask`, or -1.
int computeWarp(WarpCall *const *lanes, uint32_t mask);

/// Computes the results of all lanes of a warp from their operands.
void computeMma(WarpCall *const *lanes);
void computeLoadMatrix(WarpCall *const *lanes);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_WARPCALL_H
