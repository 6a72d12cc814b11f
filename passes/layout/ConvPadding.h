//===- ConvPadding.h - aligned channels for tensor cores --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_LAYOUT_CONVPADDING_H
#define SINTER_PASSES_LAYOUT_CONVPADDING_H

#include "ir/Dialect.h"

#include <string>

namespace sinter::passes {

/// Whether `conv`, a library call, gets channels of zeros.
struct ConvPadding {
  int64_t channels = 0; // to append; 0: none
  std::string reason;   // in one sentence; "" if there is nothing to say
};

/// Looks at a `conv` or `conv_filter_grad`. It is padded if its input channels
/// are not a multiple of 16 bytes and the time that tensor cores save is, by
/// estimate, longer than the copies and one more launch take.
ConvPadding worthwhileConvPadding(mlir::Operation *conv);

/// Replaces `conv` by one whose operands have `channels` more input channels,
/// all zeros. A filter's gradient is cut to its size. The values are the same.
void padConv(mlir::Operation *conv, int64_t channels);

} // namespace sinter::passes

#endif // SINTER_PASSES_LAYOUT_CONVPADDING_H
