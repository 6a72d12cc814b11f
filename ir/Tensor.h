//===- Tensor.h - a concrete tensor for evaluation --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The values that ir/eval computes with. Floats are held as float64, integers
// and truth values as int64 (ui64 by its bits), whatever the element type. So a
// chain of evaluations is the float64 reference of a program. `roundToStorage`
// rounds to what the element type can hold.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_TENSOR_H
#define SINTER_IR_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sinter::ir {

class Tensor {
public:
  Tensor() = default;
  /// Zeros of `type`, which has a static shape.
  explicit Tensor(mlir::RankedTensorType type);

  /// The value of a dense or dense_resource attribute. Fails for any other
  /// kind, or if the bytes of a resource do not fit the type.
  static mlir::FailureOr<Tensor> fromAttr(mlir::ElementsAttr attr);
  /// Reads `type.getNumElements()` little-endian elements; i1 as one byte each.
  static Tensor fromBytes(mlir::RankedTensorType type, const void *bytes);

  /// Little-endian elements, i1 as one byte each, floats rounded to nearest
  /// even.
  std::vector<char> toBytes() const;
  /// A splat or small value as DenseElementsAttr, else a dense_resource named
  /// after `hint`.
  mlir::ElementsAttr toAttr(llvm::StringRef hint = "folded") const;
  /// Rounds or wraps every element to what the element type can hold.
  void roundToStorage();

  mlir::RankedTensorType type() const { return type_; }
  llvm::ArrayRef<int64_t> shape() const { return type_.getShape(); }
  int64_t rank() const { return type_.getRank(); }
  int64_t size() const { return type_.getNumElements(); }
  bool isFloat() const {
    return mlir::isa<mlir::FloatType>(type_.getElementType());
  }
  bool isUnsigned() const { return type_.getElementType().isUnsignedInteger(); }

  /// Row-major elements: `floats` when isFloat(), else `ints`; the other is
  /// empty.
  std::vector<double> floats;
  std::vector<int64_t> ints;

  /// Copies element `from` of `source` (same kind of element) to element `to`.
  void copyElement(int64_t to, const Tensor &source, int64_t from) {
    if (isFloat())
      floats[to] = source.floats[from];
    else
      ints[to] = source.ints[from];
  }

private:
  mlir::RankedTensorType type_;
};

/// The floats of `value` in another float type, rounded to nearest even, as by
/// a cast. Converted piece by piece, so that hundreds of megabytes take no more
/// memory than the result. Fails if the bytes are not available.
mlir::FailureOr<mlir::ElementsAttr>
convertFloats(mlir::ElementsAttr value, mlir::FloatType element,
              llvm::StringRef hint = "folded");

/// The number of elements of `shape`, whose sizes are static; nothing if it
/// overflows.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);
/// The bytes of one element in memory; 1 for i1. 0 for a type that no tensor
/// has.
int64_t elementSizeBytes(mlir::Type element);
/// True for a ranked tensor of static shape that takes at most 2^62 bytes, even
/// if sizes of 0 are left out.
bool hasBoundedSize(mlir::Type type);
/// `name` as a key of a dense_resource that can be printed and parsed again: an
/// identifier.
std::string resourceKey(llvm::StringRef name);

/// Row-major strides, in elements, of a dense tensor of `shape`.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);
/// The permutation that undoes `perm`.
llvm::SmallVector<int64_t> inversePermutation(llvm::ArrayRef<int64_t> perm);
/// The multi-index of row-major position `linear`.
llvm::SmallVector<int64_t> delinearize(int64_t linear,
                                       llvm::ArrayRef<int64_t> shape);
/// The row-major position of `index`.
int64_t linearize(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

} // namespace sinter::ir

#endif // SINTER_IR_TENSOR_H
