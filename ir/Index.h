//===- Index.h - affine forms over the loops of a kernel --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Loops are numbered. An index is an affine form over them, kept in a normal
// form, so that equal indices compare equal. docs/rationale.md says why this is
// not mlir::AffineExpr.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_INDEX_H
#define SINTER_IR_INDEX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace sinter::ir {

/// constant + sum of coefficient * loop, for the index along one dimension.
struct Index {
  int64_t constant = 0;
  /// Ascending by loop; no zero coefficients.
  llvm::SmallVector<std::pair<unsigned, int64_t>, 1> terms;

  static Index loop(unsigned number) { return {0, {{number, 1}}}; }
  static Index fixed(int64_t value) { return {value, {}}; }

  /// The coefficient of `loop`, 0 if it does not occur.
  int64_t coefficient(unsigned loop) const;
  /// The loop, if the index is just that loop.
  std::optional<unsigned> asLoop() const;
  Index scaled(int64_t factor) const;
  Index plus(int64_t value) const;
  friend Index operator+(const Index &a, const Index &b);
  bool operator==(const Index &other) const {
    return constant == other.constant && terms == other.terms;
  }
};
using IndexVector = llvm::SmallVector<Index, 4>;

} // namespace sinter::ir

#endif // SINTER_IR_INDEX_H
