//===- AlignContractions.h - contractions for libraries ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_ALIGNCONTRACTIONS_H
#define SINTER_PASSES_LAYOUT_ALIGNCONTRACTIONS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// The pass for programs on `target`, or on `devices` where they span several;
/// both outlive it. Products that run on tensor cores are padded. Without a
/// target nothing is.
std::unique_ptr<mlir::Pass>
createAlignContractions(const Target *target,
                        llvm::ArrayRef<ProgramDevice> devices);

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_ALIGNCONTRACTIONS_H
