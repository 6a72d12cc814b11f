//===- NarrowFloats.h - 16-bit floats as integers ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_NARROWFLOATS_H
#define SINTER_BACKENDS_COMMON_CODEGEN_NARROWFLOATS_H

#include "mlir/Pass/Pass.h"

namespace sinter::codegen {

/// Turns conversions between 16-bit floats and wider ones, in a kernel's
/// module, into integer arithmetic. On CPUs without conversion instructions
/// LLVM would call a library.
std::unique_ptr<mlir::Pass> createExpandNarrowFloats();

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_NARROWFLOATS_H
