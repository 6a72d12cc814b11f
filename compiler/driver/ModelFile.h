//===- ModelFile.h - from a file to a module --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Determines the format of a model file (ONNX, sinter text, sinter bytecode),
// reads it, and checks what the phases rely on.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MODELFILE_H
#define SINTER_COMPILER_DRIVER_MODELFILE_H

#include "compiler/ExitCode.h"
#include "compiler/import/onnx/Import.h"
#include "compiler/options/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace sinter::compiler {

/// A model as it was read. It owns what a module refers to (weights).
struct ModelFile {
  std::shared_ptr<const OnnxModel> onnx;      // of an ONNX file
  std::unique_ptr<llvm::MemoryBuffer> source; // of a sinter file
};

/// Reads `options.model` ("-" is stdin); reports errors.
ExitCode readModel(const Options &options, ModelFile &model);

/// The import phase: makes the module of `model`, with the sizes that `options`
/// bind. The parser takes over `model.source`.
ExitCode importModel(const Options &options, ModelFile &model,
                     mlir::MLIRContext *context,
                     mlir::OwningOpRef<mlir::ModuleOp> &module);

/// The options of the importer.
ImportOptions importOptions(const Options &options);

/// Prints the errors and warnings of `errors`; returns its exit code.
ExitCode reportImport(const Options &options, const ImportErrors &errors);

/// The model's name without folders and suffix: "mnist" of "models/mnist.onnx".
std::string modelStem(const Options &options);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MODELFILE_H
