//===- Contraction.cpp - commands of library calls ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Contraction.h"
#include "passes/CodedWeights.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/QuantizedPostOps.h"
#include "passes/fuse/FusionInfo.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// Takes apart the body of a contraction call and writes the command.
class Call {
public:
  Call(ir::LibraryCallOp fusion, ValueRange inputs, ValueRange outputs)
      : fusion(fusion), inputs(inputs), outputs(outputs) {}
  LogicalResult create(OpBuilder &builder);

private:
  /// Finds the contraction, how its result is stored, and the steps after it.
  LogicalResult takeApart();
  FailureOr<Operation *> takeUsers(Value value);
  /// The number of `value` among the results but the first, if it is one.
  std::optional<int64_t> keptNumber(Value value);
  /// The relu whose mask is result `write`.
  Value reluOf(int64_t write) {
    Value mask = fusion.getBody().front().getTerminator()->getOperand(write);
    return mask.getDefiningOp()->getOperand(0);
  }
  LogicalResult matchPostOps();
  /// Adds scales and zero points to the reads; null if it fails.
  exec::CodedWeightsAttr addWeights(const CodedWeights &coded);
  LogicalResult createMatmul(OpBuilder &builder, ir::DotGeneralOp op);
  template <class OpTy>
  LogicalResult createConv(OpBuilder &builder, OpTy op,
                           exec::ConvDirection direction, Value first,
                           Value second, RankedTensorType input,
                           RankedTensorType filter, RankedTensorType output);

  InFlightDiagnostic error() {
    return fusion.emitError()
           << "cannot call a library for this "
           << ir::stringifyLibraryCallKind(fusion.getKind()) << ": ";
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

  /// An op of the chain, or a value that is kept.
  struct Step {
    Operation *op;
    exec::PostOpKind kind{};
    int64_t write = 0;
    std::optional<PostOp> known{}; // the post-op, if several ops stand for it
  };

  ir::LibraryCallOp fusion;
  ValueRange inputs, outputs;
  Operation *contraction = nullptr;
  SmallVector<Step> steps;
  SmallVector<int64_t>
      resultStrides; // of the contraction's result, in elements
  bool transposed = false;
  SmallVector<PostOp> postOps;
  SmallVector<Value> reads;
  SmallVector<Attribute> postOpAttrs;
};

} // namespace

std::optional<int64_t> Call::keptNumber(Value value) {
  OperandRange yielded =
      fusion.getBody().front().getTerminator()->getOperands().drop_front();
  auto it = llvm::find(yielded, value);
  return it == yielded.end() ? std::nullopt
                             : std::optional<int64_t>(it - yielded.begin() + 1);
}

/// Adds steps for what is kept of `value`, and finds the one op that continues
/// the chain; null if `value` is the result.
FailureOr<Operation *> Call::takeUsers(Value value) {
  Operation *next = nullptr;
  bool isResult = false;
  llvm::SmallSetVector<Operation *, 4> unique(value.user_begin(),
                                              value.user_end());
  SmallVector<Operation *> users = unique.takeVector();
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *user : users) {
    if (isa<ir::YieldOp>(user)) {
      isResult = user->getOperand(0) == value;
      if (std::optional<int64_t> write = keptNumber(value))
        steps.push_back({nullptr, exec::PostOpKind::store, *write});
      continue;
    }
    if (user->getNumResults() == 1 && widened(user->getResult(0)) == value)
      continue; // for sums over channels
    std::optional<int64_t> write = user->getNumResults() == 1
                                       ? keptNumber(user->getResult(0))
                                       : std::nullopt;
    if (write && isa<ir::CastOp>(user)) {
      steps.push_back({nullptr, exec::PostOpKind::store, *write});
    } else if (write && isBiasSum(user, value, contraction)) {
      steps.push_back({nullptr, exec::PostOpKind::bias_grad, *write});
    } else if (write && isReluMask(user, value) && !steps.empty() &&
               isa_and_nonnull<ir::ReluOp>(steps.back().op)) {
      steps.back() = {nullptr, exec::PostOpKind::relu_bits, *write};
    } else if (next) {
      return error() << "a value of the epilogue has "
                     << llvm::range_size(value.getUses()) << " uses";
    } else {
      next = user;
    }
  }
  if (isResult && next)
    return error() << "its result has another use inside of it";
  return next;
}

LogicalResult Call::takeApart() {
  Block &body = fusion.getBody().front();
  Operation *terminator = body.getTerminator();
  for (Operation &op : body)
    if (ir::isContraction(&op)) {
      if (contraction)
        return error() << "it has two contractions";
      contraction = &op;
    }
  if (!contraction)
    return error() << "it has no contraction";
  Value value = contraction->getResult(0);
  if (multipliesBytes(contraction))
    while (std::optional<QuantizedPostOp> next = matchQuantizedPostOp(
               value, contraction, /*makesVectors=*/false)) {
      steps.push_back({next->members.back(), {}, 0, next->postOp});
      value = next->result();
    }
  for (;;) {
    if (std::optional<Gate> gate = matchGate(value)) {
      steps.push_back({gate->members.back()});
      value = steps.back().op->getResult(0);
      continue;
    }
    FailureOr<Operation *> next = takeUsers(value);
    if (failed(next))
      return failure();
    if (!*next)
      break;
    if ((*next)->getNumResults() != 1)
      return error() << "'" << (*next)->getName() << "' is not a post-op";
    steps.push_back({*next});
    value = (*next)->getResult(0);
  }
  if (auto dot = dyn_cast<ir::DotGeneralOp>(contraction))
    for (Value kept : terminator->getOperands().drop_front())
      if (Operation *def = kept.getDefiningOp())
        if (std::optional<unsigned> summed = summedOperand(def, dot))
          steps.push_back(
              {nullptr,
               *summed == 0 ? exec::PostOpKind::a_sum : exec::PostOpKind::b_sum,
               *keptNumber(kept)});

  // Reshapes and transposes at the end determine where elements are stored.
  RankedTensorType type = ir::tensorType(terminator->getOperand(0));
  resultStrides = ir::rowMajorStrides(type.getShape());
  while (!steps.empty() &&
         isa_and_nonnull<ir::ReshapeOp, ir::TransposeOp>(steps.back().op)) {
    Operation *op = steps.pop_back_val().op;
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
  // A final cast is implied by the type of the result. Sums over channels come
  // last.
  if (!steps.empty() && !steps.back().known &&
      isa_and_nonnull<ir::CastOp>(steps.back().op))
    steps.pop_back();
  if (isa<ir::ConvOp>(contraction))
    for (Value kept : terminator->getOperands().drop_front())
      if (std::optional<exec::PostOpKind> kind =
              channelSumKind(kept.getDefiningOp(), terminator->getOperand(0)))
        steps.push_back({nullptr, *kind, *keptNumber(kept)});
  size_t numKept =
      llvm::count_if(steps, [](const Step &step) { return step.write != 0; });
  if (numKept + 1 != terminator->getNumOperands())
    return error() << "it has " << terminator->getNumOperands() << " results";
  return success();
}

LogicalResult Call::matchPostOps() {
  SmallVector<int64_t> dims = biasDims(contraction);
  Value value = contraction->getResult(0);
  auto add = [&](exec::PostOpKind kind, int64_t read, int64_t write,
                 FloatAttr alpha, FloatAttr beta) {
    postOpAttrs.push_back(exec::PostOpAttr::get(fusion.getContext(), kind, read,
                                                write, alpha, beta));
  };
  for (const Step &step : steps) {
    if (step.write) {
      if (transposed)
        return error() << "it transposes its result and keeps another";
      add(step.kind, 0, step.write, {}, {});
      if (step.kind == exec::PostOpKind::relu_bits)
        value = reluOf(step.write);
      continue;
    }
    std::optional<PostOp> post =
        step.known ? step.known
                   : matchPostOp(step.op, value, dims, resultStrides);
    if (!post)
      return error() << "'" << step.op->getName() << "' is not a post-op";
    int64_t read = 0;
    if (post->operand) {
      read = reads.size();
      if (failed(addRead(post->operand)))
        return failure();
    }
    postOps.push_back(*post);
    add(post->kind, read, 0, post->alpha, post->beta);
    value = step.op->getResult(0);
  }
  return success();
}

exec::CodedWeightsAttr Call::addWeights(const CodedWeights &coded) {
  Builder builder(fusion.getContext());
  bool isRead = true;
  auto add = [&](const PerBlock &part, FloatAttr &number) -> int64_t {
    if (!part.values) {
      number = builder.getF32FloatAttr(static_cast<float>(part.number));
      return 0;
    }
    isRead &= succeeded(addRead(part.values));
    return reads.size() - 1;
  };
  FloatAttr scale, zero;
  const int64_t scales = add(coded.scale, scale), zeros = add(coded.zero, zero);
  return isRead ? exec::CodedWeightsAttr::get(fusion.getContext(), coded.bits,
                                              coded.block, scales, zeros, scale,
                                              zero)
                : exec::CodedWeightsAttr();
}

LogicalResult Call::createMatmul(OpBuilder &builder, ir::DotGeneralOp op) {
  std::optional<CodedWeights> coded = codedWeights(op.getRhs());
  std::optional<MatmulForm> form =
      matmulForm(op, ViewDepth::loops,
                 coded ? ViewDepth::none : ViewDepth::loops, resultStrides);
  if (!form)
    return error() << "its dimensions cannot be joined to one stride each for "
                      "m, n and k";
  if (failed(addRead(form->a)) ||
      failed(addRead(coded ? coded->codes : form->b)) || failed(matchPostOps()))
    return failure();
  exec::CodedWeightsAttr weights;
  if (coded && !(weights = addWeights(*coded)))
    return failure();
  int64_t columns = 1;
  for (int64_t dim : biasDims(op))
    columns *= ir::tensorType(op.getResult()).getDimSize(dim);
  for (const PostOp &post : postOps)
    if ((post.kind == exec::PostOpKind::bias ||
         post.kind == exec::PostOpKind::dequantize) &&
        columns != form->n && form->m != 0)
      return error() << "its bias does not run along n";
  builder.create<exec::MatmulOp>(
      fusion.getLoc(), reads, outputs[0], outputs.drop_front(), form->m,
      form->n, form->k, form->batch, form->aStrides, form->bStrides,
      form->cStrides, form->aOffset, form->bOffset,
      builder.getArrayAttr(postOpAttrs), op.getTf32(), weights);
  return success();
}

template <class OpTy>
LogicalResult
Call::createConv(OpBuilder &builder, OpTy op, exec::ConvDirection direction,
                 Value first, Value second, RankedTensorType input,
                 RankedTensorType filter, RankedTensorType outputType) {
  if (transposed)
    return error() << "it transposes its result";
  SmallVector<int64_t> padsLow(op.getPadsLow()), padsHigh(op.getPadsHigh());
  int32_t padValue = 0;
  size_t spatialRank = input.getRank() - 2,
         channelDim = op.getChannelsLast() ? spatialRank + 1 : 1;
  size_t firstSpatial = op.getChannelsLast() ? 1 : 2;
  if (std::optional<BytePadding> padding = paddingOf(contraction)) {
    for (size_t i = 0; i < spatialRank; ++i) {
      padsLow[i] += padding->pad.getLow()[firstSpatial + i];
      padsHigh[i] += padding->pad.getHigh()[firstSpatial + i];
    }
    padValue = padding->value;
    first = padding->pad.getX();
    input = ir::tensorType(first);
  }
  if (failed(addRead(first)) || failed(addRead(second)) ||
      failed(matchPostOps()))
    return failure();
  builder.create<exec::ConvOp>(
      fusion.getLoc(), direction, reads, outputs[0], outputs.drop_front(),
      input.getDimSize(0), input.getDimSize(channelDim), filter.getDimSize(0),
      op.getGroups(), input.getShape().slice(firstSpatial, spatialRank),
      outputType.getShape().slice(firstSpatial, spatialRank),
      filter.getShape().drop_front(2), op.getStrides(), op.getDilations(),
      padsLow, padsHigh, static_cast<bool>(op.getChannelsLast()),
      builder.getArrayAttr(postOpAttrs), op.getTf32(), padValue);
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

LogicalResult createCall(OpBuilder &builder, ir::LibraryCallOp fusion,
                         ValueRange inputs, ValueRange outputs) {
  if (fusion.getKind() == ir::LibraryCallKind::attention)
    return createAttentionCall(builder, fusion, inputs, outputs);
  return Call(fusion, inputs, outputs).create(builder);
}

} // namespace sinter::passes::plan
