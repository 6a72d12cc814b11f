//===- Dialects.h - the dialects that programs consist of -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DIALECTS_H
#define SINTER_COMPILER_DIALECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace sinter::compiler {

/// Registers Sinter's dialects and the upstream dialects that kernels use.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DIALECTS_H
