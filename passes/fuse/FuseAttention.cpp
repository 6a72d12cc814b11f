//===- FuseAttention.cpp - attention as one library call ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Wraps every attention that its target kept whole, and every gradient of one,
// in a `sinter.library_call` of kind attention. The call includes the
// transposes, slices and reshapes of its operands and results, and the
// concatenation of its gradients, if the strides of the library can express
// them. Runs before the other passes of the phase, which would make kernels of
// these moves.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/AttentionForm.h"
#include "passes/Passes.h"
#include "passes/ValueBuilder.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/FusionInfo.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/Passes.h.inc"

namespace {

class FuseAttention : public impl::FuseAttentionBase<FuseAttention> {
public:
  using FuseAttentionBase::FuseAttentionBase;

  void runOnOperation() override {
    SmallVector<Operation *> attentions;
    for (Operation &op : getOperation().getBody().front())
      if (isPlainAttention(&op) && isLibraryAttention(&op))
        attentions.push_back(&op);
    for (Operation *op : attentions)
      if (auto attention = dyn_cast<ir::AttentionOp>(op))
        shareOutput(attention);
    for (Operation *op : attentions)
      fuse(op);
    if (!attentions.empty())
      ir::remark("fuse-attention", "library-attention", getOperation().getLoc(),
                 "", attentions.size());
  }

private:
  // Pattern: move(output), attention_grad(.., output, ..)
  //       -> move(output), attention_grad(.., back(move(output)), ..)
  // so that the output is stored once, as its other user wants it.
  static void shareOutput(ir::AttentionOp attention) {
    Value output = attention.getOutput();
    Operation *move = nullptr;
    SmallVector<ir::AttentionGradOp> gradients;
    for (Operation *user : output.getUsers()) {
      if (auto gradient = dyn_cast<ir::AttentionGradOp>(user);
          gradient && gradient.getOutput() == output) {
        gradients.push_back(gradient);
        continue;
      }
      if (move || !isa<ir::ReshapeOp, ir::TransposeOp>(user))
        return;
      move = user;
    }
    if (!move)
      return;
    move->moveAfter(attention);
    for (ir::AttentionGradOp gradient : gradients) {
      OpBuilder builder(gradient);
      ValueBuilder b(builder, gradient.getLoc());
      Value moved = move->getResult(0);
      auto transpose = dyn_cast<ir::TransposeOp>(move);
      Value back =
          transpose
              ? b.transpose(moved, inversePermutation(transpose.getPerm()))
              : b.reshape(moved, ir::tensorType(output).getShape());
      gradient.getOutputMutable().assign(back);
    }
  }

  static void fuse(Operation *op) {
    AttentionForm form = attentionForm(op, kAttentionAlignment);
    // The members after the op only move its results.
    OpBuilder builder(op);
    buildLibraryCall(builder, ir::LibraryCallKind::attention, form.members,
                     form.stored());
    for (Operation *member : llvm::reverse(form.members))
      if (member->use_empty())
        member->erase();
  }
};

} // namespace

} // namespace sinter::passes
