//===- Cost.h - the cost of running a fusion --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_COST_H
#define SINTER_PASSES_REMAT_COST_H

#include "ir/Dialect.h"

namespace sinter::passes::plan {

/// Counts two operations per multiply-add of a contraction, one per element
/// that a reduction reads, and one per element that any other op computes. A
/// measure of work, for choosing what is computed again.
double flopsOf(ir::FusionOpInterface fusion);

/// Estimates how long a fusion runs on a CPU, as the number of bytes that
/// memory could move in that time: the bytes that it reads and writes, or more
/// if computing takes longer ("roofline", Williams et al. 2009). For comparing
/// kernels.
double cpuTimeOf(ir::FusionOpInterface fusion);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_COST_H
