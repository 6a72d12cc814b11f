//===- LtFallback.cpp - products whose epilogue cuBLASLt lacks ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtFallback.h"
#include "backends/cuda/library/LtProduct.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

/// Slices of scratch begin at multiples of this many bytes.
constexpr uint64_t scratchAlignment = 256;

uint64_t aligned(uint64_t bytes) {
  return (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
}

/// The plan without its epilogue. C and beta stay.
LtPlan withoutEpilogue(LtPlan plan) {
  plan.epilogue = lt::epilogueDefault;
  plan.biasSlice = plan.auxSlice = noSlice;
  plan.biasBatchStride = plan.auxLd = plan.auxBatchStride = 0;
  for (auto &strides : plan.loopStrides)
    strides[LtPlan::Bias] = strides[LtPlan::Aux] = 0;
  return plan;
}

class LtFallbackCall : public LibraryCall {
public:
  LtFallbackCall(const LtContext &context, const LtPlan &plan, uint32_t dSlice,
                 LtKernels &kernels)
      : context_(context), plan_(plan), dSlice_(dSlice), kernels_(kernels) {}

  Status prepare(const sinter_command &command, const LibraryOptions &options);

  uint64_t sharedBytes() const override {
    return workspaceOffset_ +
           std::max(product_->workspaceBytes(),
                    last_ ? last_->workspaceBytes() : uint64_t(0));
  }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &scratch, int) override {
    scratch_ = scratch.shared;
    return {};
  }
  Status run(void *const *buffers, const CallContext &context) override;
  int alternatives() override { return product_->alternatives(); }
  void select(int index) override { product_->select(index); }
  void choose(std::span<const double> leastUs) override {
    product_->choose(leastUs);
  }
  std::string description() const override;

private:
  /// Columns [first, first + cols) of product `batch`, or all products.
  struct Piece {
    int64_t first = 0, cols = 0, batch = 0, numBatches = 1;
  };

  bool sumsOperand() const {
    return plan_.epilogue & (lt::epilogueBGradA | lt::epilogueBGradB);
  }
  bool hasBiasGradient() const { return plan_.epilogue & ltBiasGradBit; }
  Status prepareDirect(const sinter_command &command,
                       const LibraryOptions &options);
  Status planPieces(const LibraryOptions &options);
  LtPlan pieceOf(int64_t cols) const;
  Status preparePieces(const sinter_command &command,
                       const LibraryOptions &options);
  Status makeProduct(std::unique_ptr<LtProduct> &product, const LtPlan &plan,
                     const LtAlignments &alignments,
                     const LibraryOptions &options);
  Status runPiece(const LtAddresses &at, const Piece &piece, lt::Stream stream);
  Status apply(const LtAddresses &at, const Piece &piece, float *product,
               lt::Stream stream);
  Status sumColumns(const LtAddresses &at, const Piece &piece,
                    const float *results, lt::Stream stream);
  Status sumOperand(const LtAddresses &at, lt::Stream stream);

  /// The number of elements between columns of B and of op(B).
  int64_t colStrideOfB() const {
    return plan_.transB == lt::opN ? plan_.b.ld : 1;
  }

  const LtContext &context_;
  const LtPlan plan_;
  const uint32_t dSlice_;
  LtKernels &kernels_;
  /// The product, and that of the last piece if it has fewer columns.
  std::unique_ptr<LtProduct> product_, last_;
  /// Whether the product goes straight into D.
  bool isDirect_ = true;
  /// Whether a call of the library computes all products of the batch.
  bool isWholeBatch_ = true;
  int64_t pieceCols_ = 0;
  /// Scratch: the product, running sums of a bias gradient, workspace.
  uint64_t runningOffset_ = 0, workspaceOffset_ = 0;
  uint8_t *scratch_ = nullptr;
};

} // namespace

Status LtFallbackCall::makeProduct(std::unique_ptr<LtProduct> &product,
                                   const LtPlan &plan,
                                   const LtAlignments &alignments,
                                   const LibraryOptions &options) {
  product = std::make_unique<LtProduct>(context_, plan);
  SINTER_RETURN_IF_ERROR(product->prepare(alignments, options));
  return product->hasAlgorithm() ? Status() : product->noAlgorithm();
}

/// Float32 results need no scratch, nor do results that the epilogue does not
/// change.
Status LtFallbackCall::prepareDirect(const sinter_command &command,
                                     const LibraryOptions &options) {
  pieceCols_ = plan_.n;
  LtPlan plain = withoutEpilogue(plan_);
  return makeProduct(product_, plain, alignmentsOf(plain, command), options);
}

/// Decides how many columns a piece has, and where scratch is.
Status LtFallbackCall::planPieces(const LibraryOptions &options) {
  const int64_t m = plan_.m, n = plan_.n;
  int64_t elements = static_cast<int64_t>(
      std::min(options.maxWorkspaceBytes / 2, uint64_t(INT64_MAX)) /
      sizeof(float));
  auto tooSmall = [&](uint64_t bytes) {
    return Status(SINTER_UNSUPPORTED,
                  "a column of its float32 product takes " +
                      std::to_string(bytes) +
                      " bytes and does not fit in half of the " +
                      std::to_string(options.maxWorkspaceBytes) +
                      " bytes of scratch that --workspace promised");
  };
  isWholeBatch_ = elements / m / n >= plan_.batch;
  pieceCols_ = n;
  if (!isWholeBatch_ && elements / m < n) {
    const int64_t running = hasBiasGradient() ? m : 0;
    pieceCols_ = std::max(elements - running, int64_t(0)) / m;
    // Aligned pieces of B have faster algorithms.
    constexpr int64_t multiple = 64;
    if (pieceCols_ > multiple)
      pieceCols_ -= pieceCols_ % multiple;
    if (pieceCols_ == 0)
      return tooSmall(uint64_t(m + running) * sizeof(float));
  }
  const int64_t products = isWholeBatch_ ? plan_.batch : 1;
  runningOffset_ = aligned(uint64_t(m * pieceCols_ * products) * sizeof(float));
  workspaceOffset_ = runningOffset_;
  if (hasBiasGradient() && pieceCols_ < n)
    workspaceOffset_ += aligned(uint64_t(m) * sizeof(float));
  if (workspaceOffset_ > options.maxWorkspaceBytes) // because of alignment
    return tooSmall(workspaceOffset_);
  return {};
}

/// The plain float32 product of `cols` columns, in scratch.
LtPlan LtFallbackCall::pieceOf(int64_t cols) const {
  LtPlan piece = withoutEpilogue(plan_);
  piece.cSlice = noSlice;
  piece.beta = 0;
  piece.n = piece.d.cols = cols;
  (piece.transB == lt::opN ? piece.b.cols : piece.b.rows) = cols;
  piece.d.type = lt::f32;
  piece.d.ld = piece.m;
  piece.d.batchStride = piece.m * cols;
  if (!isWholeBatch_) {
    piece.batch = 1;
    for (LtLayout *layout : {&piece.a, &piece.b, &piece.d})
      layout->batchStride = 0;
  }
  return piece;
}

Status LtFallbackCall::preparePieces(const sinter_command &command,
                                     const LibraryOptions &options) {
  SINTER_RETURN_IF_ERROR(planPieces(options));
  LtAlignments alignments = alignmentsOf(plan_, command);
  auto move = [&](int operand, int64_t elements, int32_t type) {
    alignments[size_t(operand)] = static_cast<uint32_t>(
        std::gcd(uint64_t(alignments[size_t(operand)]),
                 static_cast<uint64_t>(elements) * lt::elementBytes(type)));
  };
  if (!isWholeBatch_) {
    move(0, plan_.a.batchStride, plan_.a.type);
    move(1, plan_.b.batchStride, plan_.b.type);
  }
  if (pieceCols_ < plan_.n)
    move(1, pieceCols_ * colStrideOfB(), plan_.b.type);
  alignments[2] = alignments[3] = scratchAlignment;
  alignments[4] = alignments[5] = 0;

  LibraryOptions rest = options;
  rest.maxWorkspaceBytes -= std::min(rest.maxWorkspaceBytes, workspaceOffset_);
  SINTER_RETURN_IF_ERROR(
      makeProduct(product_, pieceOf(pieceCols_), alignments, rest));
  const int64_t lastCols = plan_.n % pieceCols_;
  if (lastCols == 0)
    return {};
  // It takes little time, so nothing is compared.
  rest.cache.reset();
  return makeProduct(last_, pieceOf(lastCols), alignments, rest);
}

Status LtFallbackCall::prepare(const sinter_command &command,
                               const LibraryOptions &options) {
  isDirect_ = plan_.d.type == lt::f32 || sumsOperand();
  return isDirect_ ? prepareDirect(command, options)
                   : preparePieces(command, options);
}

/// Applies the epilogue to a product without it, or to D.
Status LtFallbackCall::apply(const LtAddresses &at, const Piece &piece,
                             float *product, lt::Stream stream) {
  const auto bytes = static_cast<int64_t>(lt::elementBytes(plan_.d.type));
  const int64_t offset =
      (piece.first * plan_.d.ld + piece.batch * plan_.d.batchStride) * bytes;
  LtEpilogueArgs args{};
  args.m = plan_.m;
  args.n = piece.cols;
  args.batch = piece.numBatches;
  args.product = product;
  args.productLd = isDirect_ ? plan_.d.ld : plan_.m;
  args.productStride = isDirect_ ? plan_.d.batchStride : plan_.m * piece.cols;
  if (!isDirect_ && plan_.cSlice != noSlice && plan_.beta != 0)
    args.c = at.c + offset;
  args.beta = static_cast<float>(plan_.beta);
  args.d = at.d + offset;
  args.ld = plan_.d.ld;
  args.stride = plan_.d.batchStride;
  if (plan_.epilogue & lt::epilogueBias)
    args.bias = at.bias + piece.batch * plan_.biasBatchStride * bytes;
  args.biasStride = plan_.biasBatchStride;
  if (plan_.auxSlice != noSlice) {
    int64_t elements =
        piece.first * plan_.auxLd + piece.batch * plan_.auxBatchStride;
    args.aux =
        at.aux + (hasBits(plan_.epilogue) ? elements / 8 : elements * bytes);
  }
  args.auxLd = plan_.auxLd;
  args.auxStride = plan_.auxBatchStride;
  args.type = plan_.d.type;
  args.epilogue = plan_.epilogue;
  args.keepsResults = hasBiasGradient();
  return kernels_.apply(args, stream);
}

/// Adds the columns of a piece's results to the bias gradient.
Status LtFallbackCall::sumColumns(const LtAddresses &at, const Piece &piece,
                                  const float *results, lt::Stream stream) {
  const bool isFirst = piece.first == 0,
             isLast = piece.first + piece.cols == plan_.n;
  LtSumArgs args{};
  args.lines = plan_.m;
  args.terms = piece.cols;
  args.values = results;
  args.lineStride = 1;
  args.termStride = isDirect_ ? plan_.d.ld : plan_.m;
  args.running = isFirst && isLast
                     ? nullptr
                     : reinterpret_cast<float *>(scratch_ + runningOffset_);
  args.to = isLast ? at.bias : nullptr;
  args.type = lt::f32;
  args.toType = plan_.d.type;
  args.isFirst = isFirst;
  return kernels_.sum(args, stream);
}

/// The sums over k of op(A)'s rows or op(B)'s columns.
Status LtFallbackCall::sumOperand(const LtAddresses &at, lt::Stream stream) {
  const bool ofA = plan_.epilogue == lt::epilogueBGradA;
  const LtLayout &layout = ofA ? plan_.a : plan_.b;
  const bool alongLines =
      ofA ? plan_.transA == lt::opN : plan_.transB == lt::opT;
  LtSumArgs args{};
  args.lines = ofA ? plan_.m : plan_.n;
  args.terms = plan_.k;
  args.values = ofA ? at.a : at.b;
  args.lineStride = alongLines ? 1 : layout.ld;
  args.termStride = alongLines ? layout.ld : 1;
  args.to = at.bias;
  args.type = layout.type;
  args.toType = plan_.d.type;
  args.isFirst = true;
  return kernels_.sum(args, stream);
}

Status LtFallbackCall::runPiece(const LtAddresses &at, const Piece &piece,
                                lt::Stream stream) {
  auto move = [](int64_t elements, int32_t type) {
    return elements * static_cast<int64_t>(lt::elementBytes(type));
  };
  LtAddresses operands;
  operands.a = at.a + move(piece.batch * plan_.a.batchStride, plan_.a.type);
  operands.b = at.b + move(piece.batch * plan_.b.batchStride +
                               piece.first * colStrideOfB(),
                           plan_.b.type);
  operands.d = isDirect_ ? at.d : scratch_;
  operands.c = isDirect_ ? at.c : scratch_;
  LtProduct &product = piece.cols < pieceCols_ ? *last_ : *product_;
  SINTER_RETURN_IF_ERROR(
      product.run(operands, scratch_ + workspaceOffset_, stream));
  if (sumsOperand())
    return sumOperand(at, stream);
  auto *results = reinterpret_cast<float *>(operands.d);
  SINTER_RETURN_IF_ERROR(apply(at, piece, results, stream));
  return hasBiasGradient() ? sumColumns(at, piece, results, stream) : Status();
}

Status LtFallbackCall::run(void *const *buffers, const CallContext &context) {
  auto stream = static_cast<lt::Stream>(
      context.stream ? context.stream->native() : nullptr);
  for (int64_t call = 0, calls = plan_.calls(); call < calls; ++call) {
    LtAddresses at = addressesOf(plan_, dSlice_, buffers, call);
    Piece piece;
    piece.numBatches = isWholeBatch_ ? plan_.batch : 1;
    for (; piece.batch < plan_.batch; piece.batch += piece.numBatches)
      for (piece.first = 0; piece.first < plan_.n; piece.first += pieceCols_) {
        piece.cols = std::min(pieceCols_, plan_.n - piece.first);
        SINTER_RETURN_IF_ERROR(runPiece(at, piece, stream));
      }
  }
  return {};
}

std::string LtFallbackCall::description() const {
  std::string text = "product without epilogue " +
                     std::to_string(plan_.epilogue) + ", then a kernel";
  if (!isWholeBatch_) {
    int64_t pieces = (plan_.n + pieceCols_ - 1) / pieceCols_ * plan_.batch;
    text +=
        ", in " + std::to_string(pieces) + (pieces == 1 ? " piece" : " pieces");
  }
  return text + ": " + product_->description();
}

Result<std::unique_ptr<LibraryCall>> sinter::cuda::prepareLtFallback(
    const LtContext &context, const LtPlan &plan, const sinter_command &command,
    const LibraryOptions &options, LtKernels &kernels) {
  auto call = std::make_unique<LtFallbackCall>(context, plan,
                                               command.numSlices - 1, kernels);
  SINTER_RETURN_IF_ERROR(call->prepare(command, options));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
