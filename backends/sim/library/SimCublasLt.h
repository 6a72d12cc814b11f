//===- SimCublasLt.h - a cuBLASLt that checks its calls ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The functions of cuda::lt::Api for the simulated device. Every rule of the
// vendor's documents that the real library leaves to its caller is an error
// here, told by lastError(): types, leading dimensions, disjoint results,
// epilogues, workspace, alignment, lifetimes. Products are summed over k in
// order, in fp32 (fp64 for fp64, int32 for int8): no rounding depends on
// threads. Calls compute at once; whoever runs streams calls from there.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMCUBLASLT_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMCUBLASLT_H

#include "backends/cuda/library/LtApi.h"

namespace sinter::sim {

const cuda::lt::Api &ltApi();

/// Handles, descriptors, layouts and preferences that were not destroyed.
size_t ltLiveObjects();

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMCUBLASLT_H
