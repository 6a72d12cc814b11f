//===- Closeness.h - the allowed error of a result --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A random graph may magnify rounding errors: it subtracts equal numbers,
// divides by small ones, compares. The effect is measured: the graph is
// evaluated in float64, composites step by step, with each computed number off
// by a random part of one rounding. A program's result may differ by the change
// of the result there, times a small factor. A result whose integers change is
// unstable and is not compared.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_FUZZ_GRAPHS_CLOSENESS_H
#define SINTER_TEST_FUZZ_GRAPHS_CLOSENESS_H

#include "ir/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::fuzz {

/// A result of the graph in float64, and its allowed error.
struct Expected {
  ir::Tensor value;
  double allowed = 0; // of each float, absolute
  bool isUnstable = false;
};

/// How a program computes.
struct Accuracy {
  /// The relative error of a number in the program's narrowest format. Numbers
  /// of narrower types have the error of their type.
  double rounding;
  /// How many of these errors a number is off by in a trial.
  double noise;
  /// A result may differ by this many times its change in the trials, which
  /// draw only some of the possible errors.
  double ofSpread;
  /// In any case it may differ by this many roundings of the largest number.
  double ofLargest;
};
/// A function in float32 has an error of some roundings; the last number is
/// that of test/ops/CompiledTest.cpp.
inline constexpr Accuracy kFloat32 = {0x1p-24, 4, 16, 64};
/// Numbers are rounded to bf16 between operations, and computed in float32.
inline constexpr Accuracy kBfloat16 = {0x1p-9, 1, 4, 4};

/// Nothing if there is no evaluation.
std::optional<std::vector<Expected>> expect(mlir::func::FuncOp function,
                                            llvm::ArrayRef<ir::Tensor> inputs,
                                            const Accuracy &accuracy);

/// The element that differs most, as a line; "" if none does or `expected` is
/// unstable.
std::string difference(const ir::Tensor &actual, const Expected &expected);

} // namespace sinter::fuzz

#endif // SINTER_TEST_FUZZ_GRAPHS_CLOSENESS_H
