//===- ScanForm.h - the form of a running sum -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Describes `cumulative` and `cumulative_parts` for all code generators. A unit
// of work is a part of a line; in `cumulative` each line is one part.
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
  bool hasStarts; // a second operand: what all parts but the first start with
  int64_t size;   // elements of a line
  int64_t inner;  // stride of a line: the lines interleaved with it
  int64_t lines;
  int64_t part; // elements of a part, at most `size`
  int64_t parts;

  /// Nothing if `op` is not a running sum.
  static std::optional<ScanForm> of(mlir::Operation *op);

  int64_t units() const { return lines * parts; }

  /// The flat position of the line's first element, and where the unit begins
  /// and ends, in steps of its line.
  struct Unit {
    mlir::Value lineStart, first, end;
    mlir::Value start; // the sum of everything before it, in the compute type
  };
  /// Emits the bounds of part number `unit`; the parts of a line are
  /// consecutive.
  Unit emitUnit(Scalar &s, mlir::Value unit,
                llvm::ArrayRef<mlir::Value> operands) const;
  /// The flat position of a step of the unit's line.
  mlir::Value position(Scalar &s, const Unit &unit, mlir::Value step) const;
};

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_SCANFORM_H
