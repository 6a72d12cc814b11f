//===- OutputErrors.h - two programs' outputs compared ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// How far the outputs of a quantised program are from those of the float32 one,
// over all rows of calibration data.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_OUTPUTERRORS_H
#define SINTER_COMPILER_DRIVER_OUTPUTERRORS_H

#include "ir/Tensor.h"

#include <string>

namespace sinter::compiler {

/// Sums over one output of floats.
struct OutputError {
  std::string name;
  double lost = 0;  // of (quantised - float32)^2
  double whole = 0; // of float32^2
  /// Of class scores, a matrix with one row for each row of the data: rows, and
  /// rows with the same largest class.
  int64_t rows = 0, agreeing = 0;

  /// Adds the output of one batch, of one type.
  void add(const ir::Tensor &exact, const ir::Tensor &quantized);
  /// The relative root mean square error.
  double relative() const;
  /// "logits 0.0123 (largest class the same in 98.5 % of the rows)".
  std::string text() const;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_OUTPUTERRORS_H
