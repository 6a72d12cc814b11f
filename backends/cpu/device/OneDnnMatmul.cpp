//===- OneDnnMatmul.cpp - fp32 products in slices -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A product is cut by MatmulPlan; slices of one shape share a primitive. B is
// packed once per n piece: at load when it is constant, at the head of a run
// when there are enough rows to repay it. Where the library cannot read or
// write an operand in place, or cannot fuse a post-op, the slice goes through
// scratch of its worker and the loops of PostOps.h.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/AlignedBlock.h"

#include <array>
#include <atomic>
#include <map>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;
using dnnl::memory;

namespace {

constexpr auto f32 = memory::data_type::f32;

/// Extents of one slice.
struct SliceSize {
  int64_t batch, m, n, k;
  auto operator<=>(const SliceSize &) const = default;
};

/// The primitive for slices of one shape.
struct Variant {
  SliceSize size;
  OneDnnPrimitive primitive; // arguments: A, B, C, then operands of post-ops
  size_t fusedPostOps = 0;   // the first ones; the others follow by our loops
};

class MatmulCall : public LibraryCall {
public:
  MatmulCall(OneDnnContext &context, const sinter_command &command)
      : context_(context), command_(command),
        params_(*static_cast<const sinter_matmul *>(command.params)),
        postOps_(params_.postOps, params_.numPostOps) {}

  Status prepare(const uint8_t *constants);

  uint64_t sharedBytes() const override { return sharedBytes_; }
  uint64_t perWorkerBytes() const override { return perWorkerBytes_; }
  Status bind(const Scratch &scratch, int threads) override;
  Status run(void *const *buffers, ThreadPool &pool, int threads) override;
  std::string description() const override;

private:
  /// Addresses of one run.
  struct Operands {
    const float *a, *b;
    float *c;
    std::array<const float *, SINTER_MAX_POST_OPS> postOps; // null: reads none
  };

  void makeVariant(const SliceSize &size);
  bool tryVariant(Variant &variant, size_t fusedPostOps);
  float *denseA() const {
    return reinterpret_cast<float *>(scratch_.shared + denseAOffset_);
  }
  void chooseMode(const float *constantB);
  void makeVariants();
  void packConstantB(const float *b);
  void preparePacking();
  bool packOperands(const Operands &operands, ThreadPool &pool,
                    int threads) const;
  const float *packedB(int64_t piece) const {
    const auto &constant = constantB_[static_cast<size_t>(piece)];
    return reinterpret_cast<const float *>(
        constant.data()
            ? constant.data()
            : scratch_.shared + packedOffset_ + piece * packedBytes_);
  }
  bool runSlice(const Operands &operands, int worker, int64_t slice) const;
  void runEmptySum(const Operands &operands, int64_t matrix) const;
  void combinePartials(const Operands &operands, int64_t row) const;
  PostOpOperand operandAt(const Operands &operands, size_t op,
                          int64_t batchOffset, int64_t m0, int64_t n0) const;

  memory::desc operandDesc(const Strides &strides, bool scratch, int64_t batch,
                           int64_t rows, int64_t cols) const;

  OneDnnContext &context_;
  const sinter_command &command_;
  const sinter_matmul &params_;
  std::span<const sinter_post_op> postOps_;
  MatmulShape shape_;
  MatmulPlan plan_;
  std::map<SliceSize, Variant> variants_;
  std::vector<const Variant *> variantOf_; // by slice within an outer batch

  /// By n and k piece; empty when B is not packed.
  std::vector<AlignedBlock> constantB_;
  std::vector<OneDnnPrimitive> packB_; // for a B that is not constant
  bool packs_ = false;
  bool denseA_ = false; // A is copied to dense rows at the head of a run
  bool gatherA_ = false, gatherB_ = false; // slice by slice instead
  bool scatterC_ = false; // compute into scratch, then copy to C
  bool ownPostOps_ = false;
  bool partials_ = false;

  uint64_t sharedBytes_ = 0, perWorkerBytes_ = 0;
  int64_t gatherAOffset_ = 0, gatherBOffset_ = 0, scatterCOffset_ = 0;
  int64_t denseAOffset_ = 0, packedOffset_ = 0, packedBytes_ = 0; // shared
  Scratch scratch_;
};

/// A description of rows x cols elements for the library; 3-D when batched.
memory::desc MatmulCall::operandDesc(const Strides &strides, bool scratch,
                                     int64_t batch, int64_t rows,
                                     int64_t cols) const {
  int64_t row = scratch ? cols : strides.row;
  int64_t col = scratch ? 1 : strides.col;
  // In a slice of one row or column the other stride is free; say dense.
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
  // With the operands swapped, the library's B is our slice 0.
  const float *constantB =
      constantAddress(command_.slices[shape_.transposed ? 0 : 1], constants);
  if (shape_.batchRank > 0) // one packed copy per matrix would be too many
    constantB = nullptr;
  chooseMode(constantB);
  makeVariants();
  if (packs_ && constantB)
    packConstantB(constantB);
  else if (packs_)
    preparePacking();

  uint64_t scratchpad = 0;
  for (const auto &[size, variant] : variants_)
    scratchpad = std::max(scratchpad, variant.primitive.scratchpadBytes());
  for (const OneDnnPrimitive &pack : packB_)
    scratchpad = std::max(scratchpad, pack.scratchpadBytes());
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
  packedOffset_ = shared;
  shared += packedBytes_ * static_cast<int64_t>(packB_.size());
  sharedBytes_ = static_cast<uint64_t>(shared);
  return {};
}

/// Decides how operands and result go between memory and the library.
void MatmulCall::chooseMode(const float *constantB) {
  gatherA_ = !isPlain(shape_.a, shape_.m, shape_.k);
  gatherB_ = !isPlain(shape_.b, shape_.k, shape_.n);
  scatterC_ = shape_.c.col != 1 || (shape_.m > 1 && shape_.c.row < shape_.n);
  // A narrow B would mostly be padding.
  constexpr int64_t narrow = 32;
  packs_ = !gatherB_ && ((constantB && shape_.n >= narrow) ||
                         (!constantB && worthPacking(shape_)));
  plan_ = MatmulPlan::make(shape_,
                           packs_ ? MatmulMode::PackedB : MatmulMode::Direct);
  partials_ = plan_.k.count() > 1;
  if (partials_ && !constantB)
    packs_ = false;
  if (packs_) {
    constantB_.resize(static_cast<size_t>(plan_.n.count() * plan_.k.count()));
    // The kernels for a packed B want dense rows of A; a copy costs little when
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
  // They want dense rows of C as well.
  bool wantsDenseC = packs_ && plan_.n.count() > 1 && shape_.m > 1 &&
                     shape_.k >= 128 && !partials_;
  ownPostOps_ = partials_ || scatterC_ || (wantsDenseC && adds);
  scatterC_ = (scatterC_ || wantsDenseC) && !partials_;
}

void MatmulCall::makeVariants() {
  int64_t count = plan_.slicesPerOuter();
  std::vector<SliceSize> sizes;
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
  for (const SliceSize &size : sizes)
    variantOf_.push_back(&variants_.at(size));
}

void MatmulCall::makeVariant(const SliceSize &size) {
  Variant variant;
  variant.size = size;
  size_t fusable = ownPostOps_ ? 0 : fusablePostOps(postOps_);
  if (!tryVariant(variant, fusable))
    if (fusable == 0 || !tryVariant(variant, 0))
      throw dnnl::error(dnnl_unimplemented, "no fast implementation");
  variants_.emplace(size, std::move(variant));
}

/// Makes the primitive; false when the library has only its reference
/// implementation, a thousand times slower than the others.
bool MatmulCall::tryVariant(Variant &variant, size_t fusedPostOps) {
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
    auto desc = shim::matmul(context_.engine, a, b, bias, c, attributes);
    auto isGemm = [&] {
      return std::string(desc.impl_info_str()).find("gemm") !=
             std::string::npos;
    };
    // The blocked kernels read a wide row-major B with a stride that defeats
    // the caches, and pack a transposed B for a handful of rows (measured: a
    // quarter of the speed of the library's GEMM).
    bool preferGemm = !packs_ && ((shape_.b.col == 1 && n > 512) ||
                                  (shape_.b.row == 1 && m < 16));
    if (preferGemm) {
      while (!isGemm() && desc.next_impl()) {
      }
      if (!isGemm()) // none: the library's own choice
        desc = shim::matmul(context_.engine, a, b, bias, c, attributes);
    }
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
      const Variant &variant = *variantOf_[static_cast<size_t>(piece)];
      const memory::desc &to = variant.primitive.argDesc(1);
      Result<AlignedBlock> block =
          AlignedBlock::allocate(to.get_size(), "a packed constant");
      if (!block.ok())
        throw std::bad_alloc();
      reorderNow(
          context_,
          operandDesc(shape_.b, false, 1, variant.size.k, variant.size.n),
          b + plan_.k.begin(ki) * shape_.b.row +
              plan_.n.begin(ni) * shape_.b.col,
          to, block->data());
      constantB_[static_cast<size_t>(piece)] = std::move(*block);
    }
}

void MatmulCall::preparePacking() {
  for (int64_t ni = 0; ni < plan_.n.count(); ++ni) {
    const Variant &variant = *variantOf_[static_cast<size_t>(ni)];
    const memory::desc &to = variant.primitive.argDesc(1);
    packB_.push_back(makeReorder(
        context_, operandDesc(shape_.b, false, 1, shape_.k, variant.size.n),
        to));
    packedBytes_ =
        std::max(packedBytes_, alignUp(static_cast<int64_t>(to.get_size())));
  }
}

/// Makes rows of A dense and packs B, at the head of a run.
bool MatmulCall::packOperands(const Operands &operands, ThreadPool &pool,
                              int threads) const {
  constexpr int64_t rowsPerTask = 32;
  auto bTasks = static_cast<int64_t>(packB_.size());
  int64_t aTasks = denseA_ ? (shape_.m + rowsPerTask - 1) / rowsPerTask : 0;
  std::atomic<bool> good{true};
  pool.parallelFor(
      threads, bTasks + aTasks, 1, [&](int worker, int64_t begin, int64_t end) {
        OneThreadScope::limitWorker(worker);
        for (int64_t i = begin; i < end; ++i) {
          if (i < bTasks) {
            const float *from = operands.b + plan_.n.begin(i) * shape_.b.col;
            void *addresses[] = {const_cast<float *>(from),
                                 const_cast<float *>(packedB(i))};
            if (!packB_[static_cast<size_t>(i)].run(context_, worker,
                                                    addresses))
              good.store(false, std::memory_order_relaxed);
            continue;
          }
          int64_t row = (i - bTasks) * rowsPerTask;
          copyBlock(
              {denseA() + row * shape_.k, std::min(rowsPerTask, shape_.m - row),
               shape_.k, shape_.k, 1},
              operands.a + row * shape_.a.row, shape_.a.row, shape_.a.col);
        }
      });
  return good.load(std::memory_order_relaxed);
}

Status MatmulCall::bind(const Scratch &scratch, int threads) {
  scratch_ = scratch;
  try {
    for (auto &[size, variant] : variants_)
      variant.primitive.bind(context_, scratch, threads);
    for (OneDnnPrimitive &pack : packB_)
      pack.bind(context_, scratch, threads);
  } catch (const dnnl::error &error) {
    return {SINTER_DEVICE_FAILED, std::string("oneDNN: ") + error.what()};
  }
  return {};
}

PostOpOperand MatmulCall::operandAt(const Operands &operands, size_t op,
                                    int64_t batchOffset, int64_t m0,
                                    int64_t n0) const {
  const float *address = operands.postOps[op];
  if (!address)
    return {};
  if (postOps_[op].kind == SINTER_POST_BIAS)
    return shape_.transposed ? PostOpOperand{address + m0, 1, 0}
                             : PostOpOperand{address + n0, 0, 1};
  return {address + batchOffset + m0 * shape_.c.row + n0 * shape_.c.col,
          shape_.c.row, shape_.c.col};
}

bool MatmulCall::runSlice(const Operands &operands, int worker,
                          int64_t slice) const {
  int64_t inSlices = plan_.slicesPerOuter();
  int64_t outer = slice / inSlices;
  int64_t rest = slice % inSlices;
  const Variant &variant = *variantOf_[static_cast<size_t>(rest)];
  int64_t ki = rest % plan_.k.count();
  rest /= plan_.k.count();
  int64_t ni = rest % plan_.n.count();
  rest /= plan_.n.count();
  int64_t m0 = plan_.m.begin(rest % plan_.m.count());
  int64_t b0 = plan_.batch.begin(rest / plan_.m.count());
  int64_t n0 = plan_.n.begin(ni), k0 = plan_.k.begin(ki);
  const auto [batch, m, n, k] = variant.size;

  auto start = [&](const Strides &s) {
    return shape_.outerOffset(s, outer) + b0 * shape_.innerStride(s);
  };
  const float *a =
      operands.a + start(shape_.a) + m0 * shape_.a.row + k0 * shape_.a.col;
  const float *b =
      operands.b + start(shape_.b) + k0 * shape_.b.row + n0 * shape_.b.col;
  int64_t cStart = start(shape_.c);
  float *c = operands.c + cStart + m0 * shape_.c.row + n0 * shape_.c.col;
  uint8_t *mine = scratch_.perWorker +
                  static_cast<uint64_t>(worker) * scratch_.perWorkerStride;
  if (denseA_)
    a = denseA() + m0 * shape_.k;
  if (gatherA_) {
    auto *dense = reinterpret_cast<float *>(mine + gatherAOffset_);
    for (int64_t i = 0; i < batch; ++i)
      copyBlock({dense + i * m * k, m, k, k, 1},
                a + i * shape_.innerStride(shape_.a), shape_.a.row,
                shape_.a.col);
    a = dense;
  }
  if (gatherB_) {
    auto *dense = reinterpret_cast<float *>(mine + gatherBOffset_);
    for (int64_t i = 0; i < batch; ++i)
      copyBlock({dense + i * k * n, k, n, n, 1},
                b + i * shape_.innerStride(shape_.b), shape_.b.row,
                shape_.b.col);
    b = dense;
  }
  if (packs_)
    b = packedB(ni * plan_.k.count() + ki);
  float *result = c;
  if (scatterC_)
    result = reinterpret_cast<float *>(mine + scatterCOffset_);
  if (partials_) {
    int64_t matrix = outer * shape_.innerCount() + b0;
    result = reinterpret_cast<float *>(scratch_.shared) +
             ((ki * shape_.batchCount() + matrix) * shape_.m + m0) * shape_.n +
             n0;
  }

  std::array<void *, 3 + SINTER_MAX_POST_OPS> addresses;
  size_t count = 0;
  addresses[count++] = const_cast<float *>(a);
  addresses[count++] = const_cast<float *>(b);
  addresses[count++] = result;
  for (size_t i = 0; i < variant.fusedPostOps; ++i)
    if (operands.postOps[i])
      addresses[count++] =
          const_cast<float *>(operandAt(operands, i, cStart, m0, n0).address);
  if (!variant.primitive.run(context_, worker, addresses.data()))
    return false;
  if (partials_)
    return true;

  for (int64_t i = 0; i < batch; ++i) {
    int64_t step = i * shape_.innerStride(shape_.c);
    Block target{c + step, m, n, shape_.c.row, shape_.c.col};
    Block block = scatterC_ ? Block{result + i * m * n, m, n, n, 1} : target;
    auto rest = postOps_.subspan(variant.fusedPostOps);
    if (!rest.empty()) {
      std::array<PostOpOperand, SINTER_MAX_POST_OPS> at;
      for (size_t j = 0; j < rest.size(); ++j)
        at[j] = operandAt(operands, variant.fusedPostOps + j, cStart + step, m0,
                          n0);
      applyPostOps(rest, block, at.data());
    }
    if (scatterC_)
      copyBlock(target, block.data, block.rowStride, block.colStride);
  }
  return true;
}

/// k = 0: zeros and the post-ops.
void MatmulCall::runEmptySum(const Operands &operands, int64_t matrix) const {
  int64_t inner = matrix % shape_.innerCount();
  int64_t outer = matrix / shape_.innerCount();
  int64_t offset = shape_.outerOffset(shape_.c, outer) +
                   inner * shape_.innerStride(shape_.c);
  // Line by line, because an added operand may be C itself.
  std::array<PostOpOperand, SINTER_MAX_POST_OPS> at;
  for (int64_t row = 0; row < shape_.m; ++row)
    for (int64_t col = 0; col < shape_.n; ++col) {
      float value = 0;
      for (size_t j = 0; j < postOps_.size(); ++j)
        at[j] = operandAt(operands, j, offset, row, col);
      applyPostOps(postOps_, {&value, 1, 1, 1, 1}, at.data());
      operands.c[offset + row * shape_.c.row + col * shape_.c.col] = value;
    }
}

/// Sums the partial results of one row of all matrices and finishes it.
void MatmulCall::combinePartials(const Operands &operands, int64_t row) const {
  auto *first = reinterpret_cast<float *>(scratch_.shared);
  int64_t stride = shape_.batchCount() * shape_.m * shape_.n;
  sumPartials(first, stride, plan_.k.count(), row * shape_.n,
              (row + 1) * shape_.n);
  int64_t matrix = row / shape_.m, m0 = row % shape_.m;
  int64_t offset = shape_.outerOffset(shape_.c, matrix / shape_.innerCount()) +
                   matrix % shape_.innerCount() * shape_.innerStride(shape_.c);
  Block block{first + row * shape_.n, 1, shape_.n, shape_.n, 1};
  std::array<PostOpOperand, SINTER_MAX_POST_OPS> at;
  for (size_t j = 0; j < postOps_.size(); ++j)
    at[j] = operandAt(operands, j, offset, m0, 0);
  applyPostOps(postOps_, block, at.data());
  copyBlock({operands.c + offset + m0 * shape_.c.row, 1, shape_.n, shape_.c.row,
             shape_.c.col},
            block.data, block.rowStride, block.colStride);
}

Status MatmulCall::run(void *const *buffers, ThreadPool &pool, int threads) {
  if (shape_.empty())
    return {};
  Operands operands;
  operands.a = static_cast<const float *>(buffers[shape_.transposed ? 1 : 0]);
  operands.b = static_cast<const float *>(buffers[shape_.transposed ? 0 : 1]);
  operands.c = static_cast<float *>(buffers[command_.numSlices - 1]);
  for (size_t i = 0; i < postOps_.size(); ++i)
    operands.postOps[i] =
        readsOperand(postOps_[i])
            ? static_cast<const float *>(buffers[postOps_[i].slice])
            : nullptr;
  if (shape_.k == 0) {
    pool.parallelFor(threads, shape_.batchCount(), 1,
                     [&](int, int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i)
                         runEmptySum(operands, i);
                     });
    return {};
  }
  OneThreadScope oneThread;
  if ((denseA_ || !packB_.empty()) && !packOperands(operands, pool, threads))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to pack an operand"};
  std::atomic<bool> failed{false};
  int64_t slices = shape_.outerCount() * plan_.slicesPerOuter();
  // Small matrices with several outer batch dimensions: take many at once.
  int64_t grain = std::max<int64_t>(1, slices / maxSlices / 2);
  pool.parallelFor(threads, slices, grain,
                   [&](int worker, int64_t begin, int64_t end) {
                     OneThreadScope::limitWorker(worker);
                     for (int64_t i = begin; i < end; ++i)
                       if (!runSlice(operands, worker, i))
                         failed.store(true, std::memory_order_relaxed);
                   });
  if (failed.load(std::memory_order_relaxed))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to run a matmul"};
  if (partials_) {
    int64_t rows = shape_.batchCount() * shape_.m;
    int64_t rowGrain =
        std::max<int64_t>(1, 16384 / (shape_.n * plan_.k.count()));
    pool.parallelFor(threads, rows, rowGrain,
                     [&](int, int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i)
                         combinePartials(operands, i);
                     });
  }
  return {};
}

std::string MatmulCall::description() const {
  if (variants_.empty())
    return "matmul without work";
  const Variant &first = *variantOf_.front();
  std::string text =
      "matmul in " +
      std::to_string(shape_.outerCount() * plan_.slicesPerOuter()) +
      " slices of " + std::to_string(first.size.batch) + "x" +
      std::to_string(first.size.m) + "x" + std::to_string(first.size.n) + "x" +
      std::to_string(first.size.k) + ", " + first.primitive.implementation();
  if (packs_)
    text += packB_.empty() ? ", B packed at load" : ", B packed per run";
  if (denseA_ || gatherA_)
    text += ", A copied";
  if (scatterC_)
    text += ", C copied";
  if (!postOps_.empty())
    text += ", " + std::to_string(first.fusedPostOps) + " of " +
            std::to_string(postOps_.size()) + " post-ops fused";
  return text;
}

} // namespace

LibraryCallResult
sinter::cpu::prepareOneDnnMatmul(OneDnnContext &context,
                                 const sinter_command &command,
                                 const uint8_t *constants) {
  auto call = std::make_unique<MatmulCall>(context, command);
  SINTER_RETURN_IF_ERROR(call->prepare(constants));
  return std::unique_ptr<LibraryCall>(std::move(call));
}
