//===- Passes.h - creating and registering passes ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PASSES_H
#define SINTER_PASSES_PASSES_H

#include "passes/fuse/ChooseCalls.h"
#include "passes/fuse/ChunkRows.h"
#include "passes/fuse/FuseEpilogues.h"
#include "passes/fuse/FuseRows.h"
#include "passes/fuse/FuseSiblings.h"
#include "passes/fuse/FuseStages.h"
#include "passes/fuse/PersistentKernel.h"
#include "passes/fuse/SplitAttention.h"
#include "passes/fuse/SplitContractions.h"
#include "passes/layout/MergeContractions.h"
#include "passes/place/PlaceOps.h"
#include "passes/precision/AssignPrecision.h"
#include "passes/simplify/QuantizeContractions.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace sinter::passes {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace sinter::passes

#endif // SINTER_PASSES_PASSES_H
