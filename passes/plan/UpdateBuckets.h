//===- UpdateBuckets.h - updates of states early ----------------*- C++ -*-===//
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

/// True for a kernel that updates many states (a fusion of kind multi).
bool isUpdate(ir::KernelOp fusion);

/// Divides the kernels that update many states at the end of `func` into
/// `buckets` or fewer each, by when their operands are known, and puts each
/// right there: a gradient's buffer is free once its states have their new
/// values. Returns the number of kernels more; nothing where there were none to
/// divide. Else these are other ops now, even where there are no more.
std::optional<unsigned> splitUpdates(mlir::func::FuncOp func, unsigned buckets);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_UPDATEBUCKETS_H
