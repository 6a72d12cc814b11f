//===- Derivation.h - how a constant comes from a parameter -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An exporter that knows a parameter's values may store a constant that it
// computed from them. This compares the values of both to find out how: by
// moving elements, or by applying a function to each element.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_DERIVATION_H
#define SINTER_COMPILER_IMPORT_ONNX_DERIVATION_H

#include "compiler/import/onnx/GraphEdit.h"

#include <optional>

namespace sinter::compiler {

/// A row-major tensor. Does not own its bytes.
struct TensorView {
  int32_t dataType; // ONNX TensorProto.DataType
  Ints shape;
  llvm::ArrayRef<char> bytes;

  /// The size of an element; 0 for an empty tensor.
  int64_t width() const;
  /// Whether all elements have the same bits.
  bool areEqual() const;
};

/// A function of one element, as ONNX computes it.
struct ElementFunction;

struct Derivation {
  /// Applied first; null for none.
  const ElementFunction *function = nullptr;
  enum class Move { Reshape, Expand, Transpose, Rows, Elements } move;
  std::vector<int64_t> indices; // for Rows and Elements
  /// All elements of the parameter are equal, so its values prove nothing.
  bool isPlain = false;
};

/// How `constant` is computed from `parameter`, if it is. `value` is the name
/// of the value that the exporter computed ("exp_1"). It names the last
/// operation, which must be able to give the result.
std::optional<Derivation> findDerivation(const TensorView &parameter,
                                         const TensorView &constant,
                                         llvm::StringRef value);

/// Whether a value of this name is a product with a bias.
bool isProduct(llvm::StringRef value);

/// Adds nodes that compute the constant of shape `shape` from initializer
/// `parameter`. Returns the name of the result.
std::string addDerivation(GraphEdit &edit, const std::string &parameter,
                          const Derivation &derivation, Ints shape);

/// Whether float32 `constant` is the weight g v / |v| of weight_norm, with one
/// norm for each index of the dimensions where `g` has more than one element.
bool isNormalizedWeight(const TensorView &g, const TensorView &v,
                        const TensorView &constant);
/// Adds nodes that compute that weight. Returns the name of the result.
std::string addNormalizedWeight(GraphEdit &edit, const std::string &g,
                                Ints shapeOfG, const std::string &v);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_DERIVATION_H
