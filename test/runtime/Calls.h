//===- Calls.h - commands that a library computes ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_CALLS_H
#define SINTER_TEST_RUNTIME_CALLS_H

#include "sinter/abi.h"

namespace sinter::test {

inline sinter_command commandOf(uint32_t kind) {
  sinter_command command{};
  command.kind = kind;
  command.label = "node";
  return command;
}

/// A command that computes `*params`, which must outlive it; without slices.
inline sinter_command callOf(const sinter_matmul *params) {
  sinter_command command = commandOf(SINTER_CMD_MATMUL);
  command.matmul.params = params;
  return command;
}
inline sinter_command callOf(const sinter_conv *params) {
  sinter_command command = commandOf(SINTER_CMD_CONV);
  command.conv.params = params;
  return command;
}
inline sinter_command callOf(const sinter_attention *params) {
  sinter_command command = commandOf(SINTER_CMD_ATTENTION);
  command.attention.params = params;
  return command;
}

/// [batch, rows, heads, depth] with `gap` elements between rows, as projections
/// of queries, keys and values are stored.
inline sinter_heads interleaved(int64_t rows, int64_t heads, int64_t depth,
                                int64_t gap) {
  const int64_t row = heads * depth + gap;
  return {rows * row, depth, row};
}

/// A product of dense matrices of float32.
inline sinter_matmul dense(int64_t m, int64_t n, int64_t k) {
  sinter_matmul p{};
  p.dtype = p.outDtype = SINTER_F32;
  p.m = m;
  p.n = n;
  p.k = k;
  p.aStrideM = k;
  p.aStrideK = 1;
  p.bStrideK = n;
  p.bStrideN = 1;
  p.cStrideM = n;
  p.cStrideN = 1;
  return p;
}

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_CALLS_H
