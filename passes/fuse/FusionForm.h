//===- FusionForm.h - which fusions are the same kernel ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_FUSIONFORM_H
#define SINTER_PASSES_FUSE_FUSIONFORM_H

#include "ir/Dialect.h"

#include <vector>

namespace sinter::passes {

/// What a kernel computes, regardless of its operands and of its location.
/// Kernels with equal `code` and equal values of `constants` are the same
/// kernel.
struct FusionForm {
  /// All that determines the code except the values of `constants`.
  std::vector<const void *> code;
  /// The splat constants in the body, in order.
  llvm::SmallVector<ir::ConstantOp> constants;

  explicit FusionForm(ir::KernelOp fusion);

  /// `code` and the values of the constants: a key for equal kernels.
  std::vector<const void *> key() const;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_FUSIONFORM_H
