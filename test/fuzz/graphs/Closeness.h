//===- Closeness.h - how far a result may be off ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A random graph may magnify roundings: it subtracts equal numbers, divides by
// small ones, compares. How much is measured: the graph is evaluated in float64
// with each computed number off by a random part of one rounding. What a result
// changes by, times a small factor, is what a program may differ by. A result
// whose integers change is unstable, and is not compared.
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

/// A result of the graph in float64 and what it may be off by.
struct Expected {
  ir::Tensor value;
  double allowed = 0; // of each float, absolute
  bool isUnstable = false;
};

/// How a program computes.
struct Accuracy {
  /// The relative error of a number in the narrowest format. Numbers of
  /// narrower types have that of their type.
  double rounding;
  /// By how many of these numbers are off in a trial.
  double noise;
  /// A result may be off by this many times what it changes by in the trials,
  /// which draw some of the errors that may happen.
  double ofSpread;
  /// It may be off by so many roundings of the largest number anyway.
  double ofLargest;
};
/// A function in float32 is good to some roundings; the last number is that of
/// test/ops/CompiledTest.cpp.
inline constexpr Accuracy kFloat32 = {0x1p-24, 4, 16, 64};
/// Numbers are rounded to bf16 between operations, and computed in float32.
inline constexpr Accuracy kBfloat16 = {0x1p-9, 1, 4, 4};

/// Nothing when there is no evaluation.
std::optional<std::vector<Expected>> expect(mlir::func::FuncOp function,
                                            llvm::ArrayRef<ir::Tensor> inputs,
                                            const Accuracy &accuracy);

/// The element that differs most, as a line; "" where none does or `expected`
/// is unstable.
std::string difference(const ir::Tensor &actual, const Expected &expected);

} // namespace sinter::fuzz

#endif // SINTER_TEST_FUZZ_GRAPHS_CLOSENESS_H
