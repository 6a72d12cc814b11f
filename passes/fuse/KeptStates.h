//===- KeptStates.h - state updates that are conditional --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_KEPTSTATES_H
#define SINTER_PASSES_FUSE_KEPTSTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

/// Pattern: new state y = where(c, x, old), perhaps also rounded, and all other
/// uses of x only lead to such selections by the same c -> these uses read y,
/// which equals x where it matters. A kernel then stores only one of the two
/// values, as without the selection: the moments of Adam are both new states
/// and operands of the new parameter.
void readKeptStates(mlir::func::FuncOp func);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_KEPTSTATES_H
