//===- SimplifyPatterns.h - patterns of the simplifier ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// One function per subject, each in its own source file; SimplifyAlgebra runs
// them all.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_SIMPLIFYPATTERNS_H
#define SINTER_PASSES_SIMPLIFY_SIMPLIFYPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace sinter::passes {

/// Numbers: only rewrites that give the same bits, and the same derivatives.
void addArithmeticPatterns(mlir::RewritePatternSet &patterns);
/// Numbers: the same value, but at some points another derivative. Only for
/// what is not differentiated any more.
void addValuePatterns(mlir::RewritePatternSet &patterns);
/// Broadcast, reshape, transpose and slice.
void addShapePatterns(mlir::RewritePatternSet &patterns);
/// Gathers and scatters whose indices have a form.
void addGatherPatterns(mlir::RewritePatternSet &patterns);
/// What contractions take in: transposes, and batch_norm of constants (which
/// rounds differently; only in programs whose weights are constants).
void addContractionPatterns(mlir::RewritePatternSet &patterns);

/// All of the above but addValuePatterns, and the canonicalizers of the
/// dialect: what runs on a program that is differentiated later.
void addDerivativePatterns(mlir::RewritePatternSet &patterns);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_SIMPLIFYPATTERNS_H
