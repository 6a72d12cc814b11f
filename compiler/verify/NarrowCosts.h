//===- NarrowCosts.h - what rounding to 16 bits costs -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// With --precision=bf16 or fp16 a program is less accurate, which is no defect.
// The casts of one node at a time round here, in a float64 evaluation; the
// change of the results is what the node costs.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_NARROWCOSTS_H
#define SINTER_COMPILER_VERIFY_NARROWCOSTS_H

#include "compiler/verify/ProgramValues.h"

namespace sinter::compiler {

class NarrowCosts {
public:
  /// `rounded` is the program after the precision phase.
  NarrowCosts(mlir::ModuleOp rounded, ProgramInputs &inputs)
      : module(rounded), inputs(inputs) {}

  /// Fails with an error if the program cannot be evaluated.
  mlir::LogicalResult measure();
  /// The nodes that cost most, and the error of the whole.
  void print(llvm::raw_ostream &os, llvm::StringRef policy) const;
  /// The error of another compilation of the model, whose types may belong to
  /// another context.
  mlir::FailureOr<double> errorOf(mlir::ModuleOp other, ProgramInputs &its);
  /// Writes a precision plan that keeps the 1, 2, 4, ... most expensive nodes
  /// in float32, until the error with it, `errorWith`, is at most half. Returns
  /// what went wrong, "" if nothing.
  std::string
  writePlan(llvm::StringRef path, llvm::StringRef policy, llvm::raw_ostream &os,
            llvm::function_ref<mlir::FailureOr<double>(llvm::StringRef path)>
                errorWith);

private:
  struct Node {
    std::string names; // separated by commas
    double error = 0;
  };
  /// The largest error of a result, relative to its size (of a state: to its
  /// change), if the casts round of which the nodes `round`.
  mlir::FailureOr<double>
  errorWhere(llvm::function_ref<bool(llvm::StringRef names)> rounds);
  double errorOf(const ProgramResults &results);
  double scaleOf(llvm::StringRef result, const ir::Tensor &value);

  mlir::ModuleOp module;
  ProgramInputs &inputs;
  ProgramResults exact;
  std::vector<Node> nodes; // the most expensive first
  double whole = 0;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_NARROWCOSTS_H
