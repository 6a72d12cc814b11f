//===- Footprint.h - device memory that a program uses ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The numbers that --memory-limit is about. The run tower uses no more memory
// of a device than this: one arena for all entries, states, the constants that
// commands read, the buffers through which inputs and outputs travel, and the
// workspace of library calls, one for each stream with such calls. Only the
// arena and the number of streams depend on the plan; the other numbers are the
// same before and after the plan phase.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_FOOTPRINT_H
#define SINTER_PASSES_PLAN_FOOTPRINT_H

#include "ir/exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"

namespace sinter::passes::plan {

/// Bytes on one device.
struct Footprint {
  int64_t arena = 0, states = 0, constants = 0, inputs = 0;
  int64_t workspace = 0;  // of the library calls of one stream
  int64_t workspaces = 0; // streams with library calls
  int64_t allWorkspaces() const { return workspaces * workspace; }
  /// The bytes that do not depend on the plan.
  int64_t fixed() const {
    return states + constants + inputs + allWorkspaces();
  }
  int64_t total() const { return arena + fixed(); }
};

/// `place` is the number of the device in the program. `workspaceBytes` is what
/// library calls with a choice of algorithms may use; it counts if there are
/// any calls. The gradient of attention has no choice and counts with what it
/// needs, if `hasOwnMemory`: the device is not the CPU. Then inputs are staged
/// for two runs, too.
Footprint footprintOf(mlir::ModuleOp module, int64_t place,
                      int64_t workspaceBytes, bool hasOwnMemory);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_FOOTPRINT_H
