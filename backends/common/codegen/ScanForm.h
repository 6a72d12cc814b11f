//===- ScanForm.h - running sums as code generators see them ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// `cumulative` and `cumulative_parts` are the same but for where lines begin: a
// worker has a part of a line, which is the whole of it for the first.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_SCANFORM_H
#define SINTER_BACKENDS_COMMON_CODEGEN_SCANFORM_H

#include "backends/common/codegen/UnitKernel.h"

namespace sinter::codegen {

struct ScanForm {
  ir::ReduceKind kind;
  mlir::Type element, startElement;
  bool isExclusive, isReverse;
  bool hasStarts; // a second operand; what parts but the first go on from
  int64_t size;   // elements of a line
  int64_t inner;  // lines whose elements lie between those of a line
  int64_t lines;
  int64_t part; // elements of a part, `size` at most
  int64_t parts;

  /// Nothing when `op` is no running sum.
  static std::optional<ScanForm> of(mlir::Operation *op);

  int64_t units() const { return lines * parts; }

  /// Where a unit begins and ends, in steps of its line, and the flat position
  /// of the line's first element.
  struct Unit {
    mlir::Value lineStart, first, end;
    mlir::Value start; // what comes before it, as it is computed with
  };
  /// Code for the `unit`-th part of all lines, those of a line in a row.
  Unit emitUnit(Scalar &s, mlir::Value unit,
                llvm::ArrayRef<mlir::Value> operands) const;
  /// The flat position of a step of the unit's line.
  mlir::Value position(Scalar &s, const Unit &unit, mlir::Value step) const;
};

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_SCANFORM_H
