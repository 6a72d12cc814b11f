//===- AttentionCall.cpp - library calls of attention ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/AttentionForm.h"
#include "passes/plan/Contraction.h"

using namespace mlir;

namespace sinter::passes::plan {

LogicalResult createAttentionCall(OpBuilder &builder, ir::LibraryCallOp fusion,
                                  ValueRange inputs, ValueRange outputs) {
  auto error = [&] {
    return fusion.emitError() << "cannot call a library for this attention: ";
  };
  Block &body = fusion.getBody().front();
  Operation *attention = nullptr;
  for (Operation &op : body)
    if (isPlainAttention(&op)) {
      if (attention)
        return error() << "it has two attentions";
      attention = &op;
    }
  if (!attention || !isLibraryAttention(attention))
    return error() << "it has no attention that a library computes";

  AttentionForm form = attentionForm(attention, kAttentionAlignment);
  ValueRange yielded = body.getTerminator()->getOperands();
  if (form.stored() != SmallVector<Value>(yielded))
    return error() << "it computes more than attention";
  // Buffers are numbered in the order of the command's operands, reads first.
  SmallVector<Value> reads;
  auto addRead = [&](Value value) -> std::optional<int64_t> {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return std::nullopt;
    Value buffer = inputs[argument.getArgNumber()];
    auto it = llvm::find(reads, buffer);
    if (it == reads.end())
      it = reads.insert(it, buffer);
    return it - reads.begin();
  };
  SmallVector<Attribute> heads;
  auto addHeads = [&](int64_t number, const HeadsView &view) {
    heads.push_back(exec::HeadsAttr::get(builder.getContext(), number,
                                         view.offset, view.strides));
  };
  for (const HeadsView &view : form.operands) {
    std::optional<int64_t> number = addRead(view.base);
    if (!number)
      return error() << "'" << view.base.getDefiningOp()->getName()
                     << "' computes an operand inside of it";
    addHeads(*number, view);
  }
  std::optional<int64_t> mask;
  if (form.mask.base && !(mask = addRead(form.mask.base)))
    return error() << "its mask is computed inside of it";
  std::optional<int64_t> stats;
  if (form.isGradient() && !(stats = addRead(form.stats())))
    return error() << "its statistics are computed inside of it";
  auto numReads = static_cast<int64_t>(reads.size());
  auto writeOf = [&](Value value) {
    return numReads + (llvm::find(yielded, value) - yielded.begin());
  };
  for (const HeadsView &view : form.results)
    addHeads(writeOf(view.base), view);
  if (mask)
    addHeads(*mask, form.mask);
  if (!form.isGradient() && !form.stats().use_empty())
    stats = writeOf(form.stats());

  APFloat scale(0.0);
  bool causal = false;
  if (auto grad = dyn_cast<ir::AttentionGradOp>(attention)) {
    scale = grad.getScale();
    causal = grad.getCausal();
  } else {
    auto forward = cast<ir::AttentionOp>(attention);
    scale = forward.getScale();
    causal = forward.getCausal();
  }
  builder.create<exec::AttentionOp>(
      fusion.getLoc(),
      form.isGradient() ? exec::AttentionDirection::backward
                        : exec::AttentionDirection::forward,
      reads, outputs, form.batch, form.heads, form.queries, form.keys,
      form.depth, scale, causal, builder.getArrayAttr(heads),
      stats ? builder.getI64IntegerAttr(*stats) : IntegerAttr());
  return success();
}

} // namespace sinter::passes::plan
