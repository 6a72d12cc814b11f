//===- ConvChains.h - convolutions that may run together --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_CONVCHAINS_H
#define SINTER_PASSES_PLAN_CONVCHAINS_H

#include "passes/plan/CommandGraph.h"

namespace sinter::passes::plan {

/// Sets Command::chained of convolutions on a CPU whose results are larger than
/// its caches, if computing them together with the next one, in bands of rows,
/// saves writing and reading these results. The program must be for one device,
/// the CPU.
void chainConvolutions(CommandGraph &graph);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_CONVCHAINS_H
