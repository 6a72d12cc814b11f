//===- Constants.h - constants of generated code ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_KERNELS_CONSTANTS_H
#define SINTER_PASSES_KERNELS_CONSTANTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter::passes {

/// A constant of `type`, the type of `number` or a vector of it.
inline mlir::Value constantOf(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                              mlir::TypedAttr number) {
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    number = mlir::DenseElementsAttr::get(vector, mlir::Attribute(number));
  return b.create<mlir::arith::ConstantOp>(number);
}

} // namespace sinter::passes

#endif // SINTER_PASSES_KERNELS_CONSTANTS_H
