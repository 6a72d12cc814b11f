//===- EagerOrder.h - last in, first out ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_EAGERORDER_H
#define SINTER_PASSES_PLAN_EAGERORDER_H

#include "passes/plan/CommandGraph.h"

namespace sinter::passes::plan {

/// Reorders the commands after the turn: those that read the newest values from
/// before the turn come first, and those that read no such value as soon as
/// they can. Values that are computed again are then needed only for a short
/// time: the backward pass of a block, with the gradients of its weights, ends
/// before that of the previous block begins.
Order eagerAfter(const CommandGraph &graph, const Order &order, unsigned turn);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_EAGERORDER_H
