//===- AlignContractions.h - contractions that libraries take ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_ALIGNCONTRACTIONS_H
#define SINTER_PASSES_LAYOUT_ALIGNCONTRACTIONS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Creates the pass for programs on `target`, or on `devices` if the program
/// spans several. Both must outlive the pass. Products that run on tensor cores
/// are padded; without a target nothing is padded.
std::unique_ptr<mlir::Pass>
createAlignContractions(const Target *target,
                        llvm::ArrayRef<ProgramDevice> devices);

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_ALIGNCONTRACTIONS_H
