//===- OneDnnMatmul.cpp - fp32 products in slices -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/OneDnnMatmul.h"

#include <atomic>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

/// At the start of a run.
void MatmulCall::makeDenseA(const float *a, const CallContext &context) const {
  constexpr int64_t rowsPerTask = 32;
  context.parallelFor(
      (shape_.m + rowsPerTask - 1) / rowsPerTask, 1,
      [&](int, int64_t begin, int64_t end) {
        for (int64_t row = begin * rowsPerTask;
             row < std::min(end * rowsPerTask, shape_.m); row += rowsPerTask)
          copyBlock({denseA() + row * shape_.k,
                     std::min(rowsPerTask, shape_.m - row), shape_.k, shape_.k,
                     1},
                    a + row * shape_.a.row, shape_.a.row, shape_.a.col);
      });
}

Status MatmulCall::bind(const Scratch &scratch, int threads) {
  scratch_ = scratch;
  try {
    for (auto &[size, variant] : variants_)
      variant.primitive.bind(context_, scratch, threads);
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
  const MatmulVariant &variant = *variantOf_[static_cast<size_t>(rest)];
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

/// For k = 0: zeros, then the post-ops.
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

Status MatmulCall::run(void *const *buffers, const CallContext &context) {
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
    context.parallelFor(shape_.batchCount(), 1,
                        [&](int, int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            runEmptySum(operands, i);
                        });
    return {};
  }
  OneThreadScope oneThread;
  if (denseA_)
    makeDenseA(operands.a, context);
  std::atomic<bool> failed{false};
  int64_t slices = shape_.outerCount() * plan_.slicesPerOuter();
  // With several outer batch dimensions of small matrices, take many at once.
  int64_t grain = std::max<int64_t>(1, slices / maxSlices / 2);
  context.parallelFor(slices, grain,
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
    context.parallelFor(rows, rowGrain, [&](int, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        combinePartials(operands, i);
    });
  }
  return {};
}

std::string MatmulCall::description() const {
  if (variants_.empty())
    return "matmul without work";
  const MatmulVariant &first = *variantOf_.front();
  std::string text =
      "matmul in " +
      std::to_string(shape_.outerCount() * plan_.slicesPerOuter()) +
      " slices of " + std::to_string(first.size.batch) + "x" +
      std::to_string(first.size.m) + "x" + std::to_string(first.size.n) + "x" +
      std::to_string(first.size.k) + ", " + first.primitive.implementation();
  if (packs_)
    text += ", B packed at load";
  if (denseA_ || gatherA_)
    text += ", A copied";
  if (scatterC_)
    text += ", C copied";
  if (!postOps_.empty())
    text += ", " + std::to_string(first.fusedPostOps) + " of " +
            std::to_string(postOps_.size()) + " post-ops fused";
  return text;
}
