//===- Events.h - waits where data crosses streams --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_EVENTS_H
#define SINTER_PASSES_PLAN_EVENTS_H

#include "ir/exec/Exec.h"

#include <vector>

namespace sinter::passes::plan {

/// Adds `exec.record`s and `exec.wait`s, so that commands which touch the same
/// bytes run in the order of the program even if they are on different devices
/// or streams. An event is recorded right after the command that is waited for,
/// and the wait is right before the command that needs it, so that everything
/// else overlaps. Does nothing if there is one stream.
void insertEvents(exec::ProgramOp program, size_t numPlaces);

/// The number in `program`, and so in the artifact, of each command but its
/// records and waits, which count too. With the commands of a plan in the
/// program, the element at a position in its order.
std::vector<size_t> commandNumbers(exec::ProgramOp program);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_EVENTS_H
