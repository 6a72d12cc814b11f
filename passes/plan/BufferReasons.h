//===- BufferReasons.h - why a buffer takes memory --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_BUFFERREASONS_H
#define SINTER_PASSES_PLAN_BUFFERREASONS_H

#include "passes/plan/Plan.h"

namespace sinter::passes::plan {

/// Reports for each buffer of `program` its bytes, where they are, from which
/// command to which, and whether they are part of the peak: the command at
/// which the live bytes of all arenas are most.
void explainBuffers(const CommandGraph &graph, const Plan &plan,
                    const ProgramLayout &layout, llvm::StringRef program);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_BUFFERREASONS_H
