//===- Evaluation.h - programs in text form, evaluated ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_IR_EVALUATION_H
#define SINTER_TEST_IR_EVALUATION_H

#include "ir/Dialect.h"
#include "ir/eval/Evaluate.h"

#include "mlir/Parser/Parser.h"

namespace sinter::test {

/// A parsed module with one function.
struct Program {
  Program(mlir::MLIRContext &context, const std::string &text)
      : module(mlir::parseSourceString<mlir::ModuleOp>(text, &context)) {}

  mlir::func::FuncOp function() {
    return *module->getOps<mlir::func::FuncOp>().begin();
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A context with what the tests parse.
inline mlir::MLIRContext &context() {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    registry.insert<ir::SinterDialect, mlir::func::FuncDialect>();
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  return context;
}

} // namespace sinter::test

#endif // SINTER_TEST_IR_EVALUATION_H
