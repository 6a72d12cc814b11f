//===- TensorReader.h - TensorProto -> typed bytes --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The only code that knows the storage forms of ONNX tensors. It returns dense,
// row-major, little-endian data of exactly the type's size, with one byte per
// bool.
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

/// Bytes and their owner (null: the model owns them).
struct TensorBytes {
  llvm::ArrayRef<char> data;
  std::shared_ptr<const void> owner;
};

struct TensorData {
  mlir::RankedTensorType type;
  TensorBytes bytes;
};

/// The element type for ONNX's `dataType`, or null. The dialect has no 4-bit
/// integers and 8-bit floats. If `widen` is set, they become 8-bit integers and
/// f16, both without loss.
mlir::Type elementTypeOf(int32_t dataType, mlir::MLIRContext *context,
                         bool widen = false);
/// ONNX's number for `element`; 0 if there is none.
int32_t dataTypeOf(mlir::Type element);
/// "FLOAT", "STRING", ..., "type 77".
std::string dataTypeName(int32_t dataType);

enum class ReadFailure { None, Invalid, Unsupported };

/// Nothing, with a reason in `why`, if the protobuf message is inconsistent or
/// of a kind without a counterpart. Refers to the model's own bytes if
/// possible.
std::optional<TensorData> readTensor(const OnnxModel &model,
                                     const ::onnx::TensorProto &tensor,
                                     mlir::MLIRContext *context,
                                     std::string &why, ReadFailure &failure);
/// The dense form of a sparse tensor. Its bytes are taken from `budget`,
/// because few indices can represent a huge tensor.
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
