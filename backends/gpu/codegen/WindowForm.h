//===- WindowForm.h - the shape of a window's gradient ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_WINDOWFORM_H
#define SINTER_BACKENDS_GPU_CODEGEN_WINDOWFORM_H

#include "ir/Dialect.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace sinter::gpu {

/// A dimension that windows may slide over.
struct WindowDim {
  int64_t in, out, window, stride, dilation, low, high;
  int64_t step, gradStep; // elements from one index to the next

  int64_t padded() const { return low + in + high; }
  int64_t span() const { return (window - 1) * dilation + 1; }
  bool isDisjoint() const { return stride >= span(); }
  /// The most windows that an element is in.
  int64_t covering() const {
    return std::min<int64_t>(std::min(out, window),
                             llvm::divideCeil(span(), stride));
  }
};

/// The dimensions before `dims` and after them, over which windows do not
/// slide, are one each.
struct WindowForm {
  explicit WindowForm(ir::ReduceWindowGradOp op);
  int64_t elements() const { return outer * plane * inner; }
  int64_t windowSize() const {
    int64_t size = 1;
    for (const WindowDim &dim : dims)
      size *= dim.window;
    return size;
  }

  llvm::SmallVector<WindowDim> dims;
  mlir::Type element;
  bool isSum;
  int64_t outer = 1, inner = 1, plane = 1, gradPlane = 1;
  int64_t lanes = 1; // elements of `inner` that are moved together
  int64_t reach = 1;
};

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_WINDOWFORM_H
