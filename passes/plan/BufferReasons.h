//===- BufferReasons.h - why a buffer takes memory --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_BUFFERREASONS_H
#define SINTER_PASSES_PLAN_BUFFERREASONS_H

#include "passes/plan/Plan.h"

namespace sinter::passes::plan {

/// Reports which command computes which nodes: all commands but records and
/// waits. Commands have their numbers in the program, which count those too.
void explainCommands(exec::ProgramOp program);

/// Reports for each buffer of `program` its bytes, where they are, from which
/// command to which, and whether they are part of the peak: the command at
/// which the live bytes of all arenas are most. The program was made by the
/// plan.
void explainBuffers(const CommandGraph &graph, const Plan &plan,
                    const ProgramLayout &layout, exec::ProgramOp program);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_BUFFERREASONS_H
