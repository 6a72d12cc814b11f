//===- RowProduct.cpp - products of few rows with a constant matrix -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each weight is used for a few multiplications only, so the time is that of
// reading the weights. They are packed at load in panels of 64 columns, so that
// one task reads one stretch of memory from begin to end; weights in bf16 are
// read as they are. A sum is one chain of fused multiply-adds of float32 in
// ascending order of k.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/MatmulPlan.h"
#include "backends/cpu/device/OneDnnLibrary.h"
#include "backends/cpu/device/PostOps.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <array>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::rt;

namespace {

constexpr int64_t panelColumns = 64, maxRows = 4;
/// How far ahead of the loads weights are fetched: hardware alone reads large
/// matrices at two thirds of the memory's rate.
constexpr int64_t fetchedBytes = 2048;

/// Rows of A; strides in elements.
struct Rows {
  const float *data;
  int64_t rowStride, colStride;
};

/// sums[row * 64 + column] = the sum over `depth` of a row of A times a column
/// of the panel.
using PanelFunction = void (*)(const Rows &a, const void *panel, int64_t depth,
                               float *sums);

/// The place of column `column` of a panel among the 64 weights of one k. Two
/// columns of bf16, 16 apart, are the halves of one word.
template <class Element> int64_t placeOf(int64_t column) {
  if constexpr (std::is_same_v<Element, float>)
    return column;
  else
    return column / 32 * 32 + column % 16 * 2 + column / 16 % 2;
}

#if defined(__x86_64__)
template <class Element, int rows>
__attribute__((target("avx512f"))) void
multiplyAvx512(const Rows &a, const void *panel, int64_t depth, float *sums) {
  constexpr int vectors = panelColumns / 16;
  const auto *from = static_cast<const Element *>(panel);
  __m512 sum[rows][vectors];
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      sum[row][v] = _mm512_setzero_ps();
  const float *factor = a.data;
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int64_t k = 0; k < depth; ++k) {
    constexpr int64_t bytes = panelColumns * sizeof(Element);
    for (int64_t line = 0; line < bytes; line += 64)
      _mm_prefetch(reinterpret_cast<const char *>(from) + fetchedBytes + line,
                   _MM_HINT_T0);
    __m512 weights[vectors];
    if constexpr (std::is_same_v<Element, float>)
      for (int v = 0; v < vectors; ++v)
        weights[v] = _mm512_load_ps(from + 16 * v);
    else
      for (int v = 0; v < vectors; v += 2) {
        __m512i words = _mm512_load_si512(from + 16 * v);
        weights[v] = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
        weights[v + 1] = _mm512_castsi512_ps(_mm512_and_si512(words, high));
      }
    for (int row = 0; row < rows; ++row) {
      __m512 x = _mm512_set1_ps(factor[row * a.rowStride]);
      for (int v = 0; v < vectors; ++v)
        sum[row][v] = _mm512_fmadd_ps(x, weights[v], sum[row][v]);
    }
    from += panelColumns;
    factor += a.colStride;
  }
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v)
      _mm512_storeu_ps(sums + row * panelColumns + 16 * v, sum[row][v]);
}

template <class Element, int rows>
__attribute__((target("avx2,fma"))) void
multiplyAvx2(const Rows &a, const void *panel, int64_t depth, float *sums) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000));
  // The registers hold the sums of two vectors, 16 columns apart.
  for (int64_t part = 0; part < panelColumns / 16; ++part) {
    const int64_t column = part / 2 * 32 + part % 2 * 8;
    const Element *from =
        static_cast<const Element *>(panel) + placeOf<Element>(column);
    __m256 sum[rows][2];
    for (int row = 0; row < rows; ++row)
      sum[row][0] = sum[row][1] = _mm256_setzero_ps();
    const float *factor = a.data;
    for (int64_t k = 0; k < depth; ++k) {
      __m256 weights[2];
      if constexpr (std::is_same_v<Element, float>) {
        weights[0] = _mm256_load_ps(from);
        weights[1] = _mm256_load_ps(from + 16);
      } else {
        __m256i words =
            _mm256_load_si256(reinterpret_cast<const __m256i *>(from));
        weights[0] = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
        weights[1] = _mm256_castsi256_ps(_mm256_and_si256(words, high));
      }
      for (int row = 0; row < rows; ++row) {
        __m256 x = _mm256_set1_ps(factor[row * a.rowStride]);
        for (int v = 0; v < 2; ++v)
          sum[row][v] = _mm256_fmadd_ps(x, weights[v], sum[row][v]);
      }
      from += panelColumns;
      factor += a.colStride;
    }
    for (int row = 0; row < rows; ++row)
      for (int v = 0; v < 2; ++v)
        _mm256_storeu_ps(sums + row * panelColumns + column + 16 * v,
                         sum[row][v]);
  }
}

template <class Element> PanelFunction panelFunctionFor(int64_t rows) {
  static constexpr PanelFunction avx512[] = {
      multiplyAvx512<Element, 1>, multiplyAvx512<Element, 2>,
      multiplyAvx512<Element, 3>, multiplyAvx512<Element, 4>};
  static constexpr PanelFunction avx2[] = {
      multiplyAvx2<Element, 1>, multiplyAvx2<Element, 2>,
      multiplyAvx2<Element, 3>, multiplyAvx2<Element, 4>};
  if (checkCpuFeatures("+avx512f").ok())
    return avx512[rows - 1];
  return checkCpuFeatures("+avx2,+fma").ok() ? avx2[rows - 1] : nullptr;
}

/// Null if this CPU lacks the instructions.
PanelFunction panelFunction(uint32_t dtype, int64_t rows) {
  return dtype == SINTER_BF16 ? panelFunctionFor<Bfloat>(rows)
                              : panelFunctionFor<float>(rows);
}
#else
PanelFunction panelFunction(uint32_t, int64_t) { return nullptr; }
#endif

int64_t elementBytes(uint32_t dtype) { return dtype == SINTER_BF16 ? 2 : 4; }

/// A strided matrix of float32 or bf16 in memory.
struct Matrix {
  uint8_t *data;
  uint32_t dtype;
  int64_t rowStride, colStride;

  /// block = the matrix from its first element on.
  void read(const Block &block) const {
    if (dtype == SINTER_BF16)
      widen(block);
    else
      copyBlock(block, reinterpret_cast<const float *>(data), rowStride,
                colStride);
  }
  void write(const Block &block) const {
    if (dtype == SINTER_BF16)
      narrow(block);
    else
      copyBlock({reinterpret_cast<float *>(data), block.rows, block.cols,
                 rowStride, colStride},
                block.data, block.rowStride, block.colStride);
  }

private:
  void widen(const Block &block) const {
    const auto *from = reinterpret_cast<const Bfloat *>(data);
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t col = 0; col < block.cols; ++col)
        block.data[row * block.rowStride + col * block.colStride] =
            toFloat(from[row * rowStride + col * colStride]);
  }
  void narrow(const Block &block) const {
    auto *to = reinterpret_cast<Bfloat *>(data);
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t col = 0; col < block.cols; ++col)
        fromFloat(block.data[row * block.rowStride + col * block.colStride],
                  to[row * rowStride + col * colStride]);
  }
};

class RowProductCall : public LibraryCall {
public:
  RowProductCall(const sinter_command &command, const MatmulShape &shape,
                 PanelFunction multiply)
      : command_(command), params_(*command.matmul.params), shape_(shape),
        multiply_(multiply), postOps_(params_.postOps, params_.numPostOps) {}

  template <class Element> void pack(OneDnnContext &context, const Element *b) {
    weights_ = context.packed.make(
        static_cast<uint64_t>(panels() * panelBytes()), [&](uint8_t *bytes) {
          auto *to = reinterpret_cast<Element *>(bytes);
          for (int64_t panel = 0; panel < panels(); ++panel)
            for (int64_t k = 0; k < shape_.k; ++k, to += panelColumns)
              for (int64_t i = 0; i < panelColumns; ++i) {
                const int64_t column = panel * panelColumns + i;
                to[placeOf<Element>(i)] =
                    column < shape_.n
                        ? b[k * shape_.b.row + column * shape_.b.col]
                        : Element();
              }
        });
  }

  uint64_t sharedBytes() const override { return 0; }
  /// Rows of A in float32.
  uint64_t perWorkerBytes() const override {
    return params_.dtype == SINTER_BF16
               ? static_cast<uint64_t>(alignUp(4 * shape_.m * shape_.k))
               : 0;
  }
  Status bind(const Scratch &scratch, int) override {
    scratch_ = scratch;
    return {};
  }

  Status run(void *const *buffers, const CallContext &context) override {
    const int64_t grain = std::max<int64_t>(1, taskBytes / panelBytes());
    context.pool->parallelFor(context.threads, panels(), grain,
                              [&](int worker, int64_t begin, int64_t end) {
                                const Rows rows = rowsOf(buffers, worker);
                                for (int64_t panel = begin; panel < end;
                                     ++panel)
                                  runPanel(rows, buffers, panel);
                              });
    return {};
  }

  std::string description() const override {
    return "product of " + std::to_string(shape_.m) +
           (shape_.m == 1 ? " row" : " rows") + ", weights packed at load";
  }

private:
  /// The fewest bytes of weights that are worth another thread.
  static constexpr int64_t taskBytes = 128 * 1024;

  int64_t panels() const {
    return (shape_.n + panelColumns - 1) / panelColumns;
  }
  int64_t panelBytes() const {
    return panelColumns * shape_.k * elementBytes(params_.dtype);
  }

  Rows rowsOf(void *const *buffers, int worker) const {
    auto *a = static_cast<uint8_t *>(buffers[shape_.transposed ? 1 : 0]);
    if (params_.dtype == SINTER_F32)
      return {reinterpret_cast<const float *>(a), shape_.a.row, shape_.a.col};
    auto *wide = reinterpret_cast<float *>(scratch_.perWorker +
                                           static_cast<uint64_t>(worker) *
                                               scratch_.perWorkerStride);
    Matrix{a, params_.dtype, shape_.a.row, shape_.a.col}.read(
        {wide, shape_.m, shape_.k, shape_.k, 1});
    return {wide, shape_.k, 1};
  }

  void runPanel(const Rows &rows, void *const *buffers, int64_t panel) const {
    const int64_t first = panel * panelColumns,
                  columns = std::min(panelColumns, shape_.n - first);
    alignas(64) float sums[maxRows * panelColumns];
    multiply_(rows, weights_.get() + panel * panelBytes(), shape_.k, sums);
    const Block block{sums, shape_.m, columns, panelColumns, 1};
    if (!postOps_.empty())
      applyPostOps(buffers, block, first);
    matrixAt(buffers[command_.numSlices - 1], first).write(block);
  }

  void applyPostOps(void *const *buffers, const Block &block,
                    int64_t first) const {
    std::array<PostOpOperand, SINTER_MAX_POST_OPS> operands;
    float values[SINTER_MAX_POST_OPS][maxRows * panelColumns];
    for (size_t i = 0; i < postOps_.size(); ++i) {
      const sinter_post_op &op = postOps_[i];
      if (!readsOperand(op))
        continue;
      Matrix operand = matrixAt(buffers[op.slice], first);
      if (op.kind == SINTER_POST_BIAS) {
        operand.data = static_cast<uint8_t *>(buffers[op.slice]);
        if (!shape_.transposed)
          operand.data += first * elementBytes(params_.outDtype);
        operand.rowStride = shape_.transposed;
        operand.colStride = !shape_.transposed;
      }
      operand.read({values[i], block.rows, block.cols, panelColumns, 1});
      operands[i] = {values[i], panelColumns, 1};
    }
    cpu::applyPostOps(postOps_, block, operands.data());
  }

  /// The result, or an operand that is added to it, from column `first` on.
  Matrix matrixAt(void *buffer, int64_t first) const {
    return {static_cast<uint8_t *>(buffer) +
                first * shape_.c.col * elementBytes(params_.outDtype),
            params_.outDtype, shape_.c.row, shape_.c.col};
  }

  const sinter_command &command_;
  const sinter_matmul &params_;
  const MatmulShape shape_;
  const PanelFunction multiply_;
  const std::span<const sinter_post_op> postOps_;
  PackedBytes weights_;
  Scratch scratch_;
};

} // namespace

LibraryCallResult sinter::cpu::prepareRowProduct(OneDnnContext &context,
                                                 const sinter_command &command,
                                                 const uint8_t *constants) {
  const sinter_matmul &params = *command.matmul.params;
  const bool isFloat = params.dtype == SINTER_F32,
             isSameType = params.dtype == params.outDtype;
  if (!isFloat && params.dtype != SINTER_BF16)
    return std::unique_ptr<LibraryCall>();
  if (!isSameType && (isFloat || params.outDtype != SINTER_F32))
    return std::unique_ptr<LibraryCall>();
  const MatmulShape shape = MatmulShape::simplify(params);
  if (shape.empty() || shape.k == 0 || shape.batchRank > 0 || shape.m > maxRows)
    return std::unique_ptr<LibraryCall>();
  const float *b =
      constantAddress(command.slices[shape.transposed ? 0 : 1], constants);
  PanelFunction multiply = b ? panelFunction(params.dtype, shape.m) : nullptr;
  if (!multiply)
    return std::unique_ptr<LibraryCall>();
  auto call = std::make_unique<RowProductCall>(command, shape, multiply);
  if (params.dtype == SINTER_BF16)
    call->pack(context, reinterpret_cast<const Bfloat *>(b));
  else
    call->pack(context, b);
  return std::unique_ptr<LibraryCall>(std::move(call));
}
