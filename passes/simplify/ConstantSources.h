//===- ConstantSources.h - values computed from constants -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_CONSTANTSOURCES_H
#define SINTER_PASSES_SIMPLIFY_CONSTANTSOURCES_H

#include "ir/Dialect.h"
#include "ir/eval/SmallIntegers.h"

namespace sinter::passes {

/// The results of `op`, which is computed from constants alone. Keeps no other
/// value longer than it is needed. Fails if an op has no value for its
/// operands, silently: `undefined`, if given, is set to that op.
mlir::FailureOr<llvm::SmallVector<ir::Tensor>>
evaluateFromConstants(mlir::Operation *op,
                      mlir::Operation **undefined = nullptr);

/// The same for one result, of ops and constants that SmallIntegers has.
std::optional<ir::SmallIntegers>
evaluateSmallFromConstants(mlir::Operation *op);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_CONSTANTSOURCES_H
