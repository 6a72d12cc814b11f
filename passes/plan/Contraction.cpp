//===- Contraction.cpp - library calls from fusions -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Contraction.h"
#include "passes/FusionInfo.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/PostOps.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// The body of a contraction fusion, taken apart.
class Call {
public:
  Call(ir::FusionOp fusion, ValueRange inputs, Value output)
      : fusion(fusion), inputs(inputs), output(output) {}
  LogicalResult create(OpBuilder &builder);

private:
  /// Finds the contraction, how its result is stored, and the chain of ops
  /// after it.
  LogicalResult takeApart();
  LogicalResult matchPostOps();
  LogicalResult createMatmul(OpBuilder &builder, ir::DotGeneralOp op);
  template <class OpTy>
  LogicalResult createConv(OpBuilder &builder, OpTy op,
                           exec::ConvDirection direction, Value first,
                           Value second, RankedTensorType input,
                           RankedTensorType filter, RankedTensorType output);

  InFlightDiagnostic error() {
    return fusion.emitError()
           << "cannot call a library for this " << fusion.getKind() << ": ";
  }
  /// Adds the buffer of `value`, a body argument, to the reads.
  LogicalResult addRead(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return error() << "'" << value.getDefiningOp()->getName()
                     << "' computes an operand inside of it";
    reads.push_back(inputs[argument.getArgNumber()]);
    return success();
  }

  ir::FusionOp fusion;
  ValueRange inputs;
  Value output;
  Operation *contraction = nullptr;
  SmallVector<Operation *> chain;
  SmallVector<int64_t>
      resultStrides; // of the contraction's result, in elements
  bool transposed = false;
  SmallVector<PostOp> postOps;
  SmallVector<Value> reads;
  SmallVector<Attribute> postOpAttrs;
};

bool isContractionOp(Operation *op) {
  return isa<ir::DotGeneralOp, ir::ConvOp, ir::ConvInputGradOp,
             ir::ConvFilterGradOp>(op);
}

} // namespace

LogicalResult Call::takeApart() {
  Block &body = fusion.getBody().front();
  Operation *terminator = body.getTerminator();
  if (terminator->getNumOperands() != 1)
    return error() << "it has " << terminator->getNumOperands() << " results";
  for (Operation &op : body)
    if (isContractionOp(&op)) {
      if (contraction)
        return error() << "it has two contractions";
      contraction = &op;
    }
  if (!contraction)
    return error() << "it has no contraction";
  for (Value value = contraction->getResult(0);;) {
    if (std::optional<Gate> gate = matchGate(value)) {
      chain.push_back(gate->members.back());
      value = chain.back()->getResult(0);
      continue;
    }
    if (!value.hasOneUse())
      return error() << "a value of the epilogue has "
                     << llvm::range_size(value.getUses()) << " uses";
    Operation *user = *value.user_begin();
    if (user == terminator)
      break;
    if (user->getNumResults() != 1)
      return error() << "'" << user->getName() << "' is no post-op";
    chain.push_back(user);
    value = user->getResult(0);
  }

  // Reshapes and transposes at the end say where elements are stored.
  RankedTensorType type = ir::tensorType(terminator->getOperand(0));
  resultStrides = ir::rowMajorStrides(type.getShape());
  while (!chain.empty() && isa<ir::ReshapeOp, ir::TransposeOp>(chain.back())) {
    Operation *op = chain.pop_back_val();
    if (auto transpose = dyn_cast<ir::TransposeOp>(op)) {
      SmallVector<int64_t> strides(resultStrides.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
        strides[dim] = resultStrides[i];
      resultStrides = strides;
      transposed = true;
    } else if (!transposed) {
      resultStrides =
          ir::rowMajorStrides(ir::tensorType(op->getOperand(0)).getShape());
    } else {
      return error() << "it transposes and reshapes its result";
    }
  }
  // What is stored says in which type.
  if (!chain.empty() && isa<ir::CastOp>(chain.back()))
    chain.pop_back();
  return success();
}

LogicalResult Call::matchPostOps() {
  SmallVector<int64_t> dims = biasDims(contraction);
  Value value = contraction->getResult(0);
  for (Operation *op : chain) {
    std::optional<PostOp> post = matchPostOp(op, value, dims, resultStrides);
    if (!post)
      return error() << "'" << op->getName() << "' is no post-op";
    int64_t read = 0;
    if (post->operand) {
      read = reads.size();
      if (failed(addRead(post->operand)))
        return failure();
    }
    postOps.push_back(*post);
    postOpAttrs.push_back(exec::PostOpAttr::get(fusion.getContext(), post->kind,
                                                read, post->alpha, post->beta));
    value = op->getResult(0);
  }
  return success();
}

LogicalResult Call::createMatmul(OpBuilder &builder, ir::DotGeneralOp op) {
  std::optional<MatmulForm> form =
      matmulForm(op, ViewDepth::loops, ViewDepth::loops, resultStrides);
  if (!form)
    return error()
           << "its dimensions do not join to one stride each for m, n and k";
  if (failed(addRead(form->a)) || failed(addRead(form->b)) ||
      failed(matchPostOps()))
    return failure();
  int64_t columns = 1;
  for (int64_t dim : biasDims(op))
    columns *= ir::tensorType(op.getResult()).getDimSize(dim);
  for (const PostOp &post : postOps)
    if (post.kind == exec::PostOpKind::bias && columns != form->n &&
        form->m != 0)
      return error() << "its bias does not run along n";
  builder.create<exec::MatmulOp>(
      fusion.getLoc(), reads, output, form->m, form->n, form->k, form->batch,
      form->aStrides, form->bStrides, form->cStrides, form->aOffset,
      form->bOffset, builder.getArrayAttr(postOpAttrs), op.getTf32());
  return success();
}

template <class OpTy>
LogicalResult
Call::createConv(OpBuilder &builder, OpTy op, exec::ConvDirection direction,
                 Value first, Value second, RankedTensorType input,
                 RankedTensorType filter, RankedTensorType outputType) {
  if (transposed)
    return error() << "it transposes its result";
  if (failed(addRead(first)) || failed(addRead(second)) ||
      failed(matchPostOps()))
    return failure();
  size_t spatialRank = input.getRank() - 2,
         channelDim = op.getChannelsLast() ? spatialRank + 1 : 1;
  size_t firstSpatial = op.getChannelsLast() ? 1 : 2;
  builder.create<exec::ConvOp>(
      fusion.getLoc(), direction, reads, output, input.getDimSize(0),
      input.getDimSize(channelDim), filter.getDimSize(0), op.getGroups(),
      input.getShape().slice(firstSpatial, spatialRank),
      outputType.getShape().slice(firstSpatial, spatialRank),
      filter.getShape().drop_front(2), op.getStrides(), op.getDilations(),
      op.getPadsLow(), op.getPadsHigh(),
      static_cast<bool>(op.getChannelsLast()),
      builder.getArrayAttr(postOpAttrs), op.getTf32());
  return success();
}

LogicalResult Call::create(OpBuilder &builder) {
  if (failed(takeApart()))
    return failure();
  if (auto dot = dyn_cast<ir::DotGeneralOp>(contraction))
    return createMatmul(builder, dot);
  auto type = [](Value value) { return ir::tensorType(value); };
  auto [first, second] = multiplied(contraction);
  if (auto conv = dyn_cast<ir::ConvOp>(contraction))
    return createConv(builder, conv, exec::ConvDirection::forward, first,
                      second, type(conv.getInput()), type(conv.getFilter()),
                      type(conv.getResult()));
  if (auto conv = dyn_cast<ir::ConvInputGradOp>(contraction))
    return createConv(builder, conv, exec::ConvDirection::input_grad, first,
                      second, type(conv.getResult()), type(conv.getFilter()),
                      type(conv.getOutputGrad()));
  auto conv = cast<ir::ConvFilterGradOp>(contraction);
  return createConv(builder, conv, exec::ConvDirection::filter_grad, first,
                    second, type(conv.getInput()), type(conv.getResult()),
                    type(conv.getOutputGrad()));
}

LogicalResult createCall(OpBuilder &builder, ir::FusionOp fusion,
                         ValueRange inputs, ValueRange outputs) {
  if (fusion.getKind() == fusion_kind::kAttention)
    return createAttentionCall(builder, fusion, inputs, outputs);
  if (outputs.size() != 1)
    return fusion.emitError() << "a library call has one result";
  return Call(fusion, inputs, outputs[0]).create(builder);
}

} // namespace sinter::passes::plan
