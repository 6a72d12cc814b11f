//===- RowProduct.cpp - products of few rows with a constant matrix -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each weight is used for a few multiplications only, so the time is that of
// reading the weights. They are packed at load in panels of 64 columns, so that
// one task reads one stretch of memory from begin to end. A sum is one chain of
// fused multiply-adds in ascending order of k.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/CpuFeatures.h"

#include <algorithm>
#include <array>
#include <immintrin.h>

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

constexpr int64_t panelColumns = 64, maxRows = 4;

/// Rows of A; strides in elements.
struct Rows {
  const float *data;
  int64_t rowStride, colStride;
};

/// sums[row * 64 + column] = the sum over `depth` of a row of A times a column
/// of the panel.
using PanelFunction = void (*)(const Rows &a, const float *panel, int64_t depth,
                               float *sums);

template <int rows>
__attribute__((target("avx512f"))) void
multiplyAvx512(const Rows &a, const float *panel, int64_t depth, float *sums) {
  constexpr int vectors = panelColumns / 16;
  __m512 sum[rows][vectors];
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      sum[row][v] = _mm512_setzero_ps();
  const float *factor = a.data;
  for (int64_t k = 0; k < depth; ++k) {
    __m512 weights[vectors];
    for (int v = 0; v < vectors; ++v)
      weights[v] = _mm512_load_ps(panel + 16 * v);
    for (int row = 0; row < rows; ++row) {
      __m512 x = _mm512_set1_ps(factor[row * a.rowStride]);
      for (int v = 0; v < vectors; ++v)
        sum[row][v] = _mm512_fmadd_ps(x, weights[v], sum[row][v]);
    }
    panel += panelColumns;
    factor += a.colStride;
  }
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      _mm512_storeu_ps(sums + row * panelColumns + 16 * v, sum[row][v]);
}

template <int rows>
__attribute__((target("avx2,fma"))) void
multiplyAvx2(const Rows &a, const float *panel, int64_t depth, float *sums) {
  // 16 registers hold the sums of one part of the panel.
  constexpr int vectors = rows == 1 ? 8 : 2, parts = panelColumns / 8 / vectors;
  for (int part = 0; part < parts; ++part) {
    __m256 sum[rows][vectors];
    for (int row = 0; row < rows; ++row)
      for (int v = 0; v < vectors; ++v)
        sum[row][v] = _mm256_setzero_ps();
    const float *factor = a.data, *from = panel + part * vectors * 8;
    for (int64_t k = 0; k < depth; ++k) {
      for (int v = 0; v < vectors; ++v) {
        __m256 weights = _mm256_load_ps(from + 8 * v);
        for (int row = 0; row < rows; ++row)
          sum[row][v] = _mm256_fmadd_ps(
              _mm256_set1_ps(factor[row * a.rowStride]), weights, sum[row][v]);
      }
      from += panelColumns;
      factor += a.colStride;
    }
    for (int row = 0; row < rows; ++row)
      for (int v = 0; v < vectors; ++v)
        _mm256_storeu_ps(sums + row * panelColumns + part * vectors * 8 + 8 * v,
                         sum[row][v]);
  }
}

/// Null if this CPU lacks the instructions.
PanelFunction panelFunction(int64_t rows) {
  static constexpr PanelFunction avx512[] = {
      multiplyAvx512<1>, multiplyAvx512<2>, multiplyAvx512<3>,
      multiplyAvx512<4>};
  static constexpr PanelFunction avx2[] = {multiplyAvx2<1>, multiplyAvx2<2>,
                                           multiplyAvx2<3>, multiplyAvx2<4>};
  if (checkCpuFeatures("+avx512f").ok())
    return avx512[rows - 1];
  return checkCpuFeatures("+avx2,+fma").ok() ? avx2[rows - 1] : nullptr;
}

class RowProductCall : public LibraryCall {
public:
  RowProductCall(const sinter_command &command, const MatmulShape &shape,
                 PanelFunction multiply)
      : command_(command), shape_(shape), multiply_(multiply),
        postOps_(command.matmul.params->postOps,
                 command.matmul.params->numPostOps) {}

  void pack(OneDnnContext &context, const float *b) {
    weights_ = context.packed.make(
        static_cast<uint64_t>(panels() * panelColumns * shape_.k) * 4,
        [&](uint8_t *bytes) {
          auto *to = reinterpret_cast<float *>(bytes);
          for (int64_t panel = 0; panel < panels(); ++panel)
            for (int64_t k = 0; k < shape_.k; ++k)
              for (int64_t i = 0; i < panelColumns; ++i) {
                const int64_t column = panel * panelColumns + i;
                *to++ = column < shape_.n
                            ? b[k * shape_.b.row + column * shape_.b.col]
                            : 0;
              }
        });
  }

  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &, int) override { return {}; }

  Status run(void *const *buffers, const CallContext &context) override {
    const int64_t grain =
        std::max<int64_t>(1, taskElements / (panelColumns * shape_.k));
    context.pool->parallelFor(
        context.threads, panels(), grain, [&](int, int64_t begin, int64_t end) {
          for (int64_t panel = begin; panel < end; ++panel)
            runPanel(buffers, panel);
        });
    return {};
  }

  std::string description() const override {
    return "product of " + std::to_string(shape_.m) +
           (shape_.m == 1 ? " row" : " rows") + ", weights packed at load";
  }

private:
  /// The fewest weights that are worth another thread.
  static constexpr int64_t taskElements = 32768;

  int64_t panels() const {
    return (shape_.n + panelColumns - 1) / panelColumns;
  }

  void runPanel(void *const *buffers, int64_t panel) const {
    const auto *a = static_cast<const float *>(buffers[shape_.transposed]);
    auto *c = static_cast<float *>(buffers[command_.numSlices - 1]);
    const int64_t first = panel * panelColumns,
                  columns = std::min(panelColumns, shape_.n - first);
    alignas(64) float sums[maxRows * panelColumns];
    multiply_({a, shape_.a.row, shape_.a.col},
              reinterpret_cast<const float *>(weights_.get()) +
                  first * shape_.k,
              shape_.k, sums);
    const Block block{sums, shape_.m, columns, panelColumns, 1};
    if (!postOps_.empty()) {
      std::array<PostOpOperand, SINTER_MAX_POST_OPS> operands;
      for (size_t i = 0; i < postOps_.size(); ++i)
        if (readsOperand(postOps_[i]))
          operands[i] = operandAt(
              postOps_[i],
              static_cast<const float *>(buffers[postOps_[i].slice]), first);
      applyPostOps(postOps_, block, operands.data());
    }
    copyBlock({c + first * shape_.c.col, shape_.m, columns, shape_.c.row,
               shape_.c.col},
              sums, panelColumns, 1);
  }

  PostOpOperand operandAt(const sinter_post_op &op, const float *address,
                          int64_t column) const {
    if (op.kind == SINTER_POST_BIAS)
      return shape_.transposed ? PostOpOperand{address, 1, 0}
                               : PostOpOperand{address + column, 0, 1};
    return {address + column * shape_.c.col, shape_.c.row, shape_.c.col};
  }

  const sinter_command &command_;
  const MatmulShape shape_;
  const PanelFunction multiply_;
  const std::span<const sinter_post_op> postOps_;
  PackedBytes weights_;
};

} // namespace

LibraryCallResult sinter::cpu::prepareRowProduct(OneDnnContext &context,
                                                 const sinter_command &command,
                                                 const uint8_t *constants) {
  const MatmulShape shape = MatmulShape::simplify(*command.matmul.params);
  if (shape.empty() || shape.k == 0 || shape.batchRank > 0 || shape.m > maxRows)
    return std::unique_ptr<LibraryCall>();
  const float *b =
      constantAddress(command.slices[shape.transposed ? 0 : 1], constants);
  PanelFunction multiply = b ? panelFunction(shape.m) : nullptr;
  if (!multiply)
    return std::unique_ptr<LibraryCall>();
  auto call = std::make_unique<RowProductCall>(command, shape, multiply);
  call->pack(context, b);
  return std::unique_ptr<LibraryCall>(std::move(call));
}
