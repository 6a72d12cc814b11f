//===- MergeContractions.h - products of one operand, as one ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_MERGECONTRACTIONS_H
#define SINTER_PASSES_LAYOUT_MERGECONTRACTIONS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// The pass for programs on `target`, or on `devices` where they span several;
/// both outlive it. Without a target nothing is merged. With `trainedIn`, bf16
/// or fp16, it is for a program that is going to be differentiated and has its
/// contractions in that, and states are merged, else constants.
std::unique_ptr<mlir::Pass>
createMergeContractions(const Target *target,
                        llvm::ArrayRef<ProgramDevice> devices,
                        llvm::StringRef trainedIn = "");

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_MERGECONTRACTIONS_H
