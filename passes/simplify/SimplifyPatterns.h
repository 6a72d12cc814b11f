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

/// Numbers: rewrites that preserve both the bits and the derivatives.
void addArithmeticPatterns(mlir::RewritePatternSet &patterns);
/// Numbers: rewrites that preserve the value, but change the derivative at some
/// points. Only for programs that are not differentiated any more.
void addValuePatterns(mlir::RewritePatternSet &patterns);
/// Values that are quantised to 8 bits: the codes have no derivative.
void addQuantizedPatterns(mlir::RewritePatternSet &patterns);
/// Broadcast, reshape, transpose and slice.
void addShapePatterns(mlir::RewritePatternSet &patterns);
/// Gathers and scatters whose indices have a regular form.
void addGatherPatterns(mlir::RewritePatternSet &patterns);
/// Ops that contractions absorb: transposes, and batch_norm with constant
/// parameters. The latter changes rounding; it applies only where the weights
/// are constants.
void addContractionPatterns(mlir::RewritePatternSet &patterns);
/// Operands, results and bodies of scans.
void addScanPatterns(mlir::RewritePatternSet &patterns);

/// All of the above except addValuePatterns and
/// addQuantizedPatterns, and the canonicalizers of the
/// dialect: the patterns for a program that is differentiated later.
void addDerivativePatterns(mlir::RewritePatternSet &patterns);

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_SIMPLIFYPATTERNS_H
