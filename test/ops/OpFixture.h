//===- OpFixture.h - shared by the tests of the op list ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_OPS_OPFIXTURE_H
#define SINTER_TEST_OPS_OPFIXTURE_H

#include "test/ops/OpList.h"

#include <string>

namespace sinter::test {

/// A context with the dialects loaded; diagnostics are collected, not printed.
class TestContext {
public:
  TestContext();
  mlir::MLIRContext *operator->() { return &context; }
  mlir::MLIRContext *get() { return &context; }
  /// The diagnostics since the last call, one line each.
  std::string takeDiagnostics();

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string diagnostics;
};

/// A copy of `main` called `name` that returns the weighted sum of the results
/// of `floatType` (float64 if null), a scalar tensor of `floatType`. It has one
/// more argument for each of these results, the weight.
mlir::func::FuncOp makeScalarLoss(mlir::func::FuncOp main, llvm::StringRef name,
                                  mlir::Type floatType = {});

/// Inputs for the arguments that makeScalarLoss added after the first `count`.
std::vector<ir::Tensor> drawWeights(mlir::func::FuncOp loss, size_t count,
                                    mlir::Type floatType);

/// Whether the op has a gradient for these operands: it is neither refused nor
/// stopped.
bool isDifferentiable(const OpCase &opCase, mlir::MLIRContext *context);

/// The operands of the case that it may be differentiated by: the floats.
llvm::SmallVector<unsigned> floatOperands(const OpCase &opCase);

/// Replaces the result of `loss` (of makeScalarLoss) by its gradients by `wrt`.
/// `isNull` says which gradients do not exist; zeros are returned for these.
mlir::LogicalResult returnGradients(mlir::func::FuncOp loss,
                                    llvm::ArrayRef<unsigned> wrt,
                                    llvm::SmallVectorImpl<bool> &isNull);

/// evaluateFunction; an empty list on failure.
std::vector<ir::Tensor> evaluate(mlir::func::FuncOp function,
                                 llvm::ArrayRef<ir::Tensor> inputs);

/// Evaluates both functions, which have the same results. Says where they
/// differ by more than 1e-12, relative to 1 and the expected number, or are not
/// finite;
/// "" if they agree.
std::string differenceBetween(mlir::func::FuncOp expected,
                              mlir::func::FuncOp found,
                              llvm::ArrayRef<ir::Tensor> operands);

/// Decomposes the composites of `function`.
void decomposeAll(mlir::func::FuncOp function);

} // namespace sinter::test

#endif // SINTER_TEST_OPS_OPFIXTURE_H
