//===- Build.h - short forms for building sinter IR -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Helpers that decompositions, gradient rules and the importer need. A function
// returns its operand if there is nothing to do. None of them checks user
// input: the caller guarantees that shapes and dimensions fit (an importer
// checks first).
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
/// `shape` without `dims`, and `shape` with `dims` set to 1.
llvm::SmallVector<int64_t> dropDims(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> dims);
llvm::SmallVector<int64_t> unitDims(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> dims);
/// The dimensions of a value of `rank` other than `dim`.
llvm::SmallVector<int64_t> allDimsBut(int64_t rank, int64_t dim);
/// The shape to which NumPy broadcasts both; nothing if they do not fit.
std::optional<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// A constant of `type` whose elements are `value`, rounded to the element type
/// (integers: truncated; i1: true unless it is 0).
mlir::Value splat(mlir::OpBuilder &b, mlir::Location loc,
                  mlir::RankedTensorType type, double value);
/// A splat of the type of `like`.
mlir::Value splatLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value like,
                      double value);
mlir::Value zerosLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value like);
/// A splat attribute, with the value as in `splat`.
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
/// The elements `begin` to `end` - 1 of `v` along `dim`.
mlir::Value sliceAlong(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                       int64_t dim, int64_t begin, int64_t end);

/// Reduces over `dims` (in any order) and removes these dimensions.
mlir::Value reduceOver(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind,
                       mlir::Value v, llvm::ArrayRef<int64_t> dims);
/// Reduces over `dims` and keeps them as unit dimensions.
mlir::Value reduceKeep(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind,
                       mlir::Value v, llvm::ArrayRef<int64_t> dims);
/// Repeats a value that was reduced over `dims`, and does not have them, along
/// `dims` to `shape`.
mlir::Value spreadOver(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value reduced, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> dims);
/// The mean over `dims`, which become unit dimensions; of no elements it is
/// NaN.
mlir::Value reduceMean(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                       llvm::ArrayRef<int64_t> dims);

/// Creates an op with inferred result types. Fails with an error at `loc` if
/// its operands and attributes violate a constraint of the inference. For
/// untrusted input.
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
