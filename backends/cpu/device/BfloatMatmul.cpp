//===- BfloatMatmul.cpp - bf16 products -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// On CPUs whose unit for bf16 is faster than fp32 (AMX, on some vdpbf16ps), the
// library reads operands in place. Slices are those of MatmulPlan, which depend
// only on the shape. Calls that would need copies, sums of partial results or
// post-ops after an activation are left to WidenedCall. Both units treat
// denormal operands as 0.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BfloatUnit.h"
#include "backends/cpu/device/Blocks.h"
#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"

#include <array>
#include <atomic>
#include <compare>
#include <map>
#include <span>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;
using dnnl::memory;

namespace {

class BfloatMatmulCall : public LibraryCall {
public:
  BfloatMatmulCall(OneDnnContext &context, const sinter_command &command)
      : context_(context), command_(command), params_(*command.matmul.params),
        postOps_(params_.postOps, params_.numPostOps),
        shape_(MatmulShape::simplify(params_)) {}

  /// False if this implementation does not fit the call.
  bool prepare(const uint8_t *constants);

  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override { return scratchpadBytes_; }
  Status bind(const Scratch &scratch, int threads) override;
  Status run(void *const *buffers, const CallContext &context) override;
  std::string description() const override;

private:
  struct Size {
    int64_t batch, m, n, k;
    auto operator<=>(const Size &) const = default;
  };
  struct Slice {
    Size size;
    int64_t batch, m, n; // its beginning
  };

  bool isSuitable() const;
  bool makeVariant(const Size &size);
  void packConstantB(const uint8_t *b);
  memory::desc operandDesc(const Strides &strides, memory::data_type type,
                           int64_t batch, int64_t rows, int64_t cols) const;
  Slice sliceAt(int64_t index) const;
  bool runSlice(void *const *buffers, int worker, int64_t index) const;
  void applyRelu(uint8_t *result, const Size &size) const;
  int64_t resultBytes() const {
    return params_.outDtype == SINTER_BF16 ? 2 : 4;
  }

  OneDnnContext &context_;
  const sinter_command &command_;
  const sinter_matmul &params_;
  std::span<const sinter_post_op> postOps_;
  MatmulShape shape_;
  MatmulPlan plan_;
  size_t fused_ = 0; // a relu may follow these
  bool packs_ = false;
  std::map<Size, OneDnnPrimitive> variants_;
  std::vector<PackedBytes> packedB_; // by n piece; empty: B is read in place
  uint64_t scratchpadBytes_ = 0;
};

} // namespace

memory::desc BfloatMatmulCall::operandDesc(const Strides &strides,
                                           memory::data_type type,
                                           int64_t batch, int64_t rows,
                                           int64_t cols) const {
  int64_t row = strides.row, col = strides.col;
  // In a slice of one row or column, the other stride is arbitrary; use the
  // dense one.
  if (cols == 1 && col != 1 && row == 1)
    col = rows;
  if (rows == 1 && col == 1)
    row = cols;
  if (batch == 1)
    return {{rows, cols}, type, memory::dims{row, col}};
  int64_t step = shape_.innerStride(strides);
  if (step == 0)
    return {{1, rows, cols}, type, memory::dims{rows * cols, row, col}};
  return {{batch, rows, cols}, type, memory::dims{step, row, col}};
}

bool BfloatMatmulCall::isSuitable() const {
  if (shape_.empty() || shape_.k == 0 || plan_.k.count() > 1)
    return false;
  if (!shape_.isPlain(shape_.a, shape_.m, shape_.k) ||
      !shape_.isPlain(shape_.b, shape_.k, shape_.n) || shape_.c.col != 1 ||
      (shape_.m > 1 && shape_.c.row < shape_.n))
    return false;
  // A relu of the rounded result is the rounded relu.
  if (fused_ < postOps_.size() && !(fused_ + 1 == postOps_.size() &&
                                    postOps_[fused_].kind == SINTER_POST_RELU))
    return false;
  const sinter_slice &result = command_.slices[command_.numSlices - 1];
  int64_t operands = 0;
  for (const sinter_post_op &op : postOps_) {
    if (!readsOperand(op))
      continue;
    ++operands;
    if (overlaps(command_.slices[op.slice], result))
      return false;
  }
  // See MatmulCall::chooseMode.
  bool alternates = shape_.innerCount() > 1 &&
                    shape_.innerStride(shape_.c) < shape_.m * shape_.c.row;
  bool onlyOwnBias =
      operands == 0 || (operands == 1 && !shape_.transposed &&
                        postOps_.front().kind == SINTER_POST_BIAS);
  return !alternates || onlyOwnBias;
}

bool BfloatMatmulCall::prepare(const uint8_t *constants) {
  if (shape_.empty() || shape_.k == 0)
    return false;
  plan_ = MatmulPlan::make(shape_, MatmulMode::Direct);
  fused_ = fusablePostOps(postOps_);
  if (!isSuitable())
    return false;
  const sinter_slice &b = command_.slices[shape_.transposed ? 0 : 1];
  const float *constantB = constantAddress(b, constants);
  packs_ = constantB && shape_.batchRank == 0;
  for (int64_t i = 0; i < plan_.slicesPerOuter(); ++i)
    if (!makeVariant(sliceAt(i).size))
      return false;
  if (packs_)
    packConstantB(reinterpret_cast<const uint8_t *>(constantB));
  for (const auto &[size, primitive] : variants_)
    scratchpadBytes_ = std::max(scratchpadBytes_, primitive.scratchpadBytes());
  scratchpadBytes_ =
      static_cast<uint64_t>(alignUp(static_cast<int64_t>(scratchpadBytes_)));
  return true;
}

bool BfloatMatmulCall::makeVariant(const Size &size) {
  if (variants_.count(size))
    return true;
  const auto [batch, m, n, k] = size;
  constexpr auto bf16 = memory::data_type::bf16;
  const auto out =
      params_.outDtype == SINTER_BF16 ? bf16 : memory::data_type::f32;
  memory::desc a = operandDesc(shape_.a, bf16, batch, m, k),
               b = operandDesc(shape_.b, bf16, batch, k, n),
               c = operandDesc(shape_.c, out, batch, m, n), bias;
  if (packs_) {
    b = memory::desc({k, n}, bf16, memory::format_tag::any);
    for (const auto &[other, primitive] : variants_)
      if (other.n == n)
        b = primitive.argDesc(1);
  }
  dnnl::primitive_attr attributes = makeAttributes();
  std::vector<PrimitiveArg> operands;
  dnnl::post_ops list;
  for (const sinter_post_op &op : postOps_.first(fused_)) {
    memory::desc operand;
    if (op.kind == SINTER_POST_BIAS) {
      memory::dims dims =
          shape_.transposed ? memory::dims{m, 1} : memory::dims{1, n};
      if (batch > 1)
        dims.insert(dims.begin(), 1);
      operand = {dims, out,
                 batch > 1 ? memory::format_tag::abc : memory::format_tag::ab};
      if (&op == &postOps_.front() && !shape_.transposed) {
        bias = operand;
        operands.push_back({DNNL_ARG_BIAS, operand});
        continue;
      }
    } else if (op.kind == SINTER_POST_ADD) {
      operand = operandDesc(shape_.c, out, batch, m, n);
    }
    if (readsOperand(op))
      operands.push_back(
          {DNNL_ARG_ATTR_MULTIPLE_POST_OP(list.len()) | DNNL_ARG_SRC_1,
           operand});
    appendPostOp(list, op, operand);
  }
  attributes.set_post_ops(list);
  try {
    auto desc = shim::matmul(context_.engine, a, b, bias, c, attributes,
                             [](const auto &) { return true; });
    std::string implementation = desc.impl_info_str();
    if (implementation.find("ref") != std::string::npos)
      return false;
    std::vector<PrimitiveArg> args = {{DNNL_ARG_SRC, a},
                                      {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                      {DNNL_ARG_DST, c}};
    args.insert(args.end(), operands.begin(), operands.end());
    variants_.emplace(size,
                      OneDnnPrimitive(dnnl::matmul(desc), std::move(args),
                                      desc.scratchpad_desc(), implementation));
    return true;
  } catch (const dnnl::error &error) {
    if (error.status == dnnl_unimplemented)
      return false;
    throw;
  }
}

void BfloatMatmulCall::packConstantB(const uint8_t *b) {
  for (int64_t ni = 0; ni < plan_.n.count(); ++ni) {
    Size size{1, plan_.m.size(0), plan_.n.size(ni), shape_.k};
    const memory::desc &to = variants_.at(size).argDesc(1);
    packedB_.push_back(
        context_.packed.make(to.get_size(), [&](uint8_t *packed) {
          reorderNow(context_,
                     operandDesc(shape_.b, memory::data_type::bf16, 1, shape_.k,
                                 size.n),
                     b + 2 * plan_.n.begin(ni) * shape_.b.col, to, packed);
        }));
  }
}

Status BfloatMatmulCall::bind(const Scratch &scratch, int threads) {
  try {
    for (auto &[size, primitive] : variants_)
      primitive.bind(context_, scratch, threads);
  } catch (const dnnl::error &error) {
    return {SINTER_DEVICE_FAILED, std::string("oneDNN: ") + error.what()};
  }
  return {};
}

BfloatMatmulCall::Slice BfloatMatmulCall::sliceAt(int64_t index) const {
  int64_t ni = index % plan_.n.count();
  index /= plan_.n.count();
  int64_t mi = index % plan_.m.count(), bi = index / plan_.m.count();
  return {{plan_.batch.size(bi), plan_.m.size(mi), plan_.n.size(ni), shape_.k},
          plan_.batch.begin(bi),
          plan_.m.begin(mi),
          plan_.n.begin(ni)};
}

bool BfloatMatmulCall::runSlice(void *const *buffers, int worker,
                                int64_t index) const {
  int64_t inSlices = plan_.slicesPerOuter(), outer = index / inSlices;
  Slice slice = sliceAt(index % inSlices);
  auto start = [&](const Strides &s) {
    return shape_.outerOffset(s, outer) + slice.batch * shape_.innerStride(s);
  };
  auto bytes = [&](uint32_t buffer, int64_t elements, int64_t size) {
    return static_cast<uint8_t *>(buffers[buffer]) + elements * size;
  };
  const int64_t cOffset =
      start(shape_.c) + slice.m * shape_.c.row + slice.n * shape_.c.col;
  uint8_t *result = bytes(command_.numSlices - 1, cOffset, resultBytes());
  std::array<void *, 3 + SINTER_MAX_POST_OPS> addresses;
  size_t count = 0;
  addresses[count++] = bytes(shape_.transposed ? 1 : 0,
                             start(shape_.a) + slice.m * shape_.a.row, 2);
  addresses[count++] =
      packs_ ? packedB_[static_cast<size_t>(index % plan_.n.count())].get()
             : bytes(shape_.transposed ? 0 : 1,
                     start(shape_.b) + slice.n * shape_.b.col, 2);
  addresses[count++] = result;
  for (const sinter_post_op &op : postOps_.first(fused_)) {
    if (op.kind == SINTER_POST_BIAS)
      addresses[count++] =
          bytes(op.slice, shape_.transposed ? slice.m : slice.n, resultBytes());
    else if (op.kind == SINTER_POST_ADD)
      addresses[count++] = bytes(op.slice, cOffset, resultBytes());
  }
  if (!variants_.at(slice.size).run(context_, worker, addresses.data()))
    return false;
  if (fused_ < postOps_.size())
    applyRelu(result, slice.size);
  return true;
}

void BfloatMatmulCall::applyRelu(uint8_t *result, const Size &size) const {
  for (int64_t i = 0; i < size.batch; ++i)
    for (int64_t row = 0; row < size.m; ++row) {
      int64_t offset = i * shape_.innerStride(shape_.c) + row * shape_.c.row;
      reluLine(result + offset * resultBytes(), params_.outDtype == SINTER_BF16,
               size.n);
    }
}

Status BfloatMatmulCall::run(void *const *buffers, const CallContext &context) {
  OneThreadScope oneThread;
  std::atomic<bool> failed{false};
  int64_t slices = shape_.outerCount() * plan_.slicesPerOuter();
  int64_t grain = std::max<int64_t>(1, slices / maxSlices / 2);
  context.pool->parallelFor(context.threads, slices, grain,
                            [&](int worker, int64_t begin, int64_t end) {
                              OneThreadScope::limitWorker(worker);
                              for (int64_t i = begin; i < end; ++i)
                                if (!runSlice(buffers, worker, i))
                                  failed.store(true, std::memory_order_relaxed);
                            });
  if (failed.load(std::memory_order_relaxed))
    return {SINTER_DEVICE_FAILED, "oneDNN failed to run a matmul"};
  return {};
}

std::string BfloatMatmulCall::description() const {
  const auto &[size, primitive] = *variants_.begin();
  std::string text =
      "bf16 matmul in " +
      std::to_string(shape_.outerCount() * plan_.slicesPerOuter()) +
      " slices of " + std::to_string(size.batch) + "x" +
      std::to_string(size.m) + "x" + std::to_string(size.n) + "x" +
      std::to_string(size.k) + ", " + primitive.implementation();
  if (packs_)
    text += ", B packed at load";
  if (!postOps_.empty())
    text += ", " + std::to_string(fused_) + " of " +
            std::to_string(postOps_.size()) + " post-ops fused";
  return text;
}

LibraryCallResult
sinter::cpu::prepareBfloatMatmul(OneDnnContext &context,
                                 const sinter_command &command,
                                 const uint8_t *constants) {
  const auto &params = *command.matmul.params;
  if (params.dtype != SINTER_BF16 || bfloatUnit() == Bf16Unit::Widened)
    return std::unique_ptr<LibraryCall>();
  auto call = std::make_unique<BfloatMatmulCall>(context, command);
  if (!call->prepare(constants))
    return std::unique_ptr<LibraryCall>();
  return std::unique_ptr<LibraryCall>(std::move(call));
}
