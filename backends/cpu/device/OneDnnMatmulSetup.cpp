//===- OneDnnMatmulSetup.cpp - fp32 products, prepared at load ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnMatmul.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;
using dnnl::memory;

static constexpr auto f32 = memory::data_type::f32;

/// The library's descriptor of rows x cols elements; 3-D if batched.
memory::desc MatmulCall::operandDesc(const Strides &strides, bool scratch,
                                     int64_t batch, int64_t rows,
                                     int64_t cols) const {
  int64_t row = scratch ? cols : strides.row;
  int64_t col = scratch ? 1 : strides.col;
  // In a slice of one row or column, the other stride is arbitrary; use the
  // dense one.
  if (cols == 1 && col != 1 && row == 1)
    col = rows;
  if (rows == 1 && col == 1)
    row = cols;
  if (batch == 1)
    return {{rows, cols}, f32, memory::dims{row, col}};
  int64_t step = scratch ? rows * cols : shape_.innerStride(strides);
  if (step == 0)
    return {{1, rows, cols}, f32, memory::dims{rows * cols, row, col}};
  return {{batch, rows, cols}, f32, memory::dims{step, row, col}};
}

Status MatmulCall::prepare(const uint8_t *constants) {
  shape_ = MatmulShape::simplify(params_);
  if (shape_.empty() || shape_.k == 0)
    return {};
  // If the operands were swapped, the library's B is our slice 0.
  const float *constantB =
      constantAddress(command_.slices[shape_.transposed ? 0 : 1], constants);
  if (shape_.batchRank > 0) // one packed copy per matrix would be too many
    constantB = nullptr;
  chooseMode(constantB);
  makeVariants();
  if (packs_)
    packConstantB(constantB);

  uint64_t scratchpad = 0;
  for (const auto &[size, variant] : variants_)
    scratchpad = std::max(scratchpad, variant.primitive.scratchpadBytes());
  int64_t offset = alignUp(static_cast<int64_t>(scratchpad));
  int64_t batch = plan_.batch.largest(), m = plan_.m.largest(),
          n = plan_.n.largest(), k = plan_.k.largest();
  gatherAOffset_ = offset;
  offset += gatherA_ ? alignUp(4 * batch * m * k) : 0;
  gatherBOffset_ = offset;
  offset += gatherB_ ? alignUp(4 * batch * k * n) : 0;
  scatterCOffset_ = offset;
  offset += scatterC_ ? alignUp(4 * batch * m * n) : 0;
  perWorkerBytes_ = static_cast<uint64_t>(offset);

  int64_t shared = 0; // partial results come first
  if (partials_)
    shared = alignUp(4 * plan_.k.count() * shape_.batchCount() * shape_.m *
                     shape_.n);
  denseAOffset_ = shared;
  shared += denseA_ ? alignUp(4 * shape_.m * shape_.k) : 0;
  sharedBytes_ = static_cast<uint64_t>(shared);
  return {};
}

/// Decides how the library gets its operands and delivers its result: directly,
/// packed, or through copies.
void MatmulCall::chooseMode(const float *constantB) {
  gatherA_ = !shape_.isPlain(shape_.a, shape_.m, shape_.k);
  gatherB_ = !shape_.isPlain(shape_.b, shape_.k, shape_.n);
  scatterC_ = shape_.c.col != 1 || (shape_.m > 1 && shape_.c.row < shape_.n);
  // A narrow B would mostly be padding.
  constexpr int64_t narrow = 32;
  packs_ = mayPack_ && !gatherB_ && constantB && shape_.n >= narrow;
  plan_ = MatmulPlan::make(shape_,
                           packs_ ? MatmulMode::PackedB : MatmulMode::Direct);
  partials_ = plan_.k.count() > 1;
  if (packs_) {
    constantB_.resize(static_cast<size_t>(plan_.n.count() * plan_.k.count()));
    // The kernels for a packed B need dense rows of A. A copy costs little if
    // each of its elements is used for many columns.
    bool dense = shape_.a.col == 1 && shape_.a.row == shape_.k;
    denseA_ = !dense && shape_.m > 1 && shape_.n >= 128 && !partials_;
    gatherA_ = gatherA_ && !denseA_;
  }

  const sinter_slice &result = command_.slices[command_.numSlices - 1];
  bool adds = false;
  for (const sinter_post_op &op : postOps_) {
    if (!readsOperand(op))
      continue;
    adds |= op.kind == SINTER_POST_ADD;
    // The library may use C for sums that are not final yet.
    if (overlaps(command_.slices[op.slice], result))
      scatterC_ = true;
  }
  // They also need dense rows of C.
  bool wantsDenseC = packs_ && plan_.n.count() > 1 && shape_.m > 1 &&
                     shape_.k >= 128 && !partials_;
  // The library derives the position in another operand from the position in C.
  // If rows of several matrices alternate, it reads beyond the operand's ends
  // (2.6.3).
  bool alternates = shape_.innerCount() > 1 &&
                    shape_.innerStride(shape_.c) < shape_.m * shape_.c.row;
  size_t operands =
      std::count_if(postOps_.begin(), postOps_.end(), readsOperand);
  bool onlyOwnBias =
      operands == 0 || (operands == 1 && !shape_.transposed &&
                        postOps_.front().kind == SINTER_POST_BIAS);
  ownPostOps_ = partials_ || scatterC_ || (wantsDenseC && adds) ||
                (alternates && !onlyOwnBias);
  scatterC_ = (scatterC_ || wantsDenseC) && !partials_;
}

void MatmulCall::makeVariants() {
  int64_t count = plan_.slicesPerOuter();
  std::vector<MatmulSliceSize> sizes;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t ki = rest % plan_.k.count();
    rest /= plan_.k.count();
    int64_t ni = rest % plan_.n.count();
    rest /= plan_.n.count();
    int64_t mi = rest % plan_.m.count();
    int64_t bi = rest / plan_.m.count();
    sizes.push_back({plan_.batch.size(bi), plan_.m.size(mi), plan_.n.size(ni),
                     plan_.k.size(ki)});
    if (!variants_.count(sizes.back()))
      makeVariant(sizes.back());
  }
  for (const MatmulSliceSize &size : sizes)
    variantOf_.push_back(&variants_.at(size));
}

void MatmulCall::makeVariant(const MatmulSliceSize &size) {
  MatmulVariant variant;
  variant.size = size;
  size_t fusable = ownPostOps_ ? 0 : fusablePostOps(postOps_);
  if (!tryVariant(variant, fusable))
    if (fusable == 0 || !tryVariant(variant, 0))
      throw dnnl::error(dnnl_unimplemented, "no fast implementation");
  variants_.emplace(size, std::move(variant));
}

/// Makes the primitive; false if the library has only its reference
/// implementation, which is a thousand times slower than the others.
bool MatmulCall::tryVariant(MatmulVariant &variant, size_t fusedPostOps) {
  const auto [batch, m, n, k] = variant.size;
  memory::desc a = operandDesc(shape_.a, gatherA_ || denseA_, batch, m, k);
  memory::desc b = operandDesc(shape_.b, gatherB_, batch, k, n);
  if (packs_) {
    // The first slice of this n and k chooses the layout for all rows.
    b = memory::desc({k, n}, f32, memory::format_tag::any);
    for (const auto &[size, other] : variants_)
      if (size.n == n && size.k == k)
        b = other.primitive.argDesc(1);
  }
  Strides partial;
  partial.row = shape_.n;
  partial.col = 1;
  if (shape_.batchRank)
    partial.batch[shape_.batchRank - 1] = shape_.m * shape_.n;
  memory::desc c =
      operandDesc(partials_ ? partial : shape_.c, scatterC_, batch, m, n);

  dnnl::primitive_attr attributes = makeAttributes();
  std::vector<PrimitiveArg> operands;
  memory::desc bias;
  if (fusedPostOps) {
    dnnl::post_ops list;
    for (const sinter_post_op &op : postOps_.first(fusedPostOps)) {
      memory::desc operand;
      if (op.kind == SINTER_POST_BIAS) {
        memory::dims dims =
            shape_.transposed ? memory::dims{m, 1} : memory::dims{1, n};
        if (batch > 1)
          dims.insert(dims.begin(), 1);
        operand = {dims, f32,
                   batch > 1 ? memory::format_tag::abc
                             : memory::format_tag::ab};
        if (&op == &postOps_.front() && !shape_.transposed) {
          bias = operand; // first and along columns: the library's own bias
          operands.push_back({DNNL_ARG_BIAS, operand});
          continue;
        }
      } else if (op.kind == SINTER_POST_ADD) {
        operand = operandDesc(shape_.c, false, batch, m, n);
      }
      if (readsOperand(op))
        operands.push_back(
            {DNNL_ARG_ATTR_MULTIPLE_POST_OP(list.len()) | DNNL_ARG_SRC_1,
             operand});
      appendPostOp(list, op, operand);
    }
    attributes.set_post_ops(list);
  }

  try {
    // The blocked kernels read a wide row-major B with a stride that defeats
    // the caches, and pack a transposed B even for a few rows. They measured a
    // quarter of the speed of the library's GEMM.
    bool preferGemm = !packs_ && ((shape_.b.col == 1 && n > 512) ||
                                  (shape_.b.row == 1 && m < 16));
    auto isTaken = [&](const dnnl::matmul::primitive_desc &desc) {
      return !preferGemm || std::string(desc.impl_info_str()).find("gemm") !=
                                std::string::npos;
    };
    auto desc =
        shim::matmul(context_.engine, a, b, bias, c, attributes, isTaken);
    std::string implementation = desc.impl_info_str();
    if (implementation.find("ref") != std::string::npos)
      return false;
    std::vector<PrimitiveArg> args = {{DNNL_ARG_SRC, a},
                                      {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                      {DNNL_ARG_DST, c}};
    args.insert(args.end(), operands.begin(), operands.end());
    variant.primitive = OneDnnPrimitive(dnnl::matmul(desc), std::move(args),
                                        desc.scratchpad_desc(), implementation);
    variant.fusedPostOps = fusedPostOps;
    return true;
  } catch (const dnnl::error &error) {
    if (error.status == dnnl_unimplemented)
      return false;
    throw;
  }
}

void MatmulCall::packConstantB(const float *b) {
  for (int64_t ni = 0; ni < plan_.n.count(); ++ni)
    for (int64_t ki = 0; ki < plan_.k.count(); ++ki) {
      int64_t piece = ni * plan_.k.count() + ki;
      const MatmulVariant &variant = *variantOf_[static_cast<size_t>(piece)];
      const memory::desc &to = variant.primitive.argDesc(1);
      constantB_[static_cast<size_t>(piece)] =
          context_.packed.make(to.get_size(), [&](uint8_t *packed) {
            reorderNow(
                context_,
                operandDesc(shape_.b, false, 1, variant.size.k, variant.size.n),
                b + plan_.k.begin(ki) * shape_.b.row +
                    plan_.n.begin(ni) * shape_.b.col,
                to, packed);
          });
    }
}

LibraryCallResult
sinter::cpu::prepareOneDnnMatmul(OneDnnContext &context,
                                 const sinter_command &command,
                                 const uint8_t *constants) {
  auto prepare = [&](bool mayPack) -> LibraryCallResult {
    auto call = std::make_unique<MatmulCall>(context, command, mayPack);
    SINTER_RETURN_IF_ERROR(call->prepare(constants));
    return std::unique_ptr<LibraryCall>(std::move(call));
  };
  auto bytesOf = [](const LibraryCall &call) {
    return call.sharedBytes() + call.perWorkerBytes();
  };
  LibraryCallResult packed = prepare(/*mayPack=*/true);
  if (!packed.ok() || bytesOf(**packed) <= context.workspaceBytes)
    return packed;
  // It is slower but needs almost no scratch.
  LibraryCallResult direct = prepare(/*mayPack=*/false);
  return !direct.ok() || bytesOf(**direct) < bytesOf(**packed)
             ? std::move(direct)
             : std::move(packed);
}
