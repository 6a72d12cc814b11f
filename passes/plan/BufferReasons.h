//===- BufferReasons.h - why a buffer takes memory --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_BUFFERREASONS_H
#define SINTER_PASSES_PLAN_BUFFERREASONS_H

#include "passes/plan/ScanBody.h"

namespace sinter::passes::plan {

/// A program that was made by the plan.
struct WrittenProgram {
  exec::ProgramOp program;
  const CommandGraph &graph;
  const Plan &plan;
  const ProgramLayout &layout;
};

/// Reports which command computes which nodes: all commands but records and
/// waits. Commands have their numbers in the program, which count those too:
/// "15", or "15.0" for the first one in the body of the scan that is command
/// 15. Then reports for each buffer its bytes, where they are, from which
/// command to which, and whether they are part of the peak of their device: the
/// command at which most bytes of its arena are live. Offsets of a body are
/// those in the arena of its program. `bodies` are the programs of bodies.
void explainProgram(
    const WrittenProgram &written,
    const llvm::DenseMap<const PlannedBody *, exec::ProgramOp> &bodies);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_BUFFERREASONS_H
