//===- ChannelSums.h - a variance by sums of a call -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_FUSE_CHANNELSUMS_H
#define SINTER_PASSES_FUSE_CHANNELSUMS_H

#include "passes/recognize/VarianceForm.h"

namespace sinter::passes {

/// The variance over the channels of `stored`, a 16-bit value, if its squares
/// are used only there.
std::optional<SquaredDeviations> channelDeviations(mlir::Value stored);

/// What sums a value and its squares.
struct ChannelSums {
  llvm::SmallVector<mlir::Operation *> ops;
  mlir::Value sum, sumOfSquares;
};

/// Sums `stored` and its squares after it. `squares`, its channelDeviations,
/// become max(sum(y^2) - sum(y) m, 0).
ChannelSums sumChannels(mlir::Value stored, SquaredDeviations squares);

} // namespace sinter::passes

#endif // SINTER_PASSES_FUSE_CHANNELSUMS_H
