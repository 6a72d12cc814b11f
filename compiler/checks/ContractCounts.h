//===- ContractCounts.h - what contracts count in a program -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each function counts something in one planned entry and records the ops that
// contribute to the count.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_CHECKS_CONTRACTCOUNTS_H
#define SINTER_COMPILER_CHECKS_CONTRACTCOUNTS_H

#include "ir/exec/Exec.h"

namespace sinter::compiler {

/// What one op contributes to a count.
struct Finding {
  mlir::Operation *op;
  double amount;
};

/// A count in one entry, with the ops that contribute to it.
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
/// Ops that compute in float64.
Count countF64(exec::ProgramOp program);

/// Commands on the CPU of nodes that no rule put there, in a program whose
/// default device is a GPU.
Count countFallbacks(exec::ProgramOp program);
/// Waits of the host for a GPU, where a command of the CPU reads what a GPU
/// wrote.
Count countHostSyncs(exec::ProgramOp program);

/// Bytes of the arena (by buffer), of states, of constants, and of all three.
Count countArena(exec::ProgramOp program);
Count countStates(exec::ProgramOp program);
Count countConstants(exec::ProgramOp program);
Count countPeak(exec::ProgramOp program);

/// Multiplications whose type is not one of `types`, separated by '|'.
Count countOthers(exec::ProgramOp program, llvm::StringRef types);
double multiplications(exec::ProgramOp program);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_CHECKS_CONTRACTCOUNTS_H
