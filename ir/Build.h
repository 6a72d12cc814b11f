//===- Build.h - short forms for building sinter IR -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What decompositions, gradient rules and the importer all need. Every function
// returns its operand where there is nothing to do, and none checks user input:
// the caller guarantees shapes and dimensions that fit (an importer checks
// first).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_BUILD_H
#define SINTER_IR_BUILD_H

#include "ir/Dialect.h"

namespace sinter::ir {

/// `type` with another shape, or another element type.
mlir::RankedTensorType withShape(mlir::RankedTensorType type,
                                 llvm::ArrayRef<int64_t> shape);
mlir::RankedTensorType withElement(mlir::RankedTensorType type,
                                   mlir::Type element);
/// `shape` without `dims`, and with `dims` made 1.
llvm::SmallVector<int64_t> dropDims(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> dims);
llvm::SmallVector<int64_t> unitDims(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> dims);
/// The dimensions of a value of `rank` other than `dim`.
llvm::SmallVector<int64_t> allDimsBut(int64_t rank, int64_t dim);
/// The shape that NumPy broadcasts both to; nothing where they do not fit.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// A constant of `type`, every element `value` rounded to the element type
/// (integers: truncated; i1: whether it is not 0).
mlir::Value splat(mlir::OpBuilder &b, mlir::Location loc,
                  mlir::RankedTensorType type, double value);
/// The same with the type of `like`.
mlir::Value splatLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value like,
                      double value);
mlir::Value zerosLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value like);
/// A splat attribute; the value as in `splat`.
mlir::DenseElementsAttr splatAttr(mlir::RankedTensorType type, double value);
/// A constant tensor<n x i64>, and a tensor<i64>.
mlir::Value constantI64(mlir::OpBuilder &b, mlir::Location loc,
                        llvm::ArrayRef<int64_t> values);
mlir::Value scalarI64(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

/// NumPy broadcasting to `shape`: trailing dimensions are aligned.
mlir::Value broadcastTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                        llvm::ArrayRef<int64_t> shape);
/// Dimension i of `v` becomes dimension dims[i] of `shape`.
mlir::Value broadcastInDim(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value v, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> dims);
mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                      llvm::ArrayRef<int64_t> shape);
mlir::Value transposeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                        llvm::ArrayRef<int64_t> perm);
mlir::Value castTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                   mlir::Type element);

/// Reduces over `dims` (in any order); the dimensions disappear.
mlir::Value reduceOver(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind,
                       mlir::Value v, llvm::ArrayRef<int64_t> dims);
/// Reduces over `dims` and keeps them as unit dimensions.
mlir::Value reduceKeep(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind,
                       mlir::Value v, llvm::ArrayRef<int64_t> dims);
/// What was reduced over `dims`, which disappeared, again in `shape`, repeated
/// along them.
mlir::Value spreadOver(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value reduced, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> dims);
/// The mean over `dims`, which become unit dimensions; of nothing it is NaN.
mlir::Value reduceMean(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                       llvm::ArrayRef<int64_t> dims);

/// An op with inferred result types, or failure with an error at `loc` where
/// its operands and attributes break a constraint of the inference. For input
/// that is not trusted.
template <class OpTy>
mlir::FailureOr<OpTy>
createChecked(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange operands,
              llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OperationState state(loc, OpTy::getOperationName());
  state.addOperands(operands);
  state.addAttributes(attributes);
  llvm::SmallVector<mlir::Type> types;
  auto dictionary = state.attributes.getDictionary(b.getContext());
  typename OpTy::Properties properties;
  auto report = [&]() { return mlir::emitError(loc); };
  if (mlir::failed(
          OpTy::setPropertiesFromAttr(properties, dictionary, report)) ||
      mlir::failed(OpTy::inferReturnTypes(b.getContext(), loc, operands,
                                          dictionary, &properties, {}, types)))
    return mlir::failure();
  state.addTypes(types);
  return mlir::cast<OpTy>(b.create(state));
}

} // namespace sinter::ir

#endif // SINTER_IR_BUILD_H
