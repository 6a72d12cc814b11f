//===- EagerOrder.h - last in, first out ------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_EAGERORDER_H
#define SINTER_PASSES_PLAN_EAGERORDER_H

#include "passes/plan/CommandGraph.h"

namespace sinter::passes::plan {

/// `order` with other commands after the turn: those that read the values that
/// were written last before it come first, and those that read none of these as
/// soon as they can. What is computed again for some of them is then needed for
/// a short time: the backward pass of a block, with the gradients of its
/// weights, ends before that of the block before it begins.
Order eagerAfter(const CommandGraph &graph, const Order &order, unsigned turn);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_EAGERORDER_H
