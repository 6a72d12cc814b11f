//===- Footprint.h - what a program takes of a device's memory --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The promise that --memory-limit is about. The run tower takes no more on a
// device than this: one arena for all entries, states, the constants that
// commands read, what inputs and outputs travel through, and what library calls
// are allowed. The same before and after the plan phase but for the arena,
// which only the plan knows.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_FOOTPRINT_H
#define SINTER_PASSES_PLAN_FOOTPRINT_H

#include "ir/exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::passes::plan {

/// Bytes on one device.
struct Footprint {
  int64_t arena = 0, states = 0, constants = 0, inputs = 0, workspace = 0;
  /// What does not depend on the plan.
  int64_t fixed() const { return states + constants + inputs + workspace; }
  int64_t total() const { return arena + fixed(); }
};

/// `place` is the device's number in the program. `workspaceBytes`: what
/// library calls that have a choice may take, counted when there are any calls;
/// the gradient of attention has none and counts with what it needs.
/// `hasOwnMemory`: the device is not the CPU, so that inputs are staged for two
/// runs.
Footprint footprintOf(mlir::ModuleOp module, int64_t place,
                      int64_t workspaceBytes, bool hasOwnMemory);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_FOOTPRINT_H
