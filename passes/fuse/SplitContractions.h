//===- SplitContractions.h - long sums cut into parts -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_SPLITCONTRACTIONS_H
#define SINTER_PASSES_FUSE_SPLITCONTRACTIONS_H

#include "ir/Dialect.h"
#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

/// Whether `dot` multiplies a vector by a matrix, or a batch of them. Such a
/// product reads each element of the matrix once.
bool isOfVector(ir::DotGeneralOp dot);

/// The number of stretches into which the sum of `dot` is split if a kernel
/// computes it; 1 if it is left whole.
int64_t stretchesOf(ir::DotGeneralOp dot);

/// Cuts dimension `dim` of `value` into `count` stretches, which become a new
/// dimension before it. A cast is applied after the cut.
mlir::Value cutDimension(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value value, int64_t dim, int64_t count);

/// Splits the contractions for which `target` generates kernels. It must
/// outlive the pass; without one nothing is split.
std::unique_ptr<mlir::Pass> createSplitContractions(const Target *target);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_SPLITCONTRACTIONS_H
