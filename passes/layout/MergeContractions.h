//===- MergeContractions.h - merge products of one operand ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_MERGECONTRACTIONS_H
#define SINTER_PASSES_LAYOUT_MERGECONTRACTIONS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Creates the pass for programs on `target`, or on `devices` if the program
/// spans several. Both must outlive the pass; without a target nothing is
/// merged. An empty `trainedIn` merges products with constants. With bf16 or
/// fp16 the program is one that is differentiated later and whose contractions
/// will be in that type; products with states are merged.
std::unique_ptr<mlir::Pass>
createMergeContractions(const Target *target,
                        llvm::ArrayRef<ProgramDevice> devices,
                        llvm::StringRef trainedIn = "");

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_MERGECONTRACTIONS_H
