//===- Flops.h - how much arithmetic an op does -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FLOPS_H
#define SINTER_PASSES_FLOPS_H

#include "ir/Dialect.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace sinter::passes {

/// Floating-point operations, as the meaning of the ops needs them: an
/// implementation that computes a value twice does more.
struct Flops {
  /// Multiplications and additions of contractions, by the type of the
  /// operands.
  llvm::MapVector<mlir::Type, double> contractions;
  double other = 0;

  double total() const;
};

/// Of `op`; of a kernel or library call that of its body, of a scan that of all
/// trips. Each addition,
/// multiplication, division, comparison of a maximum and each function such as
/// exp counts as one. Composites count as their decomposition. Conversions,
/// selections, integers and all that only moves data count as nothing.
Flops flopsOf(mlir::Operation *op);
/// The sum over the ops of `block`.
Flops flopsOf(mlir::Block &block);

} // namespace sinter::passes

#endif // SINTER_PASSES_FLOPS_H
