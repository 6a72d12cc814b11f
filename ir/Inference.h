//===- Inference.h - result types are inferred and verified -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_INFERENCE_H
#define SINTER_IR_INFERENCE_H

#include "mlir/IR/OpDefinition.h"

namespace sinter::ir {

using InferTypes = mlir::LogicalResult(mlir::MLIRContext *,
                                       std::optional<mlir::Location>,
                                       mlir::ValueRange, mlir::DictionaryAttr,
                                       mlir::OpaqueProperties,
                                       mlir::RegionRange,
                                       llvm::SmallVectorImpl<mlir::Type> &);

/// Reports in one line which constraint the inference of `op` violates, or that
/// its results have other types.
mlir::LogicalResult verifyInference(mlir::Operation *op, InferTypes *infer);

/// Verifies the same as InferTypeOpInterface, but before it: that interface
/// would report twice.
template <class ConcreteOp>
class InferenceChecked
    : public mlir::OpTrait::TraitBase<ConcreteOp, InferenceChecked> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyInference(op, &ConcreteOp::inferReturnTypes);
  }
};

} // namespace sinter::ir

#endif // SINTER_IR_INFERENCE_H
