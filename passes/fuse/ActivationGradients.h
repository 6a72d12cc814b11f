//===- ActivationGradients.h - gradients that calls apply -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Which gradients of relus and GELUs a library call may apply to its result.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_ACTIVATIONGRADIENTS_H
#define SINTER_PASSES_FUSE_ACTIVATIONGRADIENTS_H

#include "passes/Target.h"

namespace sinter::passes {

/// A relu whose mask the call that computes it may keep.
struct MaskedRelu {
  ir::CompareOp compare;
  ir::ReluOp relu;
  mlir::Operation *forward = nullptr; // the contraction before it
};

/// The relu whose gradient `where` applies to a result of `backward`. Null
/// unless both calls store the bits of a mask in the same lines.
MaskedRelu findMaskedRelu(ir::WhereOp where, mlir::Operation *backward,
                          const Target *target);

/// True when a library call may apply `grad`: only `grad` uses what is computed
/// from the result of that call. Other gradients of GELUs are decomposed.
bool followsLibraryCall(ir::GeluGradOp grad, const Target *target);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_ACTIVATIONGRADIENTS_H
