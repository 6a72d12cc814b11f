//===- VarianceForm.h - sums of squared deviations --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Used by SplitReductions and by the epilogues of library calls (passes/fuse).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_VARIANCEFORM_H
#define SINTER_PASSES_RECOGNIZE_VARIANCEFORM_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// sum((x - mean)^2), where the mean is computed from sum(x) over the same
/// dimensions.
struct SquaredDeviations {
  ir::ReduceOp sumOfX, sum;
  mlir::Value x, mean;
};

/// `reduce` as the sum of squares of a variance; nullopt if it is something
/// else.
std::optional<SquaredDeviations> matchSquaredDeviations(ir::ReduceOp reduce);

} // namespace sinter::passes

#endif // SINTER_PASSES_RECOGNIZE_VARIANCEFORM_H
