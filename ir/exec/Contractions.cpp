//===- Contractions.cpp - verifiers of products and convolutions ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/CommandChecks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

static constexpr size_t kMaxBatchDims = 4, kMaxSpatialDims = 3; // abi.h

/// Whether both operands are 8-bit integers.
template <class OpTy> static bool multipliesBytes(OpTy op) {
  return llvm::all_of(op.getInputs().take_front(2), [](Value value) {
    return bufferOp(value).getTensorType().getElementType().isInteger(8);
  });
}

/// Checks the element types of the two operands and of the result.
template <class OpTy>
static LogicalResult verifyFactors(OpTy op, StringRef operands) {
  auto elementOf = [](Value value) {
    return bufferOp(value).getTensorType().getElementType();
  };
  Type a = elementOf(op.getInputs()[0]), b = elementOf(op.getInputs()[1]);
  // Dequantize gives the result another type than the sums.
  bool hasIntegerSums =
      elementOf(op.getOutput()).isSignlessInteger(32) ||
      llvm::any_of(op.getPostOps().template getAsRange<PostOpAttr>(),
                   [](PostOpAttr post) {
                     return post.getKind() == PostOpKind::dequantize;
                   });
  if (a != b && !(multipliesBytes(op) && hasIntegerSums))
    return op.emitOpError()
           << "has " << operands << " of different element types";
  return success();
}

/// Checks the weights of a product against its operands. `batch` and sizes are
/// not negative.
static LogicalResult verifyWeights(MatmulOp op, CodedWeightsAttr weights) {
  int64_t bits = weights.getBits(), block = weights.getBlock(), n = op.getN(),
          k = op.getK();
  auto elementOf = [](Value value) {
    return bufferOp(value).getTensorType().getElementType();
  };
  OperandRange reads = op.getInputs();
  if ((bits != 4 && bits != 8) || block < 1 || k % block != 0 ||
      (bits == 4 && block % 2 != 0))
    return op.emitOpError() << "has weights of " << bits
                            << " bits in blocks of " << block << ", k is " << k;
  if (!elementOf(reads[0]).isF32() || !elementOf(op.getOutput()).isF32() ||
      !elementOf(reads[1]).isInteger(8) ||
      (bits == 4 && !elementOf(reads[1]).isUnsignedInteger()))
    return op.emitOpError()
           << "multiplies " << elementOf(reads[0]) << " by weights of "
           << elementOf(reads[1]) << " into " << elementOf(op.getOutput());
  if (!op.getBatch().empty() || op.getBOffset() || op.getTf32() ||
      op.getBStrides() != ArrayRef<int64_t>({n, 1}))
    return op.emitOpError() << "has weights with a batch, an offset, tf32 or "
                               "other strides than n and 1";
  int64_t elements = 0;
  if (llvm::MulOverflow(k, n, elements))
    return op.emitOpError() << "has over 2^63 weights";
  if (failed(
          verifyExtent(op, "B", bits == 4 ? elements / 2 : elements, reads[1])))
    return failure();
  auto perBlock = [&](StringRef what, int64_t read,
                      FloatAttr number) -> LogicalResult {
    if (read == 0)
      return success();
    if (read < 2 || read >= static_cast<int64_t>(reads.size()) || number)
      return op.emitOpError()
             << "has " << what << " of read " << read << " of " << reads.size()
             << (number ? " and a number for all" : "");
    if (!elementOf(reads[read]).isF32())
      return op.emitOpError()
             << what << " are " << elementOf(reads[read]) << ", expected f32";
    return verifyExtent(op, "the table of " + what.str(), elements / block,
                        reads[read]);
  };
  return success(
      succeeded(perBlock("scales", weights.getScales(), weights.getScale())) &&
      succeeded(
          perBlock("zero points", weights.getZeros(), weights.getZero())));
}

LogicalResult exec::verifyMatmul(MatmulOp op) {
  ArrayRef<int64_t> batch = op.getBatch();
  if (batch.size() > kMaxBatchDims)
    return op.emitOpError()
           << "has " << batch.size() << " batch dimensions, at most "
           << kMaxBatchDims << " are allowed";
  auto negative = [](int64_t value) { return value < 0; };
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  if (m < 0 || n < 0 || k < 0 || llvm::any_of(batch, negative))
    return op.emitOpError() << "has a negative size";
  if (op.getAOffset() < 0 || op.getBOffset() < 0)
    return op.emitOpError() << "has a negative offset";
  for (ArrayRef<int64_t> strides :
       {op.getAStrides(), op.getBStrides(), op.getCStrides()})
    if (strides.size() != batch.size() + 2 || llvm::any_of(strides, negative))
      return op.emitOpError() << "needs lists of " << batch.size() + 2
                              << " strides, none negative";
  if (op.getInputs().size() < 2)
    return op.emitOpError() << "needs A and B";
  std::optional<CodedWeightsAttr> weights = op.getWeights();
  if (weights ? failed(verifyWeights(op, *weights))
              : failed(verifyFactors(op, "A and B")))
    return failure();
  if (op.getTf32() &&
      !bufferOp(op.getInputs()[0]).getTensorType().getElementType().isF32())
    return op.emitOpError() << "has tf32 operands that are not float32";

  auto extent = [&](int64_t offset, ArrayRef<int64_t> strides, int64_t rows,
                    int64_t columns) -> int64_t {
    SmallVector<Dim> dims = {{rows, strides[batch.size()]},
                             {columns, strides[batch.size() + 1]}};
    for (auto [size, stride] : llvm::zip(batch, strides))
      dims.push_back({size, stride});
    int64_t elements = extentOf(dims), end;
    if (elements <= 0)
      return elements;
    return llvm::AddOverflow(elements, offset, end) ? -1 : end;
  };
  int64_t result = extent(0, op.getCStrides(), m, n);
  if (failed(verifyExtent(op, "A",
                          extent(op.getAOffset(), op.getAStrides(), m, k),
                          op.getInputs()[0])) ||
      (!weights && failed(verifyExtent(
                       op, "B", extent(op.getBOffset(), op.getBStrides(), k, n),
                       op.getInputs()[1]))) ||
      failed(verifyExtent(op, "C", result, op.getOutput())))
    return failure();
  int64_t lines = m;
  bool fits = true;
  for (int64_t size : batch)
    fits &= !llvm::MulOverflow(lines, size, lines);
  PostOpRules rules;
  rules.isProduct = true;
  rules.isOfBytes = multipliesBytes(op);
  rules.isSingle = batch.empty();
  rules.result = result;
  rules.columns = n;
  rules.rows = m;
  if (!fits || llvm::MulOverflow(lines, (n + 127) / 128 * 16, rules.bitsBytes))
    return op.emitOpError() << "has over 2^63 lines of results";
  return verifyPostOps(op, op.getPostOps(), op.getInputs(), op.getWrites(),
                       rules);
}

/// The product of numbers >= 0, or -1.
static int64_t productOf(std::initializer_list<ArrayRef<int64_t>> lists) {
  int64_t product = 1;
  bool empty = false, fits = true;
  for (ArrayRef<int64_t> list : lists)
    for (int64_t value : list) {
      empty |= value == 0;
      fits =
          fits && (value == 0 || !llvm::MulOverflow(product, value, product));
    }
  return empty ? 0 : fits ? product : -1;
}

static LogicalResult verifyConvWindow(ConvOp op) {
  size_t rank = op.getKernel().size();
  if (rank < 1 || rank > kMaxSpatialDims)
    return op.emitOpError() << "has " << rank << " spatial dimensions, 1 to "
                            << kMaxSpatialDims << " are allowed";
  for (ArrayRef<int64_t> list :
       {op.getInputDims(), op.getOutputDims(), op.getStrides(),
        op.getDilations(), op.getPadsLow(), op.getPadsHigh()})
    if (list.size() != rank)
      return op.emitOpError() << "has lists of different lengths";
  int64_t groups = op.getGroups(), channels = op.getChannels(),
          filters = op.getFilters();
  if (static_cast<int64_t>(op.getBatch()) < 0 || channels < 0 || filters < 0 ||
      groups < 1 || channels % groups != 0 || filters % groups != 0)
    return op.emitOpError()
           << "has groups that do not divide its channels and filters";
  auto inRange = [](int64_t value, int64_t low) {
    return value >= low && value <= INT32_MAX;
  };
  for (size_t i = 0; i < rank; ++i) {
    int64_t input = op.getInputDims()[i], output = op.getOutputDims()[i];
    int64_t kernel = op.getKernel()[i], stride = op.getStrides()[i];
    int64_t dilation = op.getDilations()[i], low = op.getPadsLow()[i],
            high = op.getPadsHigh()[i];
    if (!inRange(input, 0) || !inRange(output, 0) || !inRange(kernel, 1) ||
        !inRange(stride, 1) || !inRange(dilation, 1) ||
        !inRange(low, -INT32_MAX) || !inRange(high, -INT32_MAX))
      return op.emitOpError()
             << "has a number out of range in spatial dimension " << i;
    int64_t room = input + low + high - ((kernel - 1) * dilation + 1);
    int64_t expected = room < 0 ? 0 : room / stride + 1;
    if (output != expected)
      return op.emitOpError()
             << "has " << output << " outputs in spatial dimension " << i
             << ", its window gives " << expected;
  }
  return success();
}

/// Whether the post-ops of `op` have dequantize.
template <class OpTy> static bool dequantizes(OpTy op) {
  return llvm::any_of(
      op.getPostOps().template getAsRange<PostOpAttr>(),
      [](PostOpAttr post) { return post.getKind() == PostOpKind::dequantize; });
}

static LogicalResult verifyPadValue(ConvOp op) {
  const int64_t value = static_cast<int32_t>(op.getPadValue());
  Type input = bufferOp(op.getInputs()[0]).getTensorType().getElementType();
  const int64_t least = input.isUnsignedInteger() ? 0 : -128;
  if (value == 0 || (input.isInteger(8) && dequantizes(op) && value >= least &&
                     value <= least + 255))
    return success();
  return op.emitOpError() << "pads " << input << " with " << value;
}

LogicalResult exec::verifyConv(ConvOp op) {
  if (failed(verifyConvWindow(op)))
    return failure();
  if (op.getInputs().size() < 2)
    return op.emitOpError() << "needs two operands";
  if (failed(verifyPadValue(op)))
    return failure();
  if (op.getDirection() == ConvDirection::forward &&
      failed(verifyFactors(op, "an input and a filter")))
    return failure();
  int64_t batch = op.getBatch(), channels = op.getChannels(),
          filters = op.getFilters();
  int64_t input = productOf({{batch, channels}, op.getInputDims()});
  int64_t output = productOf({{batch, filters}, op.getOutputDims()});
  int64_t filter =
      productOf({{filters, channels / static_cast<int64_t>(op.getGroups())},
                 op.getKernel()});
  ValueRange reads = op.getInputs();
  auto check = [&](int64_t first, int64_t second, int64_t result) {
    return failed(verifyExtent(op, "the first operand", first, reads[0])) ||
           failed(verifyExtent(op, "the second operand", second, reads[1])) ||
           failed(verifyExtent(op, "the result", result, op.getOutput()));
  };
  switch (op.getDirection()) {
  case ConvDirection::forward: {
    if (check(input, filter, output))
      return failure();
    PostOpRules rules;
    rules.isForward = true;
    rules.isOfBytes = multipliesBytes(op);
    rules.result = output;
    rules.columns = filters;
    return verifyPostOps(op, op.getPostOps(), op.getInputs(), op.getWrites(),
                         rules);
  }
  case ConvDirection::input_grad: {
    if (check(output, filter, input))
      return failure();
    PostOpRules rules;
    rules.result = input;
    rules.columns = channels;
    return verifyPostOps(op, op.getPostOps(), op.getInputs(), op.getWrites(),
                         rules);
  }
  case ConvDirection::filter_grad:
    if (check(input, output, filter))
      return failure();
    if (!op.getPostOps().empty() || !op.getKept().empty())
      return op.emitOpError() << "has post-ops after a filter gradient";
    return success();
  }
  return op.emitOpError() << "has an unknown direction";
}
