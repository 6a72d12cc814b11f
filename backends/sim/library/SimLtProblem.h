//===- SimLtProblem.h - one product, read from descriptors ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMLTPROBLEM_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMLTPROBLEM_H

#include "backends/cuda/library/LtApi.h"

#include <cstdint>
#include <string>

namespace sinter::sim {

struct LtMatrix {
  int32_t type = 0;
  uint64_t rows = 0, cols = 0;
  int64_t ld = 0;
  int32_t order = 0; // columns
  int32_t batch = 1;
  int64_t batchStride = 0;

  uint64_t elementBytes() const;
  /// The number of bytes from the first through the last.
  uint64_t extentBytes() const;
  bool operator==(const LtMatrix &) const = default;
};

/// The attributes of a descriptor.
struct LtOperation {
  int32_t computeType = 0, scaleType = 0;
  int32_t pointerMode = 0;
  int32_t transA = 0, transB = 0;
  uint32_t epilogue = cuda::lt::epilogueDefault;
  void *bias = nullptr, *aux = nullptr;
  int32_t biasType = -1, auxType = -1;
  int64_t biasBatchStride = 0, auxLd = 0, auxBatchStride = 0;

  bool hasBias() const {
    return epilogue & (cuda::lt::epilogueBias | 16u | 256u | 512u);
  }
  bool hasAux() const { return epilogue & 128u; }
  bool isRelu() const { return epilogue & (cuda::lt::epilogueRelu | 8u); }
};

struct LtProblem {
  LtOperation operation;
  LtMatrix a, b, c, d;
  uint64_t m = 0, n = 0, k = 0;

  /// Empty, or the violated rule.
  std::string check();
  /// The same for the addresses of a call.
  std::string checkAddresses(const void *a, const void *b, const void *c,
                             const void *d, bool readsC) const;
  /// A hash of everything that the choice of an algorithm depends on.
  uint64_t hash() const;

  void compute(const void *alpha, const void *a, const void *b,
               const void *beta, const void *c, void *d) const;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMLTPROBLEM_H
