//===- ExportTemplate.h - the ONNX file that a trainer exports --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The imported model as a list of pieces: literal bytes, and places where the
// current bytes of a state belong. Concatenated they are a valid ONNX file with
// the graph as it was imported, switched to inference: Dropout and
// BatchNormalization do not train, and what they put out for training only is
// gone.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_EXPORTTEMPLATE_H
#define SINTER_COMPILER_IMPORT_ONNX_EXPORTTEMPLATE_H

#include "compiler/import/onnx/Import.h"

namespace sinter::compiler {

struct ExportPiece; // compiler/emit/Artifact.h

/// `program` is what `model` was imported to with `train`, in any later phase:
/// its states say which initializers they are (`onnx`). Empty after an error
/// line.
std::vector<ExportPiece> makeExportTemplate(const OnnxModel &model,
                                            mlir::ModuleOp program,
                                            ImportErrors &errors);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_EXPORTTEMPLATE_H
