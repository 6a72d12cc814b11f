//===- ExternalData.h - tensor bytes in files beside the model --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A model names other files, and a model comes from anywhere. Only plain files
// below the model's own folder are read: no absolute path, no "..", no symbolic
// link on the way, no second hard link. The bytes are copied, so that a file
// that shrinks later harms nobody.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_EXTERNALDATA_H
#define SINTER_COMPILER_IMPORT_ONNX_EXTERNALDATA_H

#include "compiler/import/onnx/TensorReader.h"

namespace sinter::compiler {

/// The `sizeBytes` bytes that `tensor`'s external_data entries refer to,
/// 64-byte aligned. Nothing, and a reason in `why`, when they may not or cannot
/// be read.
std::optional<TensorBytes> readExternalData(const OnnxModel &model,
                                            const ::onnx::TensorProto &tensor,
                                            uint64_t sizeBytes,
                                            std::string &why);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_EXTERNALDATA_H
