//===- NarrowFloats.h - 16-bit floats as integers ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_NARROWFLOATS_H
#define SINTER_BACKENDS_COMMON_CODEGEN_NARROWFLOATS_H

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"

#include <functional>

namespace sinter::codegen {

/// The conversions that a target has instructions for.
struct NarrowInstructions {
  /// Rounds two float32 numbers to the nearest numbers of `element` (f16 or
  /// bf16), ties to even, and returns their bits in an i32, those of `low` in
  /// the lower half. Every NaN becomes 0x7fff. Null if the target has no such
  /// instruction.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                            mlir::Type element, mlir::Value low,
                            mlir::Value high)>
      roundPair;
};

/// Turns conversions between 16-bit floats and wider ones, in a kernel's
/// module, into `instructions` and integer arithmetic. On CPUs without
/// conversion instructions LLVM would call a library.
std::unique_ptr<mlir::Pass>
createExpandNarrowFloats(NarrowInstructions instructions = {});

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_NARROWFLOATS_H
