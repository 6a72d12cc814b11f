//===- ScanValues.h - where the values of a scan's body lie -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_SCANVALUES_H
#define SINTER_COMPILER_EMIT_SCANVALUES_H

#include "ir/exec/Exec.h"

#include "sinter/abi.h"

#include <vector>

namespace sinter::compiler {

/// Maps buffers of the body of a verified scan to slices of the program around
/// it.
class ScanValues {
public:
  /// `sliceOf` gives the slice of a buffer of the program around the scan.
  ScanValues(exec::ScanOp scan,
             llvm::function_ref<sinter_slice(mlir::Value)> sliceOf);

  exec::ProgramOp body() const { return body_; }
  llvm::ArrayRef<sinter_scan_value> values() const { return values_; }
  /// The place of `slice`, which is in the arena, an input or an output of the
  /// body.
  sinter_slice place(exec::SliceAttr slice) const;

private:
  sinter_scan_value slices(const sinter_slice &stack) const;
  sinter_scan_value last(const sinter_slice &result, int64_t offset) const;
  sinter_scan_value carried(const sinter_slice &initial,
                            const sinter_scan_value &output,
                            bool isStacked) const;
  sinter_slice valueSlice(const sinter_scan_value &value);

  exec::ProgramOp body_;
  int64_t trips_;
  bool isReverse_;
  sinter_slice scratch_;
  std::vector<sinter_scan_value> values_;
  std::vector<sinter_slice> inputs_, outputs_; // by number
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_SCANVALUES_H
