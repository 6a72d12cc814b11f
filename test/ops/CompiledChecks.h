//===- CompiledChecks.h - compiled cases of the op list ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Shared by the tests that compile the op list, run it and compare the results
// with the evaluation in float64 on the same inputs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_OPS_COMPILEDCHECKS_H
#define SINTER_TEST_OPS_COMPILEDCHECKS_H

#include "test/ops/OpBundle.h"
#include "test/ops/OpFixture.h"

#include <functional>

namespace sinter::test {

/// The allowed error of an element: the sum of these.
struct Allowance {
  double ofLargest = 0;         // times the largest magnitude in its tensor
  double ofSelf = 0;            // times its own magnitude
  double absolute = 0;          // the loss by underflow
  std::vector<double> ofResult; // absolute, one per result; empty: none
};

/// Compiles and runs `bundle`: a line for each part that fails and each result
/// that exceeds the allowed error. One allowance per part.
std::vector<std::string> problemsOf(OpBundle &bundle,
                                    llvm::ArrayRef<Allowance> allowances);

/// In parts that are compiled together.
std::vector<std::vector<OpCase>> chunks(std::vector<OpCase> all);

/// The value of `opCase`, or its gradient by all floats, in `floatType`. `look`
/// gets the program and its inputs first.
using Look =
    std::function<void(mlir::func::FuncOp, llvm::ArrayRef<ir::Tensor>)>;
void addValue(OpBundle &bundle, const OpCase &opCase, mlir::Type floatType,
              const Look &look = {});
void addGradient(OpBundle &bundle, const OpCase &opCase, mlir::Type floatType,
                 const Look &look = {});

} // namespace sinter::test

#endif // SINTER_TEST_OPS_COMPILEDCHECKS_H
