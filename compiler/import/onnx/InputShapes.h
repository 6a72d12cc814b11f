//===- InputShapes.h - binding the open dimensions of inputs ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Shapes are static after import. --dim, --shape and --batch bind open
// dimensions. A dimension that stays open is an error that names it; no size is
// guessed.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_INPUTSHAPES_H
#define SINTER_COMPILER_IMPORT_ONNX_INPUTSHAPES_H

#include "compiler/import/onnx/Import.h"

namespace sinter::compiler {

struct BoundInputs {
  struct Input {
    std::string name;
    mlir::RankedTensorType type;
  };
  std::vector<Input> inputs; // in graph order
  llvm::StringMap<int64_t> dims;
  /// The leading dimension of a static export that `batch` replaced; 0: none.
  int64_t exportedBatch = 0;
};

/// Nothing after an error line.
std::optional<BoundInputs> bindInputs(const OnnxModel &model,
                                      const ImportOptions &options,
                                      mlir::MLIRContext *context,
                                      ImportErrors &errors);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_INPUTSHAPES_H
