//===- Cost.h - what a fusion costs to run ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_REMAT_COST_H
#define SINTER_PASSES_REMAT_COST_H

#include "ir/Dialect.h"

namespace sinter::passes::plan {

/// Two per multiply-add of contractions, one per element of everything else
/// that is computed (of reductions: per element that they read). A measure of
/// work, for choosing what is computed again.
double flopsOf(ir::FusionOpInterface fusion);

/// How long a fusion runs on a CPU, as the bytes that memory could have moved
/// in that time: those that it reads and writes, or more when what it computes
/// takes longer ("roofline", Williams et al. 2009). For comparing kernels.
double cpuTimeOf(ir::FusionOpInterface fusion);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_REMAT_COST_H
