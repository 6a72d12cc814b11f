//===- Passes.h - creating and registering passes ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PASSES_H
#define SINTER_PASSES_PASSES_H

#include "passes/AssignPrecision.h"
#include "passes/FuseEpilogues.h"
#include "passes/FuseSiblings.h"
#include "passes/FuseStages.h"
#include "passes/MergeContractions.h"
#include "passes/PlaceOps.h"
#include "passes/SplitContractions.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace sinter::passes {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace sinter::passes

#endif // SINTER_PASSES_PASSES_H
