//===- KeepRounded.h - 16-bit weights from step to step ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_KEEPROUNDED_H
#define SINTER_PASSES_LAYOUT_KEEPROUNDED_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Creates the pass for programs on `target`, or on `devices` if the program
/// spans several. Both must outlive the pass. Weights on a CPU are left alone
/// unless `alsoOnHost`; without a target there is none.
std::unique_ptr<mlir::Pass>
createKeepRounded(const Target *target, llvm::ArrayRef<ProgramDevice> devices,
                  bool alsoOnHost = false);

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_KEEPROUNDED_H
