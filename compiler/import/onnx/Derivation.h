//===- Derivation.h - how a constant is made of a parameter -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An exporter that knows a parameter's values may store what is computed of
// them. With the parameter's values at hand, the values of the constant tell
// how: elements were moved, or a function was applied to each.
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
  std::vector<int64_t> indices; // of Rows and Elements
  /// Values alone do not tell it: all elements of the parameter are equal.
  bool isPlain = false;
};

/// How `constant` is made of `parameter`, if it is. `value` is the name of what
/// the exporter computed ("exp_1"): its operation, the last one, has to allow
/// for the result.
std::optional<Derivation> findDerivation(const TensorView &parameter,
                                         const TensorView &constant,
                                         llvm::StringRef value);

/// Whether a value of this name is a product with a bias.
bool isProduct(llvm::StringRef value);

/// Computes the constant of shape `shape` from initializer `parameter`. Gives
/// the name of the result.
std::string addDerivation(GraphEdit &edit, const std::string &parameter,
                          const Derivation &derivation, Ints shape);

/// Whether float32 `constant` is the weight g v / |v| of weight_norm, with one
/// norm for each index of the dimensions where `g` has more than one element.
bool isNormalizedWeight(const TensorView &g, const TensorView &v,
                        const TensorView &constant);
/// Computes that weight. Gives the name of the result.
std::string addNormalizedWeight(GraphEdit &edit, const std::string &g,
                                Ints shapeOfG, const std::string &v);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_DERIVATION_H
