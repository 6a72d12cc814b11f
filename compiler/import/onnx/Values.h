//===- Values.h - values that are not tensors of known shape ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A program holds only tensors of static shape. Other values that an ONNX graph
// passes between nodes exist only during import, as the result of an
// unrealized_conversion_cast that nothing reads in the end:
//
// - a sequence of known length: tuple<element types>, cast from its elements;
// - an optional without a value: none (one with a value is that value);
// - an open tensor, whose leading or trailing size depends on data: a tensor
//   type with dynamic sizes, cast from the values that define it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_VALUES_H
#define SINTER_COMPILER_IMPORT_ONNX_VALUES_H

#include "compiler/import/onnx/Node.h"

namespace sinter::compiler {

bool isTensor(mlir::Value value);
bool isSequence(mlir::Value value);
bool isAbsentOptional(mlir::Value value);
bool isOpen(mlir::Value value);
/// A description for messages: "a sequence", ...
std::string describe(mlir::Value value);

/// Null after n.fail() if the elements are not tensors of one element type.
mlir::Value makeSequence(NodeImport &n, mlir::ValueRange elements);
/// Nothing after n.fail() when input `i` is not a sequence.
std::optional<llvm::SmallVector<mlir::Value>> elementsOf(NodeImport &n,
                                                         size_t i);
mlir::Value makeAbsentOptional(NodeImport &n);

/// What an open tensor holds.
enum class OpenKind {
  /// The coordinates of the true elements of `source` in row-major order:
  /// [rank, ?] or [?, rank].
  coordinates,
  /// Elements [start, end) of dimension 0 of `source`: [?, ..].
  range,
  /// `source`, repeated: [?, ..].
  repeated,
  /// The elements of `source`, repeated in order: [?].
  cycled,
  /// The rows of `source` at which `mask` is true: [?, ..].
  selected,
};

struct Open {
  OpenKind kind;
  mlir::Value source;
  /// For a range: tensor<i64>, within the dimension.
  mlir::Value start = {}, end = {};
  /// For a selection: bools with the shape of the source's leading dimensions.
  mlir::Value mask = {};
};

mlir::Value makeOpen(NodeImport &n, Open open, Ints shape);
/// The contents of an open value.
Open openOf(mlir::Value value);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_VALUES_H
