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

/// `leastRounding` is the relative error of a number that is computed in the
/// narrowest format (2^-24 for float32, 2^-9 for bf16); numbers of narrower
/// types have that of their type. Nothing when there is no evaluation.
std::optional<std::vector<Expected>> expect(mlir::func::FuncOp function,
                                            llvm::ArrayRef<ir::Tensor> inputs,
                                            double leastRounding);

/// The element that differs most, as a line; "" where none does or `expected`
/// is unstable.
std::string difference(const ir::Tensor &actual, const Expected &expected);

} // namespace sinter::fuzz

#endif // SINTER_TEST_FUZZ_GRAPHS_CLOSENESS_H
