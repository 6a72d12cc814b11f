//===- FloatPanels.cpp - tiles of products of fp32 ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/FloatPanels.h"

#include "backends/cpu/device/Lanes8.h"
#include "backends/cpu/device/OneDnnShim.h"
#include "backends/cpu/device/PostOps.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;

FloatUnit sinter::cpu::floatUnit() {
  static const FloatUnit unit = [] {
    return shim::mayUse(dnnl::cpu_isa::avx512_core) ? FloatUnit::Fma16
           : shim::mayUse(dnnl::cpu_isa::avx2)      ? FloatUnit::Fma8
                                                    : FloatUnit::None;
  }();
  return unit;
}

bool sinter::cpu::isTilePostOp(uint32_t kind) {
  return kind == SINTER_POST_BIAS || kind == SINTER_POST_ADD ||
         kind == SINTER_POST_RELU || kind == SINTER_POST_CLIP ||
         kind == SINTER_POST_SCALE || kind == SINTER_POST_HARD_SWISH ||
         isLongFunction(kind);
}

const char *sinter::cpu::nameOf(FloatUnit unit) {
  return unit == FloatUnit::Fma16  ? "AVX-512"
         : unit == FloatUnit::Fma8 ? "AVX2"
                                   : "none";
}

/// Rows of tiles of AVX2, and of tiles of one to four lines of AVX-512.
static constexpr int rows8 = mostInterleavedRows, rows16[] = {28, 14, 9, 6};

int64_t sinter::cpu::tileColumns(FloatUnit unit) {
  return unit == FloatUnit::Fma8 ? lineColumns : maxPanelColumns;
}

/// The k that a tile of AVX-512 multiplies between two steps of a fetch.
static constexpr int64_t fetchDepth = 8;

int64_t sinter::cpu::fetchSteps(FloatUnit unit, int64_t depth) {
  return unit == FloatUnit::Fma8 ? 1 : (depth + fetchDepth - 1) / fetchDepth;
}

int64_t sinter::cpu::tileRows(FloatUnit unit, int64_t columns) {
  return unit == FloatUnit::Fma8 ? rows8 : rows16[(columns - 1) / lineColumns];
}

#if defined(__x86_64__)
namespace {

/// Addresses of `count` rows: one register for each three of them, so that
/// stepping to the next k is not a chain of additions.
template <int count> class RowPointers {
public:
  RowPointers(const float *first, int64_t stride) : stride_(stride) {
    for (int i = 0; i < groups; ++i)
      group_[i] = first + 3 * i * stride;
  }
  float operator[](int row) const { return group_[row / 3][row % 3 * stride_]; }
  void step() {
    for (int i = 0; i < groups; ++i)
      ++group_[i];
  }

private:
  static constexpr int groups = (count + 2) / 3;
  const float *group_[groups];
  int64_t stride_;
};

/// The result is written after the sums: it is fetched meanwhile, as are
/// operands of its shape.
template <int lines> inline void fetchResult(const FloatTile &tile, int rows) {
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < lines; ++i)
      __builtin_prefetch(tile.result + row * tile.resultStride +
                             lineColumns * i,
                         /*rw=*/1, /*locality=*/3);
  for (size_t op = 0; op < tile.numPostOps; ++op)
    if (const TilePostOp &step = tile.postOps[op];
        step.op.kind == SINTER_POST_ADD)
      for (int row = 0; row < rows; ++row)
        for (int i = 0; i < lines; ++i)
          __builtin_prefetch(step.operand + row * step.rowStride +
                                 lineColumns * i,
                             /*rw=*/0, /*locality=*/3);
}

/// Applies a post-op as PostOps.cpp does. `mask` has a bit for each column.
template <int lines, int rows>
__attribute__((target("avx512f"))) inline void
applyPostOp(const TilePostOp &step, uint64_t mask, __m512 (&sum)[rows][lines]) {
  const __m512 zero = _mm512_setzero_ps(), one = _mm512_set1_ps(1);
  const __m512 alpha = _mm512_set1_ps(step.op.alpha),
               beta = _mm512_set1_ps(step.op.beta);
  auto forEach = [&](auto function) __attribute__((target("avx512f"))) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int i = 0; i < lines; ++i)
        sum[row][i] = function(sum[row][i], row, i);
  };
  switch (step.op.kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
    if (step.colStride == 0)
      return forEach(
          [&](__m512 x, int row, int) __attribute__((target("avx512f"))) {
            return _mm512_add_ps(
                x, _mm512_set1_ps(step.operand[row * step.rowStride]));
          });
    return forEach([&](__m512 x, int row,
                       int i) __attribute__((target("avx512f"))) {
      const auto part = static_cast<__mmask16>(mask >> lineColumns * i);
      return _mm512_add_ps(
          x, _mm512_maskz_loadu_ps(part, step.operand + row * step.rowStride +
                                             lineColumns * i));
    });
  case SINTER_POST_RELU: // NaN stays NaN
    return forEach([&](__m512 x, int, int) __attribute__((target("avx512f"))) {
      return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, zero, _CMP_LE_OQ),
                                zero);
    });
  case SINTER_POST_CLIP:
    return forEach([&](__m512 x, int, int) __attribute__((target("avx512f"))) {
      x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, alpha, _CMP_LE_OQ),
                             alpha);
      return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, beta, _CMP_GT_OQ),
                                beta);
    });
  case SINTER_POST_SCALE:
    return forEach([&](__m512 x, int, int) __attribute__((target("avx512f"))) {
      return _mm512_mul_ps(x, alpha);
    });
  case SINTER_POST_HARD_SWISH:
    return forEach([&](__m512 x, int, int) __attribute__((target("avx512f"))) {
      const __m512 gate =
          _mm512_fmadd_ps(x, _mm512_set1_ps(1.0F / 6.0F), _mm512_set1_ps(0.5F));
      const __m512 high = _mm512_mask_mov_ps(
          gate, _mm512_cmp_ps_mask(gate, zero, _CMP_LT_OQ), zero);
      return _mm512_mul_ps(
          x, _mm512_mask_mov_ps(high, _mm512_cmp_ps_mask(high, one, _CMP_GT_OQ),
                                one));
    });
  default:
    break;
  }
  // In memory, one function serves all shapes of tiles.
  alignas(64) float elements[rows * lines * lineColumns];
  forEach([&](__m512 x, int row, int i) __attribute__((target("avx512f"))) {
    _mm512_store_ps(elements + (row * lines + i) * lineColumns, x);
    return x;
  });
  applyLongFunction(step.op.kind, elements, rows * lines * lineColumns);
  forEach([&](__m512, int row, int i) __attribute__((target("avx512f"))) {
    return _mm512_load_ps(elements + (row * lines + i) * lineColumns);
  });
}

/// Tiles of at most `lines` lines.
template <int lines, int rows>
__attribute__((target("avx512f"))) void multiply16(const FloatTile &tile,
                                                   PanelFetch &shared) {
  fetchResult<lines>(tile, rows);
  __m512 sum[rows][lines];
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int i = 0; i < lines; ++i)
      sum[row][i] = _mm512_setzero_ps();
  RowPointers<rows> a(tile.a, tile.aStride);
  const float *b = tile.panel;
  const int64_t bStride = tile.panelStride, depth = tile.depth;
  PanelFetch fetch = shared; // in registers
  for (int64_t k = 0; k < depth;) {
    fetch.step();
    const int64_t end = std::min(k + fetchDepth, depth);
    for (; k < end; ++k, b += bStride, a.step()) {
      __m512 line[lines];
#pragma unroll
      for (int i = 0; i < lines; ++i)
        line[i] = _mm512_loadu_ps(b + lineColumns * i);
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        const __m512 x = _mm512_set1_ps(a[row]);
#pragma unroll
        for (int i = 0; i < lines; ++i)
          sum[row][i] = _mm512_fmadd_ps(x, line[i], sum[row][i]);
      }
    }
  }
  shared = fetch;
  const uint64_t mask = ~uint64_t(0) >> (64 - tile.columns);
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int i = 0; i < lines; ++i) {
      const float *from =
          tile.result + row * tile.resultStride + lineColumns * i;
      const auto part = static_cast<__mmask16>(mask >> lineColumns * i);
      if (tile.adds)
        sum[row][i] =
            _mm512_add_ps(_mm512_maskz_loadu_ps(part, from), sum[row][i]);
    }
  for (size_t i = 0; i < tile.numPostOps; ++i)
    applyPostOp<lines, rows>(tile.postOps[i], mask, sum);
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int i = 0; i < lines; ++i)
      _mm512_mask_storeu_ps(
          tile.result + row * tile.resultStride + lineColumns * i,
          static_cast<__mmask16>(mask >> lineColumns * i), sum[row][i]);
}

/// The 16 columns of a tile of AVX2, or fewer. Masked loads and stores are
/// slow: a store takes tens of cycles on some CPUs.
struct Columns8 {
  bool isWhole;
  __m256i part[2]; // the highest bit is set in each column that the tile has

  __attribute__((target("avx2"))) explicit Columns8(int64_t columns)
      : isWhole(columns == lineColumns),
        part{firstLanes(columns), firstLanes(columns - 8)} {}
  __attribute__((target("avx2"), always_inline)) __m256 load(const float *row,
                                                             int half) const {
    return isWhole ? _mm256_loadu_ps(row + 8 * half)
                   : _mm256_maskload_ps(row + 8 * half, part[half]);
  }
  __attribute__((target("avx2"), always_inline)) void
  store(float *row, int half, __m256 x) const {
    if (isWhole)
      _mm256_storeu_ps(row + 8 * half, x);
    else
      _mm256_maskstore_ps(row + 8 * half, part[half], x);
  }
};

/// Applies a post-op to a tile of AVX2.
template <int rows, int halves>
__attribute__((target("avx2,fma"), always_inline)) inline void
applyPostOp(const TilePostOp &step, const Columns8 &columns,
            __m256 (&sum)[rows][halves]) {
  const __m256 zero = _mm256_setzero_ps(), one = _mm256_set1_ps(1);
  const __m256 alpha = _mm256_set1_ps(step.op.alpha),
               beta = _mm256_set1_ps(step.op.beta);
  auto forEach = [&](auto function)
                     __attribute__((target("avx2,fma"), always_inline)) {
#pragma unroll
                       for (int row = 0; row < rows; ++row)
#pragma unroll
                         for (int half = 0; half < halves; ++half)
                           sum[row][half] = function(sum[row][half], row, half);
                     };
  // x, or `other` where `isOther`.
  auto select = [](__m256 x, __m256 other, __m256 isOther)
                    __attribute__((target("avx2,fma"), always_inline)) {
                      return _mm256_blendv_ps(x, other, isOther);
                    };
  switch (step.op.kind) {
  case SINTER_POST_BIAS:
  case SINTER_POST_ADD:
    if (step.colStride == 0)
      return forEach([&](__m256 x, int row, int) __attribute__((
                         target("avx2,fma"), always_inline)) {
        return _mm256_add_ps(
            x, _mm256_set1_ps(step.operand[row * step.rowStride]));
      });
    return forEach([&](__m256 x, int row, int half) __attribute__((
                       target("avx2,fma"), always_inline)) {
      return _mm256_add_ps(
          x, columns.load(step.operand + row * step.rowStride, half));
    });
  case SINTER_POST_RELU: // NaN stays NaN
    return forEach([&](__m256 x, int,
                       int) __attribute__((target("avx2,fma"), always_inline)) {
      return _mm256_andnot_ps(_mm256_cmp_ps(x, zero, _CMP_LE_OQ), x);
    });
  case SINTER_POST_CLIP:
    return forEach([&](__m256 x, int,
                       int) __attribute__((target("avx2,fma"), always_inline)) {
      x = select(x, alpha, _mm256_cmp_ps(x, alpha, _CMP_LE_OQ));
      return select(x, beta, _mm256_cmp_ps(x, beta, _CMP_GT_OQ));
    });
  case SINTER_POST_SCALE:
    return forEach([&](__m256 x, int, int)
                       __attribute__((target("avx2,fma"), always_inline)) {
                         return _mm256_mul_ps(x, alpha);
                       });
  case SINTER_POST_HARD_SWISH:
    return forEach([&](__m256 x, int,
                       int) __attribute__((target("avx2,fma"), always_inline)) {
      const __m256 gate =
          _mm256_fmadd_ps(x, _mm256_set1_ps(1.0F / 6.0F), _mm256_set1_ps(0.5F));
      const __m256 high =
          select(gate, zero, _mm256_cmp_ps(gate, zero, _CMP_LT_OQ));
      return _mm256_mul_ps(
          x, select(high, one, _mm256_cmp_ps(high, one, _CMP_GT_OQ)));
    });
  default:
    break;
  }
  alignas(32) float elements[rows * halves * 8];
  forEach([&](__m256 x, int row, int half)
              __attribute__((target("avx2,fma"), always_inline)) {
                _mm256_store_ps(elements + (row * halves + half) * 8, x);
                return x;
              });
  applyLongFunction(step.op.kind, elements, rows * halves * 8);
  forEach([&](__m256, int row, int half)
              __attribute__((target("avx2,fma"), always_inline)) {
                return _mm256_load_ps(elements + (row * halves + half) * 8);
              });
}

/// The columns of A in order, all rows of each; `stride` is between columns.
template <int stride> class RowColumns {
public:
  explicit RowColumns(const float *first) : column_(first) {}
  float operator[](int row) const { return column_[row]; }
  void step() { column_ += stride; }

private:
  const float *column_;
};

/// Adds `depth` columns of A times lines of the panel, of which `b` is the next
/// one. `bStride`: between lines, a constant if possible. The loop is unrolled
/// `unrolled` times.
template <int unrolled, int rows, int halves, class Rows, class Stride>
__attribute__((target("avx2,fma"), always_inline)) inline void
addProducts(Rows a, const float *&b, Stride bStride, int64_t depth,
            __m256 (&sum)[rows][halves]) {
#pragma unroll unrolled
  for (int64_t k = 0; k < depth; ++k, b += bStride, a.step()) {
    __m256 line[halves];
#pragma unroll
    for (int half = 0; half < halves; ++half)
      line[half] = _mm256_loadu_ps(b + 8 * half);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      const __m256 x = _mm256_set1_ps(a[row]);
#pragma unroll
      for (int half = 0; half < halves; ++half)
        sum[row][half] = _mm256_fmadd_ps(x, line[half], sum[row][half]);
    }
  }
}

/// Tiles of `halves` halves of a line. `add` adds all products to the sums.
template <int rows, int halves, class Add>
__attribute__((target("avx2,fma"), always_inline)) inline void
multiply8(const FloatTile &tile, PanelFetch &fetch, Add add) {
  fetchResult<1>(tile, rows);
  __m256 sum[rows][halves];
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int half = 0; half < halves; ++half)
      sum[row][half] = _mm256_setzero_ps();
  fetch.step();
  add(tile.panel, sum);
  const Columns8 columns(tile.columns);
  float *const result = tile.result;
  const int64_t resultStride = tile.resultStride;
  if (tile.adds)
#pragma unroll
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int half = 0; half < halves; ++half)
        sum[row][half] = _mm256_add_ps(
            columns.load(result + row * resultStride, half), sum[row][half]);
  for (size_t i = 0; i < tile.numPostOps; ++i)
    applyPostOp<rows, halves>(tile.postOps[i], columns, sum);
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int half = 0; half < halves; ++half)
      columns.store(result + row * resultStride, half, sum[row][half]);
}

template <int rows, int halves>
__attribute__((target("avx2,fma"))) void multiplyRows8(const FloatTile &tile,
                                                       PanelFetch &fetch) {
  // Where another thread shares the core, it decodes half as many instructions:
  // fewer of them for each multiply-add. Any more repetitions spill registers.
  constexpr int unrolled = 4;
  constexpr std::integral_constant<int64_t, lineColumns> line;
  using Sums = __m256[rows][halves];
  if (!tile.gathered.empty())
    multiply8<rows, halves>(
        tile, fetch,
        [&](const float *b, Sums &sum)
            __attribute__((target("avx2,fma"), always_inline)) {
              for (const GatheredColumns &columns : tile.gathered)
                addProducts<unrolled>(
                    RowColumns<gatheredStride>(tile.a + columns.first), b, line,
                    columns.count, sum);
            });
  else if (!tile.isInterleaved)
    multiply8<rows, halves>(
        tile, fetch,
        [&](const float *b, Sums &sum)
            __attribute__((target("avx2,fma"), always_inline)) {
              addProducts<1>(RowPointers<rows>(tile.a, tile.aStride), b,
                             tile.panelStride, tile.depth, sum);
            });
  else if (tile.panelStride != lineColumns)
    multiply8<rows, halves>(tile, fetch,
                            [&](const float *b, Sums &sum) __attribute__((
                                target("avx2,fma"), always_inline)) {
                              addProducts<1>(RowColumns<rows>(tile.a), b,
                                             tile.panelStride, tile.depth, sum);
                            });
  else
    multiply8<rows, halves>(tile, fetch,
                            [&](const float *b, Sums &sum) __attribute__((
                                target("avx2,fma"), always_inline)) {
                              addProducts<unrolled>(RowColumns<rows>(tile.a), b,
                                                    line, tile.depth, sum);
                            });
}

using TileFunction = void (*)(const FloatTile &tile, PanelFetch &fetch);

/// Functions of tiles of `lines` lines, by the number of rows less 1.
template <int lines, int... row>
constexpr std::array<TileFunction, sizeof...(row)>
tiles16(std::integer_sequence<int, row...>) {
  return {multiply16<lines, row + 1>...};
}
template <int halves, int... row>
constexpr std::array<TileFunction, sizeof...(row)>
tiles8(std::integer_sequence<int, row...>) {
  return {multiplyRows8<row + 1, halves>...};
}

/// Columns `k` to `k` + 3 of rows8 rows.
inline void interleaveFour(const float *const *rows, int64_t k, float *to) {
  __m128 x[rows8];
  for (int row = 0; row < rows8; ++row)
    x[row] = _mm_loadu_ps(rows[row] + k);
  _MM_TRANSPOSE4_PS(x[0], x[1], x[2], x[3]);
  const __m128 low = _mm_unpacklo_ps(x[4], x[5]),
               high = _mm_unpackhi_ps(x[4], x[5]);
  for (int i = 0; i < 4; ++i) {
    const __m128 pairs = i < 2 ? low : high;
    _mm_storeu_ps(to + rows8 * i, x[i]);
    auto *rest = reinterpret_cast<__m64 *>(to + rows8 * i + 4);
    if (i % 2 == 0)
      _mm_storel_pi(rest, pairs);
    else
      _mm_storeh_pi(rest, pairs);
  }
}

/// Columns `k` to `k` + 7 of 8 rows.
__attribute__((target("avx2"))) inline void
gatherEight(const float *const *rows, int64_t k, float *to) {
  static_assert(gatheredStride == 8);
  __m256 r[8], t[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(rows[i] + k);
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  // r[4 q + p] has columns p and p + 4 of rows 4 q to 4 q + 3.
#pragma unroll
  for (int i = 0; i < 8; i += 4)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0x44);
      r[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0xee);
    }
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    _mm256_storeu_ps(to + 8 * p, _mm256_permute2f128_ps(r[p], r[4 + p], 0x20));
    _mm256_storeu_ps(to + 8 * (p + 4),
                     _mm256_permute2f128_ps(r[p], r[4 + p], 0x31));
  }
}

/// interleaveRows() of contiguous rows.
void interleaveLines(const float *const *rows, int64_t count, int64_t depth,
                     float *to) {
  int64_t k = 0;
  if (count == rows8)
    for (; k + 4 <= depth; k += 4)
      interleaveFour(rows, k, to + k * rows8);
  for (; k < depth; ++k)
    for (int64_t row = 0; row < count; ++row)
      to[k * count + row] = rows[row][k];
}

} // namespace

void sinter::cpu::gatherRows(const float *const *rows, int64_t depth,
                             float *to) {
  int64_t k = 0;
  for (; k + 8 <= depth; k += 8)
    gatherEight(rows, k, to + k * gatheredStride);
  for (; k < depth; ++k)
    for (int64_t row = 0; row < gatheredStride; ++row)
      to[k * gatheredStride + row] = rows[row][k];
}

void sinter::cpu::interleaveRows(const float *a, int64_t rowStride,
                                 int64_t colStride, int64_t count,
                                 int64_t depth, float *to) {
  if (colStride == 1) {
    std::array<const float *, rows8> rows;
    for (int64_t row = 0; row < count; ++row)
      rows[static_cast<size_t>(row)] = a + row * rowStride;
    return interleaveLines(rows.data(), count, depth, to);
  }
  if (count == rows8 && rowStride == 1) {
    for (int64_t k = 0; k < depth; ++k)
      std::memcpy(to + k * rows8, a + k * colStride, 4 * rows8);
    return;
  }
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t row = 0; row < count; ++row)
      to[k * count + row] = a[row * rowStride + k * colStride];
}

void sinter::cpu::multiplyTile(FloatUnit unit, const FloatTile &tile,
                               PanelFetch &fetch) {
  static constexpr auto half =
      tiles8<1>(std::make_integer_sequence<int, rows8>());
  static constexpr auto whole =
      tiles8<2>(std::make_integer_sequence<int, rows8>());
  static constexpr auto one =
      tiles16<1>(std::make_integer_sequence<int, rows16[0]>());
  static constexpr auto two =
      tiles16<2>(std::make_integer_sequence<int, rows16[1]>());
  static constexpr auto three =
      tiles16<3>(std::make_integer_sequence<int, rows16[2]>());
  static constexpr auto four =
      tiles16<4>(std::make_integer_sequence<int, rows16[3]>());
  const auto index = static_cast<size_t>(tile.rows - 1);
  if (unit == FloatUnit::Fma8)
    return 2 * tile.columns <= lineColumns ? half[index](tile, fetch)
                                           : whole[index](tile, fetch);
  tile.columns <= lineColumns       ? one[index](tile, fetch)
  : tile.columns <= 2 * lineColumns ? two[index](tile, fetch)
  : tile.columns <= 3 * lineColumns ? three[index](tile, fetch)
                                    : four[index](tile, fetch);
}
#else
void sinter::cpu::gatherRows(const float *const *, int64_t, float *) {}
void sinter::cpu::interleaveRows(const float *, int64_t, int64_t, int64_t,
                                 int64_t, float *) {}
void sinter::cpu::multiplyTile(FloatUnit, const FloatTile &, PanelFetch &) {}
#endif
