//===- Cost.h - floating-point operations of a fusion -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_COST_H
#define SINTER_PASSES_PLAN_COST_H

#include "ir/Dialect.h"

namespace sinter::passes::plan {

/// Two per multiply-add of contractions, one per element of everything else
/// that is computed (of reductions: per element that they read). A measure of
/// work, for choosing what is computed again.
double flopsOf(ir::FusionOp fusion);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_COST_H
