//===- Folds.h - what folders ask of constants ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to ir/ops. Folders apply identities only; a pass evaluates
// constants.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_FOLDS_H
#define SINTER_IR_OPS_FOLDS_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// The constant as a splat, or null.
inline mlir::SplatElementsAttr asSplat(mlir::Attribute constant) {
  return llvm::dyn_cast_if_present<mlir::SplatElementsAttr>(constant);
}

/// True for an integer splat of `value`; -1 means all bits.
inline bool isIntSplat(mlir::Attribute constant, int64_t value) {
  mlir::SplatElementsAttr splat = asSplat(constant);
  if (!splat || !mlir::isa<mlir::IntegerType>(splat.getElementType()))
    return false;
  llvm::APInt element = splat.getSplatValue<llvm::APInt>();
  return element ==
         llvm::APInt(element.getBitWidth(), value, /*isSigned=*/true);
}

/// True for a float splat of exactly `value`; -0.0 is not 0.0.
inline bool isFloatSplat(mlir::Attribute constant, double value) {
  mlir::SplatElementsAttr splat = asSplat(constant);
  return splat && mlir::isa<mlir::FloatType>(splat.getElementType()) &&
         splat.getSplatValue<llvm::APFloat>().isExactlyValue(value);
}

/// True for a splat of `value`, a small integer, of either kind.
inline bool isSplat(mlir::Attribute constant, int64_t value) {
  return isIntSplat(constant, value) ||
         isFloatSplat(constant, static_cast<double>(value));
}

} // namespace sinter::ir

#endif // SINTER_IR_OPS_FOLDS_H
