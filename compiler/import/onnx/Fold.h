//===- Fold.h - shape arithmetic disappears at import -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Evaluates small ops on constants as soon as they are built, by the dialect's
// reference evaluation. Meant for index arithmetic; folding of weights is the
// simplify phase's.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_FOLD_H
#define SINTER_COMPILER_IMPORT_ONNX_FOLD_H

#include "ir/Dialect.h"

namespace sinter::compiler {

class Folder {
public:
  /// Replaces `op` by constants, and erases it, if all its operands are small
  /// constants. `replaced` gets its results.
  bool fold(mlir::Operation *op,
            llvm::DenseMap<mlir::Value, mlir::Value> &replaced);

private:
  /// Elements that may still be computed; bounds the time of hostile models.
  int64_t budget_ = int64_t(1) << 26;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_FOLD_H
