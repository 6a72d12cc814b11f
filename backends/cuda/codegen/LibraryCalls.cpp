//===- LibraryCalls.cpp - contractions as calls, for the plans ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/LibraryCalls.h"
#include "backends/cuda/library/ConvPlan.h"
#include "backends/cuda/library/LtPlan.h"
#include "ir/Dialect.h"
#include "passes/OpClasses.h"

using namespace mlir;

namespace sinter::cuda {
namespace {

uint32_t dtypeOf(Type element, bool isTf32) {
  return element.isF16()    ? SINTER_F16
         : element.isBF16() ? SINTER_BF16
         : element.isF64()  ? SINTER_F64
         : isTf32           ? SINTER_TF32
                            : SINTER_F32;
}

/// The types of a call of `contraction` with `postOps`, which are applied to a
/// float32 result. Without post-ops the question is about 16-bit operands.
template <class Call>
void setTypes(Call &call, Operation *contraction, bool isTf32,
              ArrayRef<passes::PostOp> postOps, FloatType narrow) {
  Type operand =
      ir::tensorType(passes::multiplied(contraction).first).getElementType();
  if (narrow && operand.isF32())
    operand = narrow;
  call.dtype = postOps.empty() ? SINTER_BF16 : dtypeOf(operand, isTf32);
  call.outDtype = call.dtype == SINTER_F64 ? SINTER_F64 : SINTER_F32;
}

/// Operands get slices in the order of the post-ops.
template <class Call>
void setPostOps(Call &call, ArrayRef<passes::PostOp> postOps) {
  auto number = [](FloatAttr attr) {
    return attr ? static_cast<float>(attr.getValueAsDouble()) : 0.0f;
  };
  uint32_t slice = 2; // after the operands of the contraction
  for (const passes::PostOp &postOp : postOps) {
    bool hasSlice = exec::traitsOf(postOp.kind).slice != SINTER_POST_SLICE_NONE;
    call.postOps[call.numPostOps++] = {
        static_cast<uint32_t>(postOp.kind), hasSlice ? slice : 0,
        number(postOp.alpha), number(postOp.beta)};
    slice += hasSlice;
  }
}

/// The numbers of a call with a dense result; `output` is that of the
/// convolution.
template <class OpTy>
sinter_conv convCall(OpTy op, sinter_conv_direction direction,
                     RankedTensorType input, RankedTensorType filter,
                     RankedTensorType output) {
  bool isLast = op.getChannelsLast();
  size_t rank = input.getRank() - 2;
  sinter_conv call{};
  call.direction = direction;
  call.layout = isLast ? SINTER_CHANNELS_LAST : SINTER_CHANNELS_FIRST;
  call.spatialRank = rank;
  call.batch = input.getDimSize(0);
  call.channels = input.getDimSize(isLast ? rank + 1 : 1);
  call.filters = filter.getDimSize(0);
  call.groups = op.getGroups();
  llvm::copy(input.getShape().slice(isLast ? 1 : 2, rank), call.inputDims);
  llvm::copy(output.getShape().slice(isLast ? 1 : 2, rank), call.outputDims);
  llvm::copy(filter.getShape().drop_front(2), call.kernel);
  llvm::copy(op.getStrides(), call.strides);
  llvm::copy(op.getDilations(), call.dilations);
  llvm::copy(op.getPadsLow(), call.padsLow);
  llvm::copy(op.getPadsHigh(), call.padsHigh);
  call.filterLayout = SINTER_CHANNELS_FIRST;
  return call;
}

sinter_conv convCall(Operation *op) {
  auto type = [](Value value) { return ir::tensorType(value); };
  if (auto conv = dyn_cast<ir::ConvOp>(op))
    return convCall(conv, SINTER_CONV_FORWARD, type(conv.getInput()),
                    type(conv.getFilter()), conv.getType());
  if (auto conv = dyn_cast<ir::ConvInputGradOp>(op))
    return convCall(conv, SINTER_CONV_INPUT_GRAD, type(conv.getResult()),
                    type(conv.getFilter()), type(conv.getOutputGrad()));
  auto conv = cast<ir::ConvFilterGradOp>(op);
  return convCall(conv, SINTER_CONV_FILTER_GRAD, type(conv.getInput()),
                  type(conv.getResult()), type(conv.getOutputGrad()));
}

} // namespace

bool canCallProduct(ir::DotGeneralOp dot, ArrayRef<passes::PostOp> postOps,
                    FloatType narrow) {
  if (postOps.size() > SINTER_MAX_POST_OPS)
    return false;
  auto sizeOf = [](Value value, ArrayRef<int64_t> dims) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= ir::tensorType(value).getDimSize(dim);
    return size;
  };
  sinter_matmul call{};
  setTypes(call, dot, dot.getTf32(), postOps, narrow);
  call.m = sizeOf(dot.getLhs(), dot.getLhsFree());
  call.n = sizeOf(dot.getRhs(), dot.getRhsFree());
  // Empty sums become zeros before they would be called.
  call.k = std::max<int64_t>(sizeOf(dot.getLhs(), dot.getLhsContract()), 1);
  call.aStrideM = call.k;
  call.bStrideK = call.cStrideM = call.n;
  call.aStrideK = call.bStrideN = call.cStrideN = 1;
  if (!dot.getLhsBatch().empty()) {
    call.batchRank = 1;
    call.batch[0] = sizeOf(dot.getLhs(), dot.getLhsBatch());
    call.aBatchStrides[0] = call.m * call.k;
    call.bBatchStrides[0] = call.k * call.n;
    call.cBatchStrides[0] = call.m * call.n;
  }
  setPostOps(call, postOps);
  return productFits(call);
}

bool canCallConv(Operation *conv, ArrayRef<passes::PostOp> postOps,
                 FloatType narrow) {
  if (postOps.size() > SINTER_MAX_POST_OPS ||
      ir::tensorType(conv->getOperand(0)).getRank() >
          SINTER_MAX_SPATIAL_DIMS + 2)
    return false;
  sinter_conv call = convCall(conv);
  setTypes(call, conv, conv->hasAttr("tf32"), postOps, narrow);
  setPostOps(call, postOps);
  // More steps need channels last in the filter, too, as only filters of one
  // point have them. What is fused does not depend on the size of the filter.
  if (!postOps.empty() &&
      postOps.back().kind != exec::PostOpKind::channel_squares)
    call.layout = SINTER_CHANNELS_FIRST;
  return convFits(call);
}

} // namespace sinter::cuda
