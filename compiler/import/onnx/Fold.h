//===- Fold.h - folds shape arithmetic at import ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Evaluates small ops on constants as soon as they are built, with the
// dialect's reference evaluation. This is for index arithmetic; the simplify
// phase folds weights.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_FOLD_H
#define SINTER_COMPILER_IMPORT_ONNX_FOLD_H

#include "ir/Dialect.h"

namespace sinter::compiler {

class Folder {
public:
  /// Replaces `op` with constants and erases it if all its operands are small
  /// constants. `replaced` maps its results to the constants.
  bool fold(mlir::Operation *op,
            llvm::DenseMap<mlir::Value, mlir::Value> &replaced);

private:
  /// Elements that may still be computed; bounds the time of hostile models.
  int64_t budget_ = int64_t(1) << 26;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_FOLD_H
