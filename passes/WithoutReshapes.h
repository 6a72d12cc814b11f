//===- WithoutReshapes.h - values that share their bytes --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_WITHOUTRESHAPES_H
#define SINTER_PASSES_WITHOUTRESHAPES_H

#include "ir/Dialect.h"

namespace sinter::passes {

/// The value whose bytes `value` has.
inline mlir::Value withoutReshapes(mlir::Value value) {
  while (auto reshape = value.getDefiningOp<ir::ReshapeOp>())
    value = reshape.getX();
  return value;
}

} // namespace sinter::passes

#endif // SINTER_PASSES_WITHOUTRESHAPES_H
