//===- OpNumbers.h - ops that remarks can be told by ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// While kernels are made, each op has a number in its location. Merged,
// divided, copied and renamed ops keep the numbers of those that they come
// from, as they keep names of nodes. So a remark about two groups of ops, made
// before these are kernels, can be told to be about two commands of the plan.
// Programs do not depend on locations. Only the trace reads the numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_TRACE_OPNUMBERS_H
#define SINTER_COMPILER_TRACE_OPNUMBERS_H

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace sinter::compiler {

/// Gives each op in the functions of `module` but constants a number of its
/// own.
void numberOps(mlir::ModuleOp module);
/// The numbers in `location`, ascending, each once.
std::vector<unsigned> numbersIn(mlir::Location location);
/// Takes the numbers from the locations of `op` and all ops in it. They then
/// have the names that they would have if ops had never been numbered.
void eraseNumbers(mlir::Operation *op);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_TRACE_OPNUMBERS_H
