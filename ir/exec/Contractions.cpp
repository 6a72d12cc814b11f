//===- Contractions.cpp - verifiers of copies and library calls -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// These are the checks that the runtime makes of an artifact, so that a plan
// that verifies also loads.
//
//===----------------------------------------------------------------------===//
#include "ir/exec/Exec.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::exec;

namespace {
constexpr size_t kMaxBatchDims = 4, kMaxSpatialDims = 3; // abi.h

struct Dim {
  int64_t size, stride;
};
} // namespace

/// The number of elements from the first to the last that `dims` reach; 0 if
/// there are none, -1 if the number overflows.
static int64_t extentOf(ArrayRef<Dim> dims) {
  int64_t last = 0;
  for (Dim dim : dims) {
    int64_t reach;
    if (dim.size == 0)
      return 0;
    if (llvm::MulOverflow(dim.size - 1, dim.stride, reach) ||
        llvm::AddOverflow(last, reach, last))
      return -1;
  }
  return last == INT64_MAX ? -1 : last + 1;
}

/// Checks that `elements` elements of its type fit into the buffer.
static LogicalResult verifyExtent(Operation *op, StringRef what,
                                  int64_t elements, Value value) {
  int64_t has = bufferOp(value).getTensorType().getNumElements();
  if (elements < 0 || elements > has)
    return op->emitOpError()
           << what << " needs "
           << (elements < 0 ? "over 2^63" : std::to_string(elements))
           << " elements, its buffer has " << has;
  return success();
}

namespace {
/// What the post-ops of a command may be.
struct PostOpRules {
  bool isProduct = false;
  bool isSingle = false;  // a product without batch dimensions
  bool isForward = false; // a forward convolution
  bool isOfBytes = false; // of 8-bit integers, forward
  // The required elements by extent.
  int64_t result = 0, columns = 0, rows = 0, bitsBytes = 0;

  bool allows(sinter_post_scope scope) const {
    switch (scope) {
    case SINTER_POST_SCOPE_ALL:
      return true;
    case SINTER_POST_SCOPE_MATMUL:
      return isProduct;
    case SINTER_POST_SCOPE_SINGLE:
      return isSingle;
    case SINTER_POST_SCOPE_FORWARD:
      return isForward;
    case SINTER_POST_SCOPE_BYTES:
      return isOfBytes;
    }
    return false;
  }

  int64_t elements(sinter_post_extent extent) const {
    switch (extent) {
    case SINTER_POST_EXTENT_NONE:
      return 0;
    case SINTER_POST_EXTENT_RESULT:
    case SINTER_POST_EXTENT_CODES:
      return result;
    case SINTER_POST_EXTENT_COLUMN:
    case SINTER_POST_EXTENT_CHANNEL:
      return columns;
    case SINTER_POST_EXTENT_ROW:
      return rows;
    case SINTER_POST_EXTENT_BITS:
      return bitsBytes;
    }
    return -1;
  }
};
} // namespace

const sinter_post_op_traits &exec::traitsOf(PostOpKind kind) {
  return *sinter_post_op_row(static_cast<uint32_t>(kind));
}

/// The element type of a slice of `extent`. `beside`: that of a slice in the
/// shape of the result, `result`: that of the result.
static Type elementTypeOf(sinter_post_extent extent, Type beside, Type result) {
  MLIRContext *context = beside.getContext();
  if (extent == SINTER_POST_EXTENT_BITS)
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  if (extent == SINTER_POST_EXTENT_CODES)
    return result;
  return extent == SINTER_POST_EXTENT_CHANNEL ? Float32Type::get(context)
                                              : beside;
}

/// Checks that dequantize comes at most once, that quantize is last and after
/// it, that what needs both is between them, and that the result has the type
/// that they give it.
static LogicalResult verifyQuantisation(Operation *op, ArrayAttr postOps,
                                        Type result) {
  bool isFloat = false, isCoded = false, needsCodes = false;
  for (PostOpAttr post : postOps.getAsRange<PostOpAttr>()) {
    PostOpKind kind = post.getKind();
    const bool isBetween =
        kind == PostOpKind::fake_quantize || kind == PostOpKind::add_codes;
    if (isCoded || (kind == PostOpKind::dequantize && isFloat) ||
        ((kind == PostOpKind::quantize || isBetween) && !isFloat))
      return op->emitOpError() << "has dequantize and quantize out of order";
    needsCodes |= isBetween;
    isFloat |= kind == PostOpKind::dequantize;
    isCoded |= kind == PostOpKind::quantize;
  }
  if (needsCodes && !isCoded)
    return op->emitOpError()
           << "has fake_quantize or add_codes without quantize";
  if (isFloat && !(isCoded ? result.isInteger(8) : result.isF32()))
    return op->emitOpError()
           << "has a result of " << result
           << (isCoded ? " after quantize" : " after dequantize");
  return success();
}

/// Checks that the two sums over channels are either absent or last.
static LogicalResult verifyChannelSums(Operation *op, ArrayAttr postOps) {
  for (auto [i, attr] : llvm::enumerate(postOps)) {
    PostOpKind kind = cast<PostOpAttr>(attr).getKind();
    size_t place = kind == PostOpKind::channel_sum       ? 2
                   : kind == PostOpKind::channel_squares ? 1
                                                         : 0;
    if ((place && i + place != postOps.size()) ||
        (place == 1 && (i == 0 || cast<PostOpAttr>(postOps[i - 1]).getKind() !=
                                      PostOpKind::channel_sum)))
      return op->emitOpError() << "does not end with channel_sum and "
                                  "channel_squares";
  }
  return success();
}

static LogicalResult verifyPostOps(Operation *op, ArrayAttr postOps,
                                   OperandRange reads, OperandRange writes,
                                   const PostOpRules &rules) {
  if (postOps.size() > kMaxPostOps)
    return op->emitOpError()
           << "has " << postOps.size() << " post-ops, at most " << kMaxPostOps
           << " are allowed";
  SmallVector<bool> isKept(writes.size(), false);
  auto elementOf = [](Value value) {
    return bufferOp(value).getTensorType().getElementType();
  };
  // The type of what post-ops read or keep in the shape of the result.
  Type beside = elementOf(writes[0]);
  if (llvm::any_of(postOps.getAsRange<PostOpAttr>(), [](PostOpAttr post) {
        return post.getKind() == PostOpKind::dequantize;
      }))
    beside = IntegerType::get(op->getContext(), 32);
  for (PostOpAttr post : postOps.getAsRange<PostOpAttr>()) {
    const sinter_post_op_traits &traits = traitsOf(post.getKind());
    bool isRead = traits.slice == SINTER_POST_SLICE_READ;
    bool isWrite = traits.slice == SINTER_POST_SLICE_WRITTEN;
    if ((traits.numbers > 0) != bool(post.getAlpha()) ||
        (traits.numbers > 1) != bool(post.getBeta()) ||
        isRead != (post.getRead() != 0) || isWrite != (post.getWrite() != 0))
      return op->emitOpError() << "has a post-op " << traits.name
                               << " with other fields than it takes";
    if (!rules.allows(traits.scope))
      return op->emitOpError() << "cannot have the post-op " << traits.name;
    if (post.getKind() == PostOpKind::dequantize)
      beside = Float32Type::get(op->getContext());
    if (!isRead && !isWrite)
      continue;
    int64_t number = isWrite ? post.getWrite() : post.getRead();
    OperandRange operands = isWrite ? writes : reads;
    if (number < (isWrite ? 1 : 2) ||
        number >= static_cast<int64_t>(operands.size()))
      return op->emitOpError()
             << "has a post-op that takes " << (isWrite ? "write " : "read ")
             << number << " of " << operands.size();
    int64_t elements = rules.elements(traits.extent);
    StringRef what = traits.what;
    Type expected = elementTypeOf(traits.extent, beside, elementOf(writes[0]));
    if (Type type = elementOf(operands[number]); type != expected)
      return op->emitOpError()
             << what << (expected.isUnsignedInteger(8) ? " are " : " is ")
             << type << ", expected " << expected;
    if (failed(verifyExtent(op, what, elements, operands[number])))
      return failure();
    if (isWrite && std::exchange(isKept[number], true))
      return op->emitOpError() << "keeps two values in write " << number;
  }
  for (size_t i = 1; i < isKept.size(); ++i)
    if (!isKept[i])
      return op->emitOpError() << "has no post-op for write " << i;
  if (failed(verifyQuantisation(op, postOps, elementOf(writes[0]))))
    return failure();
  return verifyChannelSums(op, postOps);
}

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

static LogicalResult verifyMatmul(MatmulOp op) {
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

static LogicalResult verifyConv(ConvOp op) {
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

static LogicalResult verifyAttention(AttentionOp op) {
  int64_t batch = op.getBatch(), heads = op.getNumHeads(),
          queries = op.getQueries(), keys = op.getKeys(), depth = op.getDepth();
  for (int64_t size : {batch, heads, queries, keys, depth})
    if (size < 1 || size > INT32_MAX)
      return op.emitOpError() << "has a size out of range";
  bool isForward = op.getDirection() == AttentionDirection::forward;
  size_t numReads = isForward ? 3 : 5, count = isForward ? 4 : 8;
  bool hasMask = op.getHeads().size() == count + 1;
  if (op.getHeads().size() != count && !hasMask)
    return op.emitOpError()
           << "needs " << count << " operands and perhaps a mask, has "
           << op.getHeads().size();
  SmallVector<Value> buffers(op.getInputs());
  llvm::append_range(buffers, op.getOutputs());
  auto numInputs = static_cast<int64_t>(op.getInputs().size());
  auto isIn = [&](int64_t number, bool isRead) {
    return isRead ? number >= 0 && number < numInputs
                  : number >= numInputs &&
                        number < static_cast<int64_t>(buffers.size());
  };
  auto typeOf = [&](int64_t number) {
    return bufferOp(buffers[number]).getTensorType();
  };
  constexpr StringLiteral names[] = {"query",    "key",         "value",
                                     "output",   "output grad", "query grad",
                                     "key grad", "value grad"};
  SmallVector<HeadsAttr> operands(op.getHeads().getAsRange<HeadsAttr>());
  if (hasMask) {
    HeadsAttr mask = operands.pop_back_val();
    if (!isIn(mask.getBuffer(), /*isRead=*/true) ||
        !typeOf(mask.getBuffer()).getElementType().isF32())
      return op.emitOpError() << "needs its mask among its reads, in float32";
    if (mask.getStrides().size() != 3 || mask.getOffset() < 0 ||
        llvm::any_of(mask.getStrides(), [](int64_t x) { return x < 0; }))
      return op.emitOpError() << "needs an offset and three strides of at "
                                 "least 0 for its mask";
    int64_t extent = extentOf({{batch, mask.getStrides()[0]},
                               {heads, mask.getStrides()[1]},
                               {queries, mask.getStrides()[2]},
                               {keys, 1}});
    if (extent < 0 || llvm::AddOverflow(extent, mask.getOffset(), extent))
      extent = -1;
    if (failed(verifyExtent(op, "mask", extent, buffers[mask.getBuffer()])))
      return failure();
  }
  SmallVector<int64_t> written(buffers.size(), 0);
  Type element;
  for (auto [i, at] : llvm::enumerate(operands)) {
    StringRef name = names[i];
    bool hasQueries = i == 0 || (i >= 3 && i <= 5);
    int64_t rows = hasQueries ? queries : keys, extent;
    if (!isIn(at.getBuffer(), i < numReads))
      return op.emitOpError() << "has its " << name << " in buffer "
                              << at.getBuffer() << ", which is not one of its "
                              << (i < numReads ? "reads" : "writes");
    if (at.getStrides().size() != 3 || at.getOffset() < 0 ||
        llvm::any_of(at.getStrides(), [](int64_t x) { return x < 1; }))
      return op.emitOpError()
             << "needs an offset of at least 0 and three strides of at "
                "least 1 for its "
             << name;
    extent = extentOf({{batch, at.getStrides()[0]},
                       {heads, at.getStrides()[1]},
                       {rows, at.getStrides()[2]},
                       {depth, 1}});
    if (extent < 0 || llvm::AddOverflow(extent, at.getOffset(), extent))
      extent = -1;
    if (failed(verifyExtent(op, name, extent, buffers[at.getBuffer()])))
      return failure();
    Type type = typeOf(at.getBuffer()).getElementType();
    if (element && type != element)
      return op.emitOpError() << "has operands of different element types";
    element = type;
    written[at.getBuffer()] += batch * heads * rows * depth;
  }
  if (std::optional<int64_t> stats = op.getStats()) {
    if (!isIn(*stats, !isForward) || !typeOf(*stats).getElementType().isF32() ||
        typeOf(*stats).getNumElements() != batch * heads * queries)
      return op.emitOpError()
             << "has statistics in buffer " << *stats << ", expected "
             << batch * heads * queries << " float32 elements that it "
             << (isForward ? "writes" : "reads");
    written[*stats] = typeOf(*stats).getNumElements();
  } else if (!isForward) {
    return op.emitOpError() << "needs the statistics";
  }
  for (size_t i = numInputs; i < buffers.size(); ++i)
    if (written[i] != typeOf(i).getNumElements())
      return op.emitOpError()
             << "writes " << written[i] << " elements of a buffer of "
             << typeOf(i).getNumElements();
  return success();
}

static LogicalResult verifyAllReduce(AllReduceOp op) {
  if (op.getReads().empty() || op.getReads().size() != op.getWrites().size())
    return op.emitOpError()
           << "has " << op.getReads().size() << " reads and "
           << op.getWrites().size() << " writes, expected one or more of each";
  auto element = [](Value buffer) {
    return bufferOp(buffer).getTensorType().getElementType();
  };
  for (Value buffer : op->getOperands())
    if (element(buffer) != element(op.getReads()[0]))
      return op.emitOpError()
             << "has elements of types " << element(op.getReads()[0]) << " and "
             << element(buffer);
  for (auto [read, write] : llvm::zip_equal(op.getReads(), op.getWrites())) {
    int64_t from = bufferOp(read).getSlice().getSize();
    int64_t to = bufferOp(write).getSlice().getSize();
    if (from != to)
      return op.emitOpError()
             << "sums " << from << " bytes into a buffer of " << to;
  }
  return success();
}

LogicalResult exec::verifyCommand(Operation *command) {
  if (auto copy = dyn_cast<CopyOp>(command)) {
    int64_t from = bufferOp(copy.getFrom()).getSlice().getSize();
    int64_t to = bufferOp(copy.getTo()).getSlice().getSize();
    if (from != to)
      return copy.emitOpError()
             << "copies " << from << " bytes into a buffer of " << to;
  }
  if (auto reduce = dyn_cast<AllReduceOp>(command))
    return verifyAllReduce(reduce);
  if (auto matmul = dyn_cast<MatmulOp>(command))
    return verifyMatmul(matmul);
  if (auto conv = dyn_cast<ConvOp>(command))
    return verifyConv(conv);
  if (auto attention = dyn_cast<AttentionOp>(command))
    return verifyAttention(attention);
  return success();
}
