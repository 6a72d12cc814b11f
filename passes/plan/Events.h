//===- Events.h - waits where data crosses devices --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_EVENTS_H
#define SINTER_PASSES_PLAN_EVENTS_H

#include "ir/exec/Exec.h"

namespace sinter::passes::plan {

/// Adds `exec.record`s and `exec.wait`s, so that commands which touch the same
/// bytes run in the program's order though they are on different places or
/// streams. An event is recorded straight after the command that is waited for
/// and waited for straight before the one that needs it, so that everything
/// else overlaps. Nothing for one place.
void insertEvents(exec::ProgramOp program, size_t numPlaces);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_EVENTS_H
