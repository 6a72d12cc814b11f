//===- ExpandRounding.h - floor, ceil and round without SSE4.1 --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_EXPANDROUNDING_H
#define SINTER_BACKENDS_CPU_CODEGEN_EXPANDROUNDING_H

#include "mlir/Pass/Pass.h"

namespace sinter::cpu {

/// Turns math.floor, math.ceil and math.roundeven of a kernel's module into
/// additions and comparisons, for CPUs without instructions for them. LLVM
/// would call a library.
std::unique_ptr<mlir::Pass> createExpandRounding();

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_EXPANDROUNDING_H
