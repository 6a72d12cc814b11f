//===- OpFixture.h - what the tests over the op list share ---------*- C++
//-*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_OPS_OPFIXTURE_H
#define SINTER_TEST_OPS_OPFIXTURE_H

#include "ir/Dialect.h"

#include <string>

namespace sinter::test {

/// A context with the dialects loaded; diagnostics are collected, not printed.
class TestContext {
public:
  TestContext();
  mlir::MLIRContext *operator->() { return &context; }
  mlir::MLIRContext *get() { return &context; }
  /// What was reported since the last call, one line each.
  std::string takeDiagnostics();

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string diagnostics;
};

/// A copy of `main` called `name` with one more argument per float result, its
/// weight, that returns the weighted sum of all float results: tensor<f64>.
mlir::func::FuncOp makeScalarLoss(mlir::func::FuncOp main,
                                  llvm::StringRef name);

/// Replaces what `loss` (of makeScalarLoss) returns by the gradients of it by
/// `wrt`; `isNull` says which do not exist, in whose place zeros are returned.
mlir::LogicalResult returnGradients(mlir::func::FuncOp loss,
                                    llvm::ArrayRef<unsigned> wrt,
                                    llvm::SmallVectorImpl<bool> &isNull);

/// evaluateFunction; an empty list on failure.
std::vector<ir::Tensor> evaluate(mlir::func::FuncOp function,
                                 llvm::ArrayRef<ir::Tensor> inputs);

/// Decomposes the composites of `function`.
void decomposeAll(mlir::func::FuncOp function);

} // namespace sinter::test

#endif // SINTER_TEST_OPS_OPFIXTURE_H
