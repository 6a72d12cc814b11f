//===- ContractCounts.h - what contracts count in a program -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each function counts something in one planned entry, and keeps the ops that
// stand for it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECKS_CONTRACTCOUNTS_H
#define SINTER_COMPILER_CHECKS_CONTRACTCOUNTS_H

#include "ir/exec/Exec.h"

namespace sinter::compiler {

/// How much of something an op of a program stands for.
struct Finding {
  mlir::Operation *op;
  double amount;
};

/// What is counted in one entry, with where it is.
struct Count {
  double total = 0;
  llvm::SmallVector<Finding> findings;

  void add(mlir::Operation *op, double amount = 1) {
    if (amount == 0)
      return;
    total += amount;
    findings.push_back({op, amount});
  }
};

Count countLibraryCalls(exec::ProgramOp program);
Count countLaunches(exec::ProgramOp program);
/// Launches and library calls.
Count countKernels(exec::ProgramOp program);
Count countCopies(exec::ProgramOp program);
Count countFills(exec::ProgramOp program);
/// Conversions between float types in kernels.
Count countCasts(exec::ProgramOp program);
/// Anything that is computed in float64.
Count countF64(exec::ProgramOp program);

/// Commands on the CPU in a program whose default device is a GPU, of nodes
/// that no rule put there.
Count countFallbacks(exec::ProgramOp program);
/// Waits of the host for a GPU: a command of the CPU reads what a GPU wrote.
Count countHostSyncs(exec::ProgramOp program);

/// Bytes: of the arena by its buffers, of states, of constants, of all three.
Count countArena(exec::ProgramOp program);
Count countStates(exec::ProgramOp program);
Count countConstants(exec::ProgramOp program);
Count countPeak(exec::ProgramOp program);

/// Multiplications that are not in one of `types`, which are separated by '|'.
Count countOthers(exec::ProgramOp program, llvm::StringRef types);
double multiplications(exec::ProgramOp program);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECKS_CONTRACTCOUNTS_H
