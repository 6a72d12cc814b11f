//===- ChooseCalls.h - library calls or generated kernels -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_CHOOSECALLS_H
#define SINTER_PASSES_FUSE_CHOOSECALLS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Of a contraction that becomes a kernel although the target has a call for
/// it.
inline constexpr llvm::StringLiteral kGeneratedAttr = "sinter.generated";

/// What `contraction` becomes on `target`, which may be null: as
/// Target::implementationOf says, but no library call if it is marked, or in a
/// function that becomes one kernel.
Implementation implementationOf(mlir::Operation *contraction,
                                const Target *target);

/// Marks contractions that a kernel shall compute instead of a library. The
/// rule marks none; another decision (ir/Decisions.h) may. The target is that
/// of the function's device, and `target` for a program that names none; they
/// must outlive the pass.
std::unique_ptr<mlir::Pass>
createChooseCalls(const Target *target, llvm::ArrayRef<ProgramDevice> devices);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_CHOOSECALLS_H
