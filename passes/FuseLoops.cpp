//===- FuseLoops.cpp - ops that become one kernel -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Puts every op that is neither a library call nor free into a `sinter.fusion`;
// Clustering says which share one. Epilogues of library calls are taken before,
// by FuseEpilogues; the kernels that end a program are merged after, by
// FuseOutputs.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/Clustering.h"
#include "passes/fuse/KeptStates.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSELOOPS
#include "passes/Passes.h.inc"

namespace {

struct FuseLoopsPass : impl::FuseLoopsBase<FuseLoopsPass> {
  void runOnOperation() override {
    readKeptStates(getOperation());
    Clustering clustering(getOperation());
    clustering.run();
    if (failed(clustering.build()))
      signalPassFailure();
  }
};

} // namespace
} // namespace sinter::passes
