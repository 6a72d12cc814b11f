//===- Passes.td - every pass ---------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One entry = passes/<phase>/<Name>.cpp = --sinter-<name> =
// test/passes/<name>.mlir. Entries are in the folders of the phases.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PASSES_TD
#define SINTER_PASSES_PASSES_TD

include "passes/simplify/Passes.td"
include "passes/recognize/Passes.td"
include "passes/train/Passes.td"
include "passes/place/Passes.td"
include "passes/precision/Passes.td"
include "passes/layout/Passes.td"
include "passes/distribute/Passes.td"
include "passes/fuse/Passes.td"
include "passes/remat/Passes.td"
include "passes/plan/Passes.td"
include "passes/kernels/Passes.td"

#endif // SINTER_PASSES_PASSES_TD
