//===- ExportTemplate.h - the ONNX file that a trainer exports --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The imported model as a list of pieces: literal bytes, and references to
// states whose current bytes belong there. Concatenated, they are a valid ONNX
// file with the graph as imported, but switched to inference: Dropout and
// BatchNormalization are in inference mode and lose their outputs that exist
// only for training.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_EXPORTTEMPLATE_H
#define SINTER_COMPILER_IMPORT_ONNX_EXPORTTEMPLATE_H

#include "compiler/import/onnx/Import.h"

namespace sinter::compiler {

/// `program` is the result of importing `model` with `train`, after any phase.
/// The `onnx` attributes of its states name their initializers. Returns an
/// empty list after an error line.
std::vector<ExportPiece> makeExportTemplate(const OnnxModel &model,
                                            mlir::ModuleOp program,
                                            ImportErrors &errors);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_EXPORTTEMPLATE_H
