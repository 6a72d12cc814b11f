//===- Dialects.h - the dialects that programs consist of -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DIALECTS_H
#define SINTER_COMPILER_DIALECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace sinter::compiler {

/// Ours and those of upstream that kernels are made of.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DIALECTS_H
