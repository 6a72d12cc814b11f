//===- VarianceForm.h - sums of squared deviations --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_RECOGNIZE_VARIANCEFORM_H
#define SINTER_PASSES_RECOGNIZE_VARIANCEFORM_H

#include "ir/Dialect.h"

#include <optional>

namespace sinter::passes {

/// sum((x - m)^2), where m comes from sum(x) over the same dimensions.
struct SquaredDeviations {
  ir::ReduceOp sumOfX, sum;
  mlir::Value x, mean;
};

/// `reduce` as the squares of a variance; nullopt when it is something else.
std::optional<SquaredDeviations> matchSquaredDeviations(ir::ReduceOp reduce);

} // namespace sinter::passes

#endif // SINTER_PASSES_RECOGNIZE_VARIANCEFORM_H
