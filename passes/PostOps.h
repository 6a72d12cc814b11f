//===- PostOps.h - ops that a call applies to its result --------*- C++ -*-===//
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
  mlir::Value operand;           // a dense value outside the chain that is read
  mlir::FloatAttr alpha, beta{}; // as in exec.post_op
};

/// x * f(x), which uses x twice and is one post-op.
struct Gate {
  exec::PostOpKind kind;
  /// Definitions before uses; the last one is x * f(x).
  llvm::SmallVector<mlir::Operation *, 8> members;
};

/// The gate that all uses of `value` belong to: swish or hard_swish, as the
/// importer writes them.
std::optional<Gate> matchGate(mlir::Value value);

/// The dimensions of the result along which a bias of `contraction` runs: those
/// of n, or that of the channels. Empty if it takes no bias.
llvm::SmallVector<int64_t> biasDims(mlir::Operation *contraction);

/// True when `reduce` sums `value`, a result of `contraction`, to one number
/// for each element of a bias.
bool isBiasSum(mlir::Operation *reduce, mlir::Value value,
               mlir::Operation *contraction);

/// The kind of sum that `reduce` computes over each channel of `stored`, the
/// 16-bit result of a channels-last convolution: channel_sum or
/// channel_squares.
std::optional<exec::PostOpKind> channelSumKind(mlir::Operation *reduce,
                                               mlir::Value stored);

/// The operand of `dot`, 0 or 1, that `reduce` sums over the contracted
/// dimensions, perhaps after widening it once more; nothing if it sums
/// something else.
std::optional<unsigned> summedOperand(mlir::Operation *reduce,
                                      ir::DotGeneralOp dot);

/// The only GELU among several users of `value`, if a call that computes
/// `value` may apply it and also keep `value`; else null.
ir::GeluOp keptGelu(mlir::Value value);

/// True when `compare` is `relu` > 0: the mask of the gradient of a relu.
bool isReluMask(mlir::Operation *compare, mlir::Value relu);

/// The kind of `op` if it is a function of its only operand that calls apply.
std::optional<exec::PostOpKind> unaryKind(mlir::Operation *op);

/// The operand besides `value` if `op` is one of the post-ops with two operands
/// and uses `value` once; else null.
mlir::Value otherOperand(mlir::Operation *op, mlir::Value value);

/// What `op` does to `value`, one of its operands; nothing if it is not a
/// post-op. The elements of `value` are stored with `strides`; an added tensor
/// must have the same.
std::optional<PostOp> matchPostOp(mlir::Operation *op, mlir::Value value,
                                  llvm::ArrayRef<int64_t> biasDims,
                                  llvm::ArrayRef<int64_t> strides);

} // namespace sinter::passes

#endif // SINTER_PASSES_POSTOPS_H
