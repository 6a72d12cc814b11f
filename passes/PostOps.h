//===- PostOps.h - what a library call does to its result -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_POSTOPS_H
#define SINTER_PASSES_POSTOPS_H

#include "ir/exec/Exec.h"

#include <optional>

namespace sinter::passes {

/// One step between a contraction and the store of its result.
struct PostOp {
  exec::PostOpKind kind;
  mlir::Value operand; // what is read: a dense value outside the chain
  mlir::FloatAttr alpha, beta{}; // as in exec.post_op
};

/// x * f(x), which uses x twice and is one post-op.
struct Gate {
  exec::PostOpKind kind;
  /// Definitions before uses; the last one is x * f(x).
  llvm::SmallVector<mlir::Operation *, 8> members;
};

/// What uses `value`, if that is a gate and nothing else: swish or hard_swish,
/// as the importer writes them.
std::optional<Gate> matchGate(mlir::Value value);

/// The dimensions of the result along which a bias of `contraction` runs: those
/// of n, or that of the channels. Empty when it takes none.
llvm::SmallVector<int64_t> biasDims(mlir::Operation *contraction);

/// True when `reduce` sums `value`, a result of `contraction`, to one number
/// for each element of a bias.
bool isBiasSum(mlir::Operation *reduce, mlir::Value value,
               mlir::Operation *contraction);

/// Which sum over each channel of `stored`, the 16-bit result of a convolution
/// with its channels last, `reduce` is: channel_sum or channel_squares.
std::optional<exec::PostOpKind> channelSumKind(mlir::Operation *reduce,
                                               mlir::Value stored);

/// The operand of `dot`, 0 or 1, that `reduce` sums over the contracted
/// dimensions, perhaps widened once more; nothing when it sums anything else.
std::optional<unsigned> summedOperand(mlir::Operation *reduce,
                                      ir::DotGeneralOp dot);

/// The only GELU of `value`, which others use as well, if a call that computes
/// `value` may go on with it and keep `value`; null otherwise.
ir::GeluOp keptGelu(mlir::Value value);

/// True when `compare` is `relu` > 0: the mask of the gradient of a relu.
bool isReluMask(mlir::Operation *compare, mlir::Value relu);

/// What `op` does to `value`, one of its operands; nothing when it is no
/// post-op. `strides` are those with which the elements of `value` are stored;
/// an added tensor must have the same.
std::optional<PostOp> matchPostOp(mlir::Operation *op, mlir::Value value,
                                  llvm::ArrayRef<int64_t> biasDims,
                                  llvm::ArrayRef<int64_t> strides);

} // namespace sinter::passes

#endif // SINTER_PASSES_POSTOPS_H
