//===- ArtifactReport.h - what a compiled program is and does ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Reports of sinter-inspect about an artifact, as text or as one JSON value.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_ARTIFACTREPORT_H
#define SINTER_COMPILER_INSPECT_ARTIFACTREPORT_H

#include "sinter/abi.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// Inputs, outputs, state, work, memory, kernels, build id.
void reportSummary(const sinter_artifact &artifact, bool json,
                   llvm::raw_ostream &os);
/// The commands in order with their buffers, and the size of the arena.
void reportPlan(const sinter_artifact &artifact, bool json,
                llvm::raw_ostream &os);
/// Each kernel and library call: kind, nodes, number of calls, work and bytes.
void reportKernels(const sinter_artifact &artifact, bool json,
                   llvm::raw_ostream &os);
/// The same with the least time that the machine needs for all calls, the most
/// expensive first. The host is this machine or, by name, `mcpu`
/// (MachinePeaks.h).
void reportKernelsByTime(
    const sinter_artifact &artifact,
    llvm::function_ref<bool(llvm::StringRef target)> isHost,
    const std::string &mcpu, bool json, llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_ARTIFACTREPORT_H
