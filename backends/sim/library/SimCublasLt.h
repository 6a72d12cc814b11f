//===- SimCublasLt.h - a cuBLASLt that checks its calls ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The functions of cuda::lt::Api for the simulated device. A violation of any
// rule that the vendor documents but the real library does not check is an
// error here, which lastError() describes: types, leading dimensions, disjoint
// results, epilogues, workspace, alignment, lifetimes. Products are summed over
// k in order, in fp32 (fp64 for fp64, int32 for int8), so that no rounding
// depends on threads. Calls compute immediately; a device with streams makes
// them from there.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMCUBLASLT_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMCUBLASLT_H

#include "backends/cuda/library/LtApi.h"

namespace sinter::sim {

const cuda::lt::Api &ltApi();

/// The number of handles, descriptors, layouts and preferences that were not
/// destroyed.
size_t ltLiveObjects();

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMCUBLASLT_H
