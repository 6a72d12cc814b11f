//===- UpdateBuckets.h - early updates of states ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_UPDATEBUCKETS_H
#define SINTER_PASSES_PLAN_UPDATEBUCKETS_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace sinter::passes::plan {

/// True for a kernel of kind multi that updates states.
bool isUpdate(ir::KernelOp fusion);

/// Divides the kernels that update many states at the end of `func` into at
/// most `buckets` each, by when their operands are known, and moves each right
/// there. The buffer of a gradient is then free once its states have their new
/// values. Returns the number of additional kernels, or nothing if there was no
/// such kernel. Otherwise its ops have been replaced, even if none was added.
std::optional<unsigned> splitUpdates(mlir::func::FuncOp func, unsigned buckets);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_UPDATEBUCKETS_H
