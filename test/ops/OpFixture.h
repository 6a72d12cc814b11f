//===- OpFixture.h - what the tests over the op list share ------*- C++ -*-===//
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
  /// What was reported since the last call, one line each.
  std::string takeDiagnostics();

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string diagnostics;
};

/// A copy of `main` called `name` with one more argument per result of
/// `floatType` (float64 if null), its weight, that returns the weighted sum of
/// these results: a scalar tensor of `floatType`.
mlir::func::FuncOp makeScalarLoss(mlir::func::FuncOp main, llvm::StringRef name,
                                  mlir::Type floatType = {});

/// Inputs for the arguments that makeScalarLoss added after the first `count`.
std::vector<ir::Tensor> drawWeights(mlir::func::FuncOp loss, size_t count,
                                    mlir::Type floatType);

/// Whether the op has a gradient for these operands: neither refused nor
/// stopped.
bool isDifferentiable(const OpCase &opCase, mlir::MLIRContext *context);

/// The operands of the case that it may be differentiated by: the floats.
llvm::SmallVector<unsigned> floatOperands(const OpCase &opCase);

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
