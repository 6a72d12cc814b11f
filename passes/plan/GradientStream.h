//===- GradientStream.h - gradients of weights on a stream ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_GRADIENTSTREAM_H
#define SINTER_PASSES_PLAN_GRADIENTSTREAM_H

#include "passes/plan/CommandGraph.h"

#include "llvm/ADT/BitVector.h"

namespace sinter::passes::plan {

/// Moves the contractions that compute gradients of weights to the gradient
/// stream, with what reads their results. `hasStreams` tells for each device
/// whether commands on different streams of it run at once; contractions of
/// fewer multiply-adds than `leastMultiplyAdds` stay. Returns the number of
/// contractions moved.
unsigned useGradientStream(CommandGraph &graph,
                           const llvm::BitVector &hasStreams,
                           double leastMultiplyAdds);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_GRADIENTSTREAM_H
