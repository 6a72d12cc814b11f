//===- Scans.h - building loops that stay loops -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Import functions build the body of a scan as if it were a part of @main, with
// the body's arguments as values. What does not depend on these arguments stays
// in @main, where it is computed once; the rest then moves into the body.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_IMPORT_ONNX_SCANS_H
#define SINTER_COMPILER_IMPORT_ONNX_SCANS_H

#include "compiler/import/onnx/Node.h"

#include <memory>

namespace sinter::compiler {

class ScanBuilder {
public:
  /// The body consists of ops that are built from now on, at the end of @main.
  explicit ScanBuilder(NodeImport &n);
  ScanBuilder(const ScanBuilder &) = delete;
  ScanBuilder &operator=(const ScanBuilder &) = delete;
  /// Erases the body if finish() has not made a scan of it.
  ~ScanBuilder();

  /// A new argument of the body. Slices of stacks come before carried values.
  mlir::Value argument(mlir::RankedTensorType type);
  /// Slice t of `stack` as an argument has this type.
  static mlir::RankedTensorType sliceType(mlir::Value stack);

  struct Operands {
    llvm::SmallVector<mlir::Value> stacks, initial;
  };
  /// Makes the scan. Each trip yields `next`, the carried values for the trip
  /// after it, and `slices` of the stacked results. Null, without an error, if
  /// an op in the body must not be repeated: a check of indices reports the
  /// first index out of range of a whole run.
  ir::ScanOp finish(int64_t trips, bool isReverse, const Operands &operands,
                    mlir::ValueRange next, mlir::ValueRange slices);

private:
  /// The ops since the constructor that depend on arguments, in order.
  llvm::SmallVector<mlir::Operation *> bodyOps() const;

  NodeImport &n;
  mlir::Block &main_;
  /// The last op before the body; null if there is none.
  mlir::Operation *before_;
  std::unique_ptr<mlir::Block> block_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_IMPORT_ONNX_SCANS_H
