//===- ModelFile.h - from a file to a module --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Reads a model file and makes its module with the importer of its format.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MODELFILE_H
#define SINTER_COMPILER_DRIVER_MODELFILE_H

#include "compiler/ExitCode.h"
#include "compiler/import/Importer.h"
#include "compiler/options/CompileState.h"

namespace sinter::compiler {

/// Reads `options.model` ("-" is stdin) with the first of `formats` that
/// recognizes it; reports errors.
ExitCode readModel(const Options &options, SharedModel &model,
                   llvm::ArrayRef<const Importer *> formats = importers());

/// The import phase: makes the module of `model`, with the sizes that `options`
/// and `state` bind. Reports errors.
ExitCode importModel(const Options &options, const CompileState &state,
                     const SourceModel &model, mlir::MLIRContext *context,
                     mlir::OwningOpRef<mlir::ModuleOp> &module);

/// The pieces of the file that a trainer of `program` exports; reports errors.
ExitCode makeExport(const Options &options, const SourceModel &model,
                    mlir::ModuleOp program, std::vector<ExportPiece> &pieces);

/// The model's name without folders and suffix: "mnist" of "models/mnist.onnx".
std::string modelStem(const Options &options);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MODELFILE_H
