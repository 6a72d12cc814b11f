//===- TensorReader.h - TensorProto -> typed bytes --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The one place that knows the storage forms of ONNX tensors. What it gives is
// dense, row-major and little-endian, one byte for a truth value, of exactly
// the type's size.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_TENSORREADER_H
#define SINTER_COMPILER_IMPORT_ONNX_TENSORREADER_H

#include "compiler/import/onnx/Import.h"

namespace onnx {
class TensorProto;
class SparseTensorProto;
} // namespace onnx

namespace sinter::compiler {

/// Bytes and what keeps them alive (null: the model does).
struct TensorBytes {
  llvm::ArrayRef<char> data;
  std::shared_ptr<const void> owner;
};

struct TensorData {
  mlir::RankedTensorType type;
  TensorBytes bytes;
};

/// The element type that stands for ONNX's `dataType`, or null. Four-bit
/// integers become 8-bit ones and 8-bit floats become f16, both without loss,
/// where `widen` is set (they are no element types of the dialect).
mlir::Type elementTypeOf(int32_t dataType, mlir::MLIRContext *context,
                         bool widen = false);
/// ONNX's number of `element`; 0 for none.
int32_t dataTypeOf(mlir::Type element);
/// "FLOAT", "STRING", ..., "type 77".
std::string dataTypeName(int32_t dataType);

enum class ReadFailure { None, Invalid, Unsupported };

/// Nothing, and a reason in `why`, when the message is inconsistent or of a
/// kind that has no counterpart. Refers to the model's own bytes where it can.
std::optional<TensorData> readTensor(const OnnxModel &model,
                                     const ::onnx::TensorProto &tensor,
                                     mlir::MLIRContext *context,
                                     std::string &why, ReadFailure &failure);
/// The dense tensor that a sparse one stands for. Its bytes are taken from
/// `budget`, since few indices can stand for a huge tensor.
std::optional<TensorData>
readSparseTensor(const OnnxModel &model,
                 const ::onnx::SparseTensorProto &tensor,
                 mlir::MLIRContext *context, int64_t &budget, std::string &why,
                 ReadFailure &failure);

/// A constant's attribute. Above 1 KiB it refers to `data` through a blob that
/// keeps `model` and the owner alive.
mlir::ElementsAttr toAttr(const std::shared_ptr<const OnnxModel> &model,
                          const TensorData &data, llvm::StringRef name);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_TENSORREADER_H
