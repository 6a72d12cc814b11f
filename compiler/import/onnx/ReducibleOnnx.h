//===- ReducibleOnnx.h - an ONNX file made smaller --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_REDUCIBLEONNX_H
#define SINTER_COMPILER_IMPORT_ONNX_REDUCIBLEONNX_H

#include "compiler/import/ReducibleModel.h"
#include "compiler/import/onnx/Import.h"

namespace sinter::compiler {

/// A copy of the model with all weights in one file. Null after an error line.
std::unique_ptr<ReducibleModel> makeReducible(const OnnxModel &model,
                                              ImportErrors &errors);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_REDUCIBLEONNX_H
