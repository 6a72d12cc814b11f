//===- DepthwiseLine.cpp - a line of one filter for each channel ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A register has the pairs of 16 channels. Two of them hold 32 channels in the
// order in which vpunpcklwd and vpunpckhwd interleave two rows: channels 0-3,
// 8-11, 16-19, 24-27, and the others. These are cheap, while other shuffles and
// comparisons take turns with products.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/DepthwiseLine.h"
#include "backends/cpu/device/BfloatPanels.h"
#include "backends/cpu/device/BfloatRegisters.h"
#include "runtime/base/FloatFunctions.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cpu;
using rt::Bfloat;

namespace {

constexpr int64_t registerChannels = 16;

int64_t registersOf(int64_t channels) {
  return channels > registerChannels ? 2 : 1;
}

/// The channel in element `element` of register `index` of `registers`.
int64_t channelOf(int64_t registers, int64_t index, int64_t element) {
  return registers == 1 ? element : element / 4 * 8 + index * 4 + element % 4;
}

} // namespace

int64_t sinter::cpu::depthwiseLineChannels(int64_t size, int64_t points) {
  constexpr int64_t longLine = 16;
  const bool isShort = size < 5 || (size == 5 && points < longLine);
  return isShort ? 2 * registerChannels : registerChannels;
}

int64_t sinter::cpu::depthwiseLineBytes(int64_t size, int64_t channels) {
  return (size + 1) / 2 * size * registersOf(channels) * registerChannels * 4;
}

void sinter::cpu::packDepthwiseLine(const Bfloat *filter, int64_t size,
                                    int64_t channels, uint8_t *weights) {
  auto *to = reinterpret_cast<Bfloat *>(weights);
  const int64_t registers = registersOf(channels);
  for (int64_t row = 0; row < size; row += 2)
    for (int64_t column = 0; column < size; ++column)
      for (int64_t index = 0; index < registers; ++index)
        for (int64_t element = 0; element < registerChannels; ++element)
          for (int64_t y = row; y < row + 2; ++y) {
            const int64_t channel = channelOf(registers, index, element);
            *to++ = channel < channels && y < size
                        ? filter[(channel * size + y) * size + column]
                        : Bfloat();
          }
}

#if defined(__x86_64__)
namespace {

/// The pairs of up to 16 * registers channels of two rows.
template <int registers>
SINTER_BFLOAT_INLINE void interleave(__m512i even, __m512i odd,
                                     __m512i (&pairs)[registers]) {
  if constexpr (registers == 2) {
    pairs[0] = _mm512_unpacklo_epi16(even, odd);
    pairs[1] = _mm512_unpackhi_epi16(even, odd);
  } else {
    auto widen = [](__m512i row) SINTER_BFLOAT_CPU {
      return _mm512_cvtepu16_epi32(_mm512_castsi512_si256(row));
    };
    pairs[0] = _mm512_or_si512(widen(even), _mm512_slli_epi32(widen(odd), 16));
  }
}

/// Windows of size x size.
template <int size, int stride, int registers, bool fetchesNext>
class LineWalk {
public:
  SINTER_BFLOAT_CPU static void run(const DepthwiseLine &line) {
    LineWalk walk(line);
    walk.runColumns(line);
  }

private:
  static constexpr int pairs = (size + 1) / 2;
  /// The windows that a column belongs to.
  static constexpr int windows = (size + stride - 1) / stride;
  /// The columns after which sums have the same registers.
  static constexpr int turn = windows * stride;
  /// The windows that began before the first column of a turn.
  static constexpr int begun = (size - 1) / stride;

  /// The parts of a sum: the sums of 16 channels alone would be too few for the
  /// latency of a product.
  static constexpr int chains = registers == 1 ? 2 : 1;

  static constexpr int weightCount = pairs * size * registers;
  /// Those in registers; the rest is read from memory. `others` hold a column,
  /// the bias, masks and constants.
  static constexpr int others = registers == 1 ? 7 : 10;
  static constexpr int heldCount =
      std::min(weightCount, 32 - others - windows * chains * registers);

  struct Sum {
    __m512 chain[chains][registers];
  };

  SINTER_BFLOAT_INLINE explicit LineWalk(const DepthwiseLine &line)
      : mask_(static_cast<__mmask32>((uint64_t(1) << line.channels) - 1)),
        weights_(line.weights), columnStride_(line.columnStride),
        columns_(line.columns), points_(line.points), end_(line.end) {
    for (int i = 0; i < size; ++i)
      rows_[i] = line.rows[static_cast<size_t>(i)];
    for (int i = 0; i < heldCount; ++i)
      held_[i] = _mm512_load_si512(weights_ + 64 * i);
    // A bf16 becomes float32 by 16 bits of 0 below.
    const __m512i zero = _mm512_setzero_si512();
    __m512i bias[registers];
    interleave<registers>(zero, line.bias ? load(line.bias) : zero, bias);
    for (int i = 0; i < registers; ++i)
      bias_[i] = _mm512_castsi512_ps(bias[i]);
  }

  SINTER_BFLOAT_INLINE __m512i load(const Bfloat *from) const {
    if constexpr (registers == 2)
      return _mm512_maskz_loadu_epi16(mask_, from);
    else
      return _mm512_castsi256_si512(
          _mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask_), from));
  }

  SINTER_BFLOAT_INLINE __m512i weight(int index) const {
    return index < heldCount ? held_[index]
                             : _mm512_load_si512(weights_ + 64 * index);
  }

  /// Adds the products of a column and of rows 2 * pair and 2 * pair + 1.
  /// `column` counts from the first of the turn.
  template <int column, int pair>
  SINTER_BFLOAT_INLINE void addPair(int64_t offset) {
    __m512i x[registers];
    const __m512i even = load(rows_[2 * pair] + offset);
    if constexpr (2 * pair + 1 < size)
      interleave<registers>(even, load(rows_[2 * pair + 1] + offset), x);
    else
      interleave<registers>(even, _mm512_setzero_si512(), x);
    for (int place = column % stride; place < size; place += stride) {
      auto &sum = sums_[(column - place + turn * 2) / stride % windows]
                      .chain[pair % chains];
      for (int i = 0; i < registers; ++i)
        sum[i] = _mm512_dpbf16_ps(
            sum[i], (__m512bh)x[i],
            (__m512bh)weight((pair * size + place) * registers + i));
    }
    if constexpr (pair + 1 < pairs)
      addPair<column, pair + 1>(offset);
  }

  /// Fetches a column of the rows that the next line begins to read.
  SINTER_BFLOAT_INLINE void fetchNext(int64_t offset) const {
    for (int i = 0; i < stride; ++i) {
      offset += columns_ * columnStride_;
      __builtin_prefetch(rows_[size - 1] + offset);
    }
  }

  /// Columns `column` and on of a turn. `first` and `point` are the first
  /// column of the turn and the point whose window begins there. Columns
  /// outside the input are skipped, and points that are not of the line.
  template <int column, bool isInside>
  SINTER_BFLOAT_INLINE void addColumns(int64_t first, int64_t point,
                                       int64_t offset,
                                       const DepthwiseLine &line) {
    auto has = [](int64_t index, int64_t count) {
      return isInside ||
             static_cast<uint64_t>(index) < static_cast<uint64_t>(count);
    };
    if constexpr (column % stride == 0) {
      sums_[column / stride] = {};
      for (int i = 0; i < registers; ++i)
        sums_[column / stride].chain[0][i] = bias_[i];
    }
    if (has(first + column, columns_)) {
      if constexpr (fetchesNext)
        fetchNext(offset);
      addPair<column, 0>(offset);
    }
    constexpr int last = column - (size - 1) + turn; // of a window
    if constexpr (last % stride == 0) {
      constexpr int done = last / stride - windows;
      if (has(point + done, points_))
        finish(sums_[(done + windows) % windows], point + done, line);
    }
    if constexpr (column + 1 < turn)
      addColumns<column + 1, isInside>(first, point, offset + columnStride_,
                                       line);
  }

  SINTER_BFLOAT_INLINE void runColumns(const DepthwiseLine &line) {
    const int64_t end = (points_ - 1) * stride + size;
    int64_t first = line.firstColumn, offset = first * columnStride_;
    for (int64_t column = 0, point = 0; column < end;
         column += turn, point += windows) {
      if (first >= 0 && first + turn <= columns_ && point >= begun &&
          point + windows - begun <= points_)
        addColumns<0, true>(first, point, offset, line);
      else
        addColumns<0, false>(first, point, offset, line);
      first += turn;
      offset += turn * columnStride_;
    }
  }

  /// Stores a point.
  SINTER_BFLOAT_INLINE void finish(const Sum &parts, int64_t point,
                                   const DepthwiseLine &line) const {
    __m512 sum[registers];
    for (int i = 0; i < registers; ++i) {
      sum[i] = parts.chain[0][i];
      if constexpr (chains == 2)
        sum[i] = _mm512_add_ps(sum[i], parts.chain[1][i]);
      if (end_ == LineEnd::Relu)
        sum[i] = relu(sum[i]);
      else if (end_ == LineEnd::HardSwish)
        sum[i] = applied<rt::hardSwish>(sum[i]);
    }
    if (end_ == LineEnd::Sums)
      return storeSums(sum, line.sums + point * panelColumns);
    __m512i row;
    if constexpr (registers == 2)
      row = _mm512_permutexvar_epi64(
          _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7),
          (__m512i)_mm512_cvtne2ps_pbh(sum[1], sum[0]));
    else
      row = _mm512_castsi256_si512((__m256i)_mm512_cvtneps_pbh(sum[0]));
    storeLine(line.result + point * columnStride_, mask_, row);
  }

  SINTER_BFLOAT_INLINE static void storeSums(const __m512 (&sum)[registers],
                                             float *to) {
    if constexpr (registers == 1)
      return _mm512_store_ps(to, sum[0]);
    const __m512d low = _mm512_castps_pd(sum[0]),
                  high = _mm512_castps_pd(sum[registers - 1]);
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    _mm512_store_pd(to, _mm512_permutex2var_pd(low, first, high));
    _mm512_store_pd(to + 16, _mm512_permutex2var_pd(low, second, high));
  }

  const __mmask32 mask_;
  const uint8_t *const weights_;
  const int64_t columnStride_, columns_, points_;
  const LineEnd end_;
  const Bfloat *rows_[size];
  __m512i held_[heldCount];
  __m512 bias_[registers];
  Sum sums_[windows] = {};
};

template <int size, int stride, bool fetchesNext>
RunDepthwiseLine lineOf(int64_t channels) {
  if constexpr (size <= 5)
    if (registersOf(channels) == 2)
      return LineWalk<size, stride, 2, fetchesNext>::run;
  return LineWalk<size, stride, 1, fetchesNext>::run;
}

template <int size, bool fetchesNext>
RunDepthwiseLine lineOf(int64_t stride, int64_t channels) {
  return stride == 1   ? lineOf<size, 1, fetchesNext>(channels)
         : stride == 2 ? lineOf<size, 2, fetchesNext>(channels)
                       : nullptr;
}

template <bool fetchesNext>
RunDepthwiseLine lineOf(int64_t size, int64_t stride, int64_t channels) {
  return size == 3   ? lineOf<3, fetchesNext>(stride, channels)
         : size == 5 ? lineOf<5, fetchesNext>(stride, channels)
         : size == 7 ? lineOf<7, fetchesNext>(stride, channels)
                     : nullptr;
}

} // namespace

RunDepthwiseLine sinter::cpu::depthwiseLine(int64_t size, int64_t stride,
                                            int64_t channels,
                                            bool fetchesNext) {
  return fetchesNext ? lineOf<true>(size, stride, channels)
                     : lineOf<false>(size, stride, channels);
}
#else
RunDepthwiseLine sinter::cpu::depthwiseLine(int64_t, int64_t, int64_t, bool) {
  return nullptr;
}
#endif
