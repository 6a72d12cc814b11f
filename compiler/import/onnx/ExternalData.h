//===- ExternalData.h - tensor bytes in files beside the model --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A model can name other files, and models are untrusted. Only regular files
// below the model's own folder are read: no absolute path, no "..", no symbolic
// link on the way, no second hard link. The bytes are copied, so that it does
// no harm if a file shrinks later.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_EXTERNALDATA_H
#define SINTER_COMPILER_IMPORT_ONNX_EXTERNALDATA_H

#include "compiler/import/onnx/TensorReader.h"

namespace sinter::compiler {

/// The `sizeBytes` bytes that `tensor`'s external_data entries refer to,
/// 64-byte aligned. Nothing, with a reason in `why`, if they must not or cannot
/// be read.
std::optional<TensorBytes> readExternalData(const OnnxModel &model,
                                            const ::onnx::TensorProto &tensor,
                                            uint64_t sizeBytes,
                                            std::string &why);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_EXTERNALDATA_H
