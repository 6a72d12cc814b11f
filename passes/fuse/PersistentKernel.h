//===- PersistentKernel.h - a function as one kernel ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A small program on a GPU takes less time than the launches of its kernels.
// `ChoosePersistent` marks the functions that shall be one kernel, before
// anything is fused: the code generator then computes all their contractions.
// `FusePersistent` makes the kernel, after everything is fused.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_PERSISTENTKERNEL_H
#define SINTER_PASSES_FUSE_PERSISTENTKERNEL_H

#include "passes/Target.h"

#include <memory>
#include <string>

namespace sinter::passes {

/// Of a function that shall be one kernel: "auto", if that is possible, or
/// "on".
inline constexpr llvm::StringLiteral kPersistentAttr = "sinter.persistent";

/// Marks functions on a device whose blocks can wait for each other. `mode`:
/// "off": none; "auto": small ones; "on": all, and one for which that is
/// impossible is an error. The device is `target`, or that of `devices` which
/// the function is on; they must outlive the pass.
std::unique_ptr<mlir::Pass>
createChoosePersistent(const Target *target,
                       llvm::ArrayRef<ProgramDevice> devices,
                       const std::string &mode);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_PERSISTENTKERNEL_H
