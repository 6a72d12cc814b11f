//===- ShapePatterns.cpp - canonical forms of shape ops -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// There is one form for what several ops can express: repeated elements are a
// broadcast, and elements in the same order under another shape are a reshape.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"

using namespace mlir;
using namespace sinter::ir;

/// If `op` repeats a single element, that element as a scalar; else null.
static Value repeatedElement(PatternRewriter &rewriter, BroadcastOp op) {
  if (!op || op.getX().getType().getNumElements() != 1)
    return {};
  return reshapeTo(rewriter, op.getLoc(), op.getX(), {});
}

// Pattern: reshape(broadcast(element)) -> broadcast(element)
static LogicalResult reshapeElement(ReshapeOp op, PatternRewriter &rewriter) {
  Value element =
      repeatedElement(rewriter, op.getX().getDefiningOp<BroadcastOp>());
  if (!element)
    return rewriter.notifyMatchFailure(op, "does not repeat one element");
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), element,
                                           ArrayRef<int64_t>());
  return success();
}

// Pattern: transpose(broadcast(element)) -> broadcast(element)
static LogicalResult transposeElement(TransposeOp op,
                                      PatternRewriter &rewriter) {
  Value element =
      repeatedElement(rewriter, op.getX().getDefiningOp<BroadcastOp>());
  if (!element)
    return rewriter.notifyMatchFailure(op, "does not repeat one element");
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), element,
                                           ArrayRef<int64_t>());
  return success();
}

// Pattern: transpose that moves only dimensions of size 1 -> reshape
static LogicalResult transposeUnits(TransposeOp op, PatternRewriter &rewriter) {
  int64_t last = -1;
  for (int64_t dim : op.getPerm()) {
    if (op.getX().getType().getDimSize(dim) == 1)
      continue;
    if (dim < last)
      return rewriter.notifyMatchFailure(op, "changes the order of elements");
    last = dim;
  }
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
  return success();
}

// Pattern: broadcast that repeats nothing -> reshape
static LogicalResult broadcastNothing(BroadcastOp op,
                                      PatternRewriter &rewriter) {
  if (op.getX().getType().getNumElements() != op.getType().getNumElements())
    return rewriter.notifyMatchFailure(op, "repeats elements");
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
  return success();
}

// Pattern: broadcast(reshape that inserts dimensions of size 1) -> broadcast
static LogicalResult broadcastUnits(BroadcastOp op, PatternRewriter &rewriter) {
  auto reshape = op.getX().getDefiningOp<ReshapeOp>();
  if (!reshape)
    return rewriter.notifyMatchFailure(op, "the operand is not a reshape");
  ArrayRef<int64_t> from = reshape.getX().getType().getShape();
  ArrayRef<int64_t> to = reshape.getType().getShape();
  SmallVector<int64_t> dims;
  for (auto [dim, size] : llvm::enumerate(to)) {
    if (dims.size() < from.size() && from[dims.size()] == size)
      dims.push_back(op.getDims()[dim]);
    else if (size != 1)
      return rewriter.notifyMatchFailure(
          op, "the reshape does more than insert dimensions of size 1");
  }
  if (dims.size() != from.size())
    return rewriter.notifyMatchFailure(
        op, "the reshape does more than insert dimensions of size 1");
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), reshape.getX(),
                                           dims);
  return success();
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(reshapeElement);
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(transposeElement);
  patterns.add(transposeUnits);
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(broadcastNothing);
  patterns.add(broadcastUnits);
}
