//===- StoredIntegers.h - constants of integers, by their bytes -*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Quantised models have constants of many megabytes. What is asked of them here
// is computed from the bytes that they are stored as. i1 does not count as an
// integer type here.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_STOREDINTEGERS_H
#define SINTER_IR_STOREDINTEGERS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sinter::ir {

/// The least and the greatest of some integers.
struct IntegerRange {
  int64_t least, greatest;

  bool contains(IntegerRange other) const {
    return least <= other.least && other.greatest <= greatest;
  }
};

/// The range of the elements of a constant of integers. Nothing for floats, for
/// ui64, for no elements and if the bytes are not available.
std::optional<IntegerRange> integerRange(mlir::ElementsAttr value);

/// The integers `value` less `zero` as `element`, a type of 8 bits that they
/// fit. `value` has an integerRange. `hint`: see Tensor::toAttr.
mlir::ElementsAttr narrowedIntegers(mlir::ElementsAttr value, int64_t zero,
                                    mlir::IntegerType element,
                                    llvm::StringRef hint);

/// The elements of a constant of integers or float32, row-major, in 16 bits: a
/// single one for a splat. Nothing if one of them is not a whole number that
/// fits, or `value` has no elements or no bytes.
std::optional<std::vector<int16_t>> smallIntegers(mlir::ElementsAttr value);

} // namespace sinter::ir

#endif // SINTER_IR_STOREDINTEGERS_H
