//===- FuseRows.h - attention with one query as one kernel ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSEROWS_H
#define SINTER_PASSES_FUSE_FUSEROWS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Makes one kernel of a product of vectors, a reduction along the rows of its
/// result, and a product of vectors with these rows, on targets whose launches
/// are expensive: `target`, or that of `devices` which the function is on.
/// Without a target nothing is done. They must outlive the pass.
std::unique_ptr<mlir::Pass>
createFuseRows(const Target *target, llvm::ArrayRef<ProgramDevice> devices);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSEROWS_H
