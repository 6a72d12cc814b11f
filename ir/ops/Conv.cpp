//===- Conv.cpp - convolution: verify and infer ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Conv.cpp.inc"

void SinterDialect::registerConv() {
  addOperations<
#define GET_OP_LIST
#include "ir/Conv.cpp.inc"
      >();
}

/// The type of the conv of `input` and `filter` with the window of `adaptor`,
/// which may be an op or adaptor of any of the three ops.
template <class WindowOp>
static FailureOr<RankedTensorType>
inferConv(const Report &report, RankedTensorType input, RankedTensorType filter,
          WindowOp op) {
  if (input.getElementType() != filter.getElementType())
    return report("input and filter have element types ",
                  input.getElementType(), " and ", filter.getElementType(),
                  ", expected equal ones");
  int64_t rank = input.getRank(), spatial = rank - 2;
  if (rank < 3)
    return report("the input has rank ", rank, ", expected at least 3");
  if (filter.getRank() != rank)
    return report("the filter has rank ", filter.getRank(), ", expected ", rank,
                  " as the input has");
  if (failed(checkList(report, "strides", op.getStrides(), spatial, 1)) ||
      failed(checkList(report, "dilations", op.getDilations(), spatial, 1)) ||
      failed(checkList(report, "pads_low", op.getPadsLow(), spatial, 0)) ||
      failed(checkList(report, "pads_high", op.getPadsHigh(), spatial, 0)))
    return failure();

  int64_t groups = op.getGroups();
  int64_t channelDim = op.getChannelsLast() ? rank - 1 : 1;
  int64_t firstSpatial = op.getChannelsLast() ? 1 : 2;
  int64_t channels = input.getDimSize(channelDim),
          filters = filter.getDimSize(0);
  if (groups < 1)
    return report("'groups' is ", groups, ", expected at least 1");
  if (channels % groups != 0 || filters % groups != 0)
    return report("'groups' is ", groups, ", which does not divide ", channels,
                  " channels and ", filters, " filters");
  if (filter.getDimSize(1) != channels / groups)
    return report("the filter's second dimension is ", filter.getDimSize(1),
                  ", expected ", channels / groups, " (", channels,
                  " channels in ", groups, " groups)");

  SmallVector<int64_t> shape(rank);
  shape[0] = input.getDimSize(0);
  shape[channelDim] = filters;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t dim = firstSpatial + i;
    Window window{filter.getDimSize(2 + i), op.getStrides()[i],
                  op.getDilations()[i], op.getPadsLow()[i],
                  op.getPadsHigh()[i]};
    auto count = countWindows(report, dim, input.getDimSize(dim), window);
    if (failed(count))
      return failure();
    shape[dim] = *count;
  }
  return withShapeOf(input, shape);
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> loc,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto type =
      inferConv(Report(loc, getOperationName()),
                cast<RankedTensorType>(adaptor.getInput().getType()),
                cast<RankedTensorType>(adaptor.getFilter().getType()), adaptor);
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

/// Checks that the conv whose gradient `op` is has the type of `outputGrad`.
template <class GradOp>
static LogicalResult verifyGrad(GradOp op, RankedTensorType input,
                                RankedTensorType filter,
                                RankedTensorType outputGrad) {
  Report report(op);
  auto type = inferConv(report, input, filter, op);
  if (failed(type))
    return failure();
  if (*type != outputGrad)
    return report("'output_grad' has type ", outputGrad,
                  ", but the convolution has type ", *type);
  return success();
}

LogicalResult ConvInputGradOp::verify() {
  return verifyGrad(*this, getType(), getFilter().getType(),
                    getOutputGrad().getType());
}

LogicalResult ConvFilterGradOp::verify() {
  return verifyGrad(*this, getInput().getType(), getType(),
                    getOutputGrad().getType());
}
