//===- KeptStates.h - updates that a step may not take ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_KEPTSTATES_H
#define SINTER_PASSES_FUSE_KEPTSTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::passes {

/// Pattern: new state y = where(c, x, old), and x is read by what only leads to
/// such selections by the same c -> these read y, which is x where it matters.
/// Then a kernel stores one of the two, as it does where nothing is selected:
/// Adam's moments are both new states and operands of the new parameter.
void readKeptStates(mlir::func::FuncOp func);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_KEPTSTATES_H
