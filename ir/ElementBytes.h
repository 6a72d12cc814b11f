//===- ElementBytes.h - constants as bytes ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_ELEMENTBYTES_H
#define SINTER_IR_ELEMENTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <optional>

namespace sinter::ir {

/// A constant of more bytes than this is a resource blob; see sinter.constant.
inline constexpr int64_t kInlineBytes = 1024;

/// The bytes of the elements of a constant: of a single one if all are the
/// same.
struct ElementBytes {
  llvm::ArrayRef<char> data;
  bool isSplat = false;
};

/// Those of a dense or dense_resource attribute, little-endian and perhaps not
/// aligned. Nothing if a resource is not available or does not fit the type,
/// for element types that no tensor has, and for i1 that is stored as bits.
std::optional<ElementBytes> elementBytes(mlir::ElementsAttr attr);

/// The constant whose elements have these bytes; the element type is not i1.
/// `hint`: see Tensor::toAttr.
mlir::ElementsAttr attrOfBytes(mlir::RankedTensorType type,
                               llvm::ArrayRef<char> bytes,
                               llvm::StringRef hint = "folded");

} // namespace sinter::ir

#endif // SINTER_IR_ELEMENTBYTES_H
