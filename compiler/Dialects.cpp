//===- Dialects.cpp - the dialects that programs consist of ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/Dialects.h"

#include "ir/Dialect.h"
#include "ir/exec/Exec.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

void sinter::compiler::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<ir::SinterDialect, exec::ExecDialect, exec::ExecDialect,
                  mlir::func::FuncDialect, mlir::arith::ArithDialect,
                  mlir::affine::AffineDialect, mlir::cf::ControlFlowDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::vector::VectorDialect,
                  mlir::LLVM::LLVMDialect>();
}
