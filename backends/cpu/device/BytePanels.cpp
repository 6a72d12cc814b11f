//===- BytePanels.cpp - blocks of products of 8-bit integers --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/BytePanels.h"
#include "backends/cpu/device/ByteCorrections.h"
#include "backends/cpu/device/OneDnnShim.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/CpuRates.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace sinter;
using namespace sinter::cpu;
using namespace sinter::cpu::bytetiles;

namespace {

/// Of each unit: the most rows whose sums fit the registers, and the fewest
/// that almost reach its speed.
constexpr UnitRows rows512{8, 5}, rows256{5, 4}, rowsOfPairs{4, 3},
    rowsOfSums16{4, 3};

/// Adds `by` times the sums of the columns of a panel with the parts of `rows`.
void addColumnSums(const ByteBlock &rows, uint32_t by, const uint8_t *panel,
                   uint32_t *sums) {
  const int64_t depth = static_cast<int64_t>(rows.parts.size()) * rows.depth;
  const auto *columns =
      reinterpret_cast<const uint32_t *>(panel + panelColumns * depth);
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t j = 0; j < panelColumns; ++j)
      sums[row * panelColumns + j] += by * columns[j];
}

} // namespace

const char *sinter::cpu::nameOf(ByteUnit unit) {
  switch (unit) {
  case ByteUnit::Loops:
    return "loops";
  case ByteUnit::Pairs:
    return "AVX2";
  case ByteUnit::Sums16:
    return "AVX2 in 16 bits";
  case ByteUnit::Dot256:
    return "AVX-VNNI";
  case ByteUnit::Dot512:
    return "AVX512-VNNI";
  case ByteUnit::Tiles:
    return "AMX";
  }
  return "";
}

bool sinter::cpu::hasByteUnit(ByteUnit unit) {
  switch (unit) {
  case ByteUnit::Loops:
    return true;
  case ByteUnit::Pairs:
  case ByteUnit::Sums16:
    return rt::checkCpuFeatures("+avx2").ok();
  case ByteUnit::Dot256:
    return rt::checkCpuFeatures("+avx2,+avxvnni").ok();
  case ByteUnit::Dot512:
    return rt::checkCpuFeatures("+avx512f,+avx512vnni").ok();
  case ByteUnit::Tiles:
    return rt::checkCpuFeatures("+amx-tile,+amx-int8").ok() &&
           rt::requestTileRegisters();
  }
  return false;
}

/// Whether oneDNN may use the instructions of the unit, which users can forbid.
static bool mayUse(ByteUnit unit) {
  switch (unit) {
  case ByteUnit::Loops:
    return true;
  case ByteUnit::Pairs:
  case ByteUnit::Sums16:
    return shim::mayUse(dnnl::cpu_isa::avx2);
  case ByteUnit::Dot256:
    return shim::mayUse(dnnl::cpu_isa::avx2_vnni);
  case ByteUnit::Dot512:
    return shim::mayUse(dnnl::cpu_isa::avx512_core_vnni);
  case ByteUnit::Tiles:
    return shim::mayUse(dnnl::cpu_isa::avx512_core_amx);
  }
  return false;
}

ByteUnit sinter::cpu::byteUnit() {
  static const ByteUnit unit = [] {
    auto isUsable = [](ByteUnit unit) {
      return mayUse(unit) && hasByteUnit(unit);
    };
    if (isUsable(ByteUnit::Tiles)) {
      const rt::CpuRates &rates = rt::hostCpuRates();
      if (rates.timesFp32(rt::CpuRate::Int8Tiles) >=
          rates.timesFp32(rt::CpuRate::Int8))
        return ByteUnit::Tiles;
    }
    for (ByteUnit other : {ByteUnit::Dot512, ByteUnit::Dot256, ByteUnit::Pairs})
      if (isUsable(other))
        return other;
    return ByteUnit::Loops;
  }();
  return unit;
}

UnitRows sinter::cpu::unitRows(ByteUnit unit) {
  switch (unit) {
  case ByteUnit::Loops:
    return {1, 1};
  case ByteUnit::Pairs:
    return rowsOfPairs;
  case ByteUnit::Sums16:
    return rowsOfSums16;
  case ByteUnit::Dot256:
    return rows256;
  case ByteUnit::Dot512:
    return rows512;
  case ByteUnit::Tiles:
    return {blockRows, tileRows};
  }
  return {1, 1};
}

static void multiplyByLoops(const ByteBlock &rows, ByteSigns signs,
                            const uint8_t *panel, uint32_t *sums) {
  std::fill(sums, sums + rows.count * panelColumns, 0u);
  for (int64_t i = 0; i < rows.count; ++i) {
    uint32_t *line = sums + i * panelColumns;
    for (const PanelPart &part : rows.parts)
      for (int64_t k = 0; k < rows.depth; ++k) {
        const uint32_t factor = widen(rows.row(i)[part.inRow + k], signs.a);
        for (int64_t half = 0; half < 2; ++half) {
          const uint8_t *b =
              panel + part.inPanel + lineOffset(k, half) + k % group;
          for (int64_t j = 0; j < tileColumns; ++j)
            line[half * tileColumns + j] +=
                factor * widen(b[j * group], signs.b);
        }
      }
  }
}

#if defined(__x86_64__)
namespace {

//===----------------------------------------------------------------------===//
// AMX
//===----------------------------------------------------------------------===//

/// The tiles are those of TileRegisters.
#define SINTER_BYTE_DOT(sum, a, b)                                             \
  do {                                                                         \
    if constexpr (aSigned && bSigned)                                          \
      _tile_dpbssd(sum, a, b);                                                 \
    else if constexpr (aSigned)                                                \
      _tile_dpbsud(sum, a, b);                                                 \
    else if constexpr (bSigned)                                                \
      _tile_dpbusd(sum, a, b);                                                 \
    else                                                                       \
      _tile_dpbuud(sum, a, b);                                                 \
  } while (false)

template <bool aSigned, bool bSigned, bool hasUpper>
__attribute__((target("amx-tile,amx-int8"))) void
multiplyTiles(const ByteBlock &rows, const uint8_t *panels, uint32_t *sums,
              PanelFetch &shared) {
  PanelFetch fetch = shared; // in registers
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (hasUpper) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (const PanelPart &part : rows.parts) {
    const uint8_t *lower = rows.data + part.inRow,
                  *upper = lower + tileRows * rows.rowStride,
                  *panel = panels + part.inPanel;
    for (int64_t k = 0; k < rows.depth; k += byteStep, panel += stepBytes) {
      _tile_loadd(4, lower + k, rows.rowStride);
      _tile_loadd(6, panel, lineBytes);
      _tile_loadd(7, panel + tileBytes, lineBytes);
      SINTER_BYTE_DOT(0, 4, 6);
      SINTER_BYTE_DOT(1, 4, 7);
      if constexpr (hasUpper) {
        _tile_loadd(5, upper + k, rows.rowStride);
        SINTER_BYTE_DOT(2, 5, 6);
        SINTER_BYTE_DOT(3, 5, 7);
      }
      fetch.step();
    }
  }
  shared = fetch;
  constexpr int64_t sumStride = 4 * panelColumns;
  _tile_stored(0, sums, sumStride);
  _tile_stored(1, sums + tileColumns, sumStride);
  if constexpr (hasUpper) {
    _tile_stored(2, sums + tileRows * panelColumns, sumStride);
    _tile_stored(3, sums + tileRows * panelColumns + tileColumns, sumStride);
  }
}

template <bool aSigned, bool bSigned>
void multiplyByTiles(const ByteBlock &rows, const uint8_t *panel,
                     uint32_t *sums, PanelFetch &fetch) {
  if (rows.count > tileRows)
    multiplyTiles<aSigned, bSigned, true>(rows, panel, sums, fetch);
  else
    multiplyTiles<aSigned, bSigned, false>(rows, panel, sums, fetch);
}

//===----------------------------------------------------------------------===//
// vpmaddwd: bytes are widened to 16 bits, and pairs of products are summed
//===----------------------------------------------------------------------===//

/// Elements of the sum of a block and a panel, widened once for all of their
/// products: in the inner loop, it would take as long as these. Padding is left
/// out.
struct WideSteps {
  /// With more, they would not stay in the cache of level 1.
  static constexpr int64_t most = 2 * byteStep;

  alignas(64) int16_t rows[blockRows][most];
  /// By tile and group: four elements of each column.
  alignas(64) int16_t panel[2][most / group][tileColumns * group];
  int64_t elements = 0;
};

/// A multiple of wideLanes bytes.
constexpr int64_t wideLanes = 16;
template <bool isSigned>
__attribute__((target("avx2"))) inline void
widenBytes(const uint8_t *from, int64_t count, int16_t *to) {
  for (int64_t i = 0; i < count; i += wideLanes) {
    const __m128i bytes =
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i));
    _mm256_store_si256(reinterpret_cast<__m256i *>(to + i),
                       isSigned ? _mm256_cvtepi8_epi16(bytes)
                                : _mm256_cvtepu8_epi16(bytes));
  }
}

/// Multiplies `count` rows from row `first` on by both tiles, by 8 columns at a
/// time. Adds to `sums` if `adds`.
template <int count>
__attribute__((target("avx2"))) void
multiplyPairs(const WideSteps &wide, int64_t first, bool adds, uint32_t *sums) {
  constexpr int quarters = 2; // of a line of a tile, each with four columns
  constexpr int64_t columns = quarters * 4;
  const int64_t groups = wide.elements / group;
  for (int64_t column = 0; column < panelColumns; column += columns) {
    const auto *line = reinterpret_cast<const __m256i *>(
        wide.panel[column / tileColumns][0] + column % tileColumns * group);
    const int16_t *rows = wide.rows[first];
    // Each column has two sums, of the even and the odd pairs.
    __m256i sum[count][quarters];
    for (int row = 0; row < count; ++row)
      for (int i = 0; i < quarters; ++i)
        sum[row][i] = _mm256_setzero_si256();
    for (int64_t at = 0; at < groups; ++at) {
      __m256i b[quarters];
      for (int i = 0; i < quarters; ++i)
        b[i] = _mm256_load_si256(line + i);
      for (int row = 0; row < count; ++row) {
        int64_t four;
        std::memcpy(&four, rows + row * WideSteps::most, sizeof(four));
        const __m256i x = _mm256_set1_epi64x(four);
        for (int i = 0; i < quarters; ++i)
          sum[row][i] =
              _mm256_add_epi32(sum[row][i], _mm256_madd_epi16(x, b[i]));
      }
      rows += group;
      line += tileColumns * group * sizeof(int16_t) / sizeof(__m256i);
    }
    constexpr int middleSwapped = 0xd8;
    for (int row = 0; row < count; ++row) {
      auto *to = reinterpret_cast<__m256i *>(
          sums + (first + row) * panelColumns + column);
      __m256i both = _mm256_permute4x64_epi64(
          _mm256_hadd_epi32(sum[row][0], sum[row][1]), middleSwapped);
      if (adds)
        both = _mm256_add_epi32(both, _mm256_load_si256(to));
      _mm256_store_si256(to, both);
    }
  }
}

void multiplySteps(const WideSteps &wide, int64_t rows, bool adds,
                   uint32_t *sums) {
  using Function = void (*)(const WideSteps &, int64_t, bool, uint32_t *);
  static constexpr std::array<Function, rowsOfPairs.most> functions = {
      multiplyPairs<1>, multiplyPairs<2>, multiplyPairs<3>, multiplyPairs<4>};
  for (int64_t first = 0; first < rows; first += rowsOfPairs.most)
    functions[static_cast<size_t>(std::min(rowsOfPairs.most, rows - first) -
                                  1)](wide, first, adds, sums);
}

template <bool aSigned, bool bSigned>
__attribute__((target("avx2"))) void
multiplyByPairs(const ByteBlock &rows, const uint8_t *panel, uint32_t *sums) {
  WideSteps wide;
  bool adds = false;
  for (const PanelPart &part : rows.parts)
    for (int64_t k = 0; k < rows.used; k += byteStep) {
      if (wide.elements + byteStep > WideSteps::most) {
        multiplySteps(wide, rows.count, adds, sums);
        adds = true;
        wide.elements = 0;
      }
      const int64_t used = (std::min(byteStep, rows.used - k) + wideLanes - 1) /
                           wideLanes * wideLanes,
                    at = wide.elements;
      for (int64_t row = 0; row < rows.count; ++row)
        widenBytes<aSigned>(rows.row(row) + part.inRow + k, used,
                            wide.rows[row] + at);
      for (int64_t tile = 0; tile < 2; ++tile)
        widenBytes<bSigned>(panel + part.inPanel + panelColumns * k +
                                tile * tileBytes,
                            used * tileColumns, wide.panel[tile][at / group]);
      wide.elements += used;
    }
  multiplySteps(wide, rows.count, adds, sums);
}

//===----------------------------------------------------------------------===//
// vpdpbusd
//===----------------------------------------------------------------------===//

// The instruction multiplies unsigned by signed bytes. If the signs of A and
// the panel are equal, 128 is added to or subtracted from A: its highest bits
// are inverted (`isShifted`). The sums of the columns correct that.
constexpr int highBits = static_cast<int>(0x80808080u);

int groupAt(const uint8_t *a) {
  int four;
  std::memcpy(&four, a, sizeof(four));
  return four;
}

/// `count` rows of A from row `first` on. A group of A is a load that writes
/// all lanes, which costs no arithmetic.
template <int count, bool bSigned, bool isShifted>
__attribute__((target("avx512f,avx512vnni"))) void
multiply512(const ByteBlock &rows, int64_t first, const uint8_t *panel,
            uint32_t *sums, PanelFetch &fetch) {
  const uint8_t *a[count];
  for (int row = 0; row < count; ++row)
    a[row] = rows.row(first + row);
  __m512i sum[count][2];
  for (int row = 0; row < count; ++row)
    sum[row][0] = sum[row][1] = _mm512_setzero_si512();
  const int64_t used = rows.used;
  for (const PanelPart &part : rows.parts) {
    const uint8_t *line = panel + part.inPanel;
    const int64_t end = part.inRow + used;
    for (int64_t at = part.inRow; at < end; line += tileBytes) {
      fetch.step();
      for (const int64_t last = std::min(end, at + byteStep); at < last;
           at += group, line += lineBytes) {
        __builtin_prefetch(line + stepBytes);
        __builtin_prefetch(line + stepBytes + tileBytes);
        const __m512i b[2] = {_mm512_load_si512(line),
                              _mm512_load_si512(line + tileBytes)};
        for (int row = 0; row < count; ++row) {
          __m512i x = _mm512_set1_epi32(groupAt(a[row] + at));
          if constexpr (isShifted)
            x = _mm512_xor_si512(x, _mm512_set1_epi32(highBits));
          for (int half = 0; half < 2; ++half)
            sum[row][half] =
                bSigned ? _mm512_dpbusd_epi32(sum[row][half], x, b[half])
                        : _mm512_dpbusd_epi32(sum[row][half], b[half], x);
        }
      }
    }
  }
  for (int row = 0; row < count; ++row)
    for (int half = 0; half < 2; ++half)
      _mm512_store_si512(sums + (first + row) * panelColumns +
                             half * tileColumns,
                         sum[row][half]);
}

/// The same with registers of 32 bytes, for the columns of one tile at a time.
template <int count, bool bSigned, bool isShifted>
__attribute__((target("avx2,avxvnni"))) void
multiply256(const ByteBlock &rows, int64_t first, const uint8_t *panel,
            uint32_t *sums, PanelFetch &) {
  const uint8_t *a[count];
  for (int row = 0; row < count; ++row)
    a[row] = rows.row(first + row);
  for (int64_t tile = 0; tile < 2; ++tile) {
    __m256i sum[count][2];
    for (int row = 0; row < count; ++row)
      sum[row][0] = sum[row][1] = _mm256_setzero_si256();
    for (const PanelPart &part : rows.parts)
      for (int64_t k = 0; k < rows.used; k += byteStep) {
        const auto *line = reinterpret_cast<const __m256i *>(
            panel + part.inPanel + panelColumns * k + tile * tileBytes);
        for (int64_t at = part.inRow + k,
                     end = part.inRow + std::min(rows.used, k + byteStep);
             at < end; at += group, line += 2) {
          const __m256i b[2] = {_mm256_load_si256(line),
                                _mm256_load_si256(line + 1)};
          for (int row = 0; row < count; ++row) {
            __m256i x = _mm256_set1_epi32(groupAt(a[row] + at));
            if constexpr (isShifted)
              x = _mm256_xor_si256(x, _mm256_set1_epi32(highBits));
            for (int half = 0; half < 2; ++half)
              sum[row][half] =
                  bSigned ? _mm256_dpbusd_avx_epi32(sum[row][half], x, b[half])
                          : _mm256_dpbusd_avx_epi32(sum[row][half], b[half], x);
          }
        }
      }
    for (int row = 0; row < count; ++row)
      for (int half = 0; half < 2; ++half)
        _mm256_store_si256(
            reinterpret_cast<__m256i *>(sums + (first + row) * panelColumns +
                                        tile * tileColumns + half * 8),
            sum[row][half]);
  }
}

using DotFunction = void (*)(const ByteBlock &, int64_t, const uint8_t *,
                             uint32_t *, PanelFetch &);

template <bool bSigned, bool isShifted> DotFunction dot512(int64_t rows) {
  static constexpr std::array<DotFunction, rows512.most> functions = {
      multiply512<1, bSigned, isShifted>, multiply512<2, bSigned, isShifted>,
      multiply512<3, bSigned, isShifted>, multiply512<4, bSigned, isShifted>,
      multiply512<5, bSigned, isShifted>, multiply512<6, bSigned, isShifted>,
      multiply512<7, bSigned, isShifted>, multiply512<8, bSigned, isShifted>};
  return functions[static_cast<size_t>(rows - 1)];
}
template <bool bSigned, bool isShifted> DotFunction dot256(int64_t rows) {
  static constexpr std::array<DotFunction, rows256.most> functions = {
      multiply256<1, bSigned, isShifted>, multiply256<2, bSigned, isShifted>,
      multiply256<3, bSigned, isShifted>, multiply256<4, bSigned, isShifted>,
      multiply256<5, bSigned, isShifted>};
  return functions[static_cast<size_t>(rows - 1)];
}

void multiplyByDots(bool isWide, const ByteBlock &rows, ByteSigns signs,
                    const uint8_t *panel, uint32_t *sums, PanelFetch &fetch) {
  using Choice = DotFunction (*)(int64_t);
  static constexpr Choice choices[2][2][2] = {
      {{dot256<false, false>, dot256<false, true>},
       {dot256<true, false>, dot256<true, true>}},
      {{dot512<false, false>, dot512<false, true>},
       {dot512<true, false>, dot512<true, true>}}};
  const bool isShifted = signs.a == signs.b;
  const Choice choice = choices[isWide][signs.b][isShifted];
  const int64_t most = (isWide ? rows512 : rows256).most;
  forEvenGroups(rows.count, most, [&](int64_t first, int64_t count) {
    choice(count)(rows, first, panel, sums, fetch);
  });
  if (!isShifted)
    return;
  addColumnSums(rows, signs.a ? 0u - 128u : 128u, panel, sums);
}

} // namespace

void sinter::cpu::multiplyBytes(ByteUnit unit, TileRegisters &tiles,
                                ByteSigns signs, const ByteBlock &rows,
                                const uint8_t *panel, uint32_t *sums,
                                PanelFetch &fetch,
                                const PanelCorrections *corrections) {
  using Function =
      void (*)(const ByteBlock &, const uint8_t *panel, uint32_t *sums);
  using TileFunction = void (*)(const ByteBlock &, const uint8_t *panel,
                                uint32_t *sums, PanelFetch &);
  static constexpr Function byPairs[2][2] = {
      {multiplyByPairs<false, false>, multiplyByPairs<false, true>},
      {multiplyByPairs<true, false>, multiplyByPairs<true, true>}};
  static constexpr TileFunction byTiles[2][2] = {
      {multiplyByTiles<false, false>, multiplyByTiles<false, true>},
      {multiplyByTiles<true, false>, multiplyByTiles<true, true>}};
  switch (unit) {
  case ByteUnit::Loops:
    return multiplyByLoops(rows, signs, panel, sums);
  case ByteUnit::Pairs:
    return byPairs[signs.a][signs.b](rows, panel, sums);
  case ByteUnit::Sums16:
    multiplyBySums16(rows, signs.a, panel, *corrections, sums);
    if (signs.a)
      addColumnSums(rows, 0u - 128u, panel, sums);
    return;
  case ByteUnit::Dot256:
  case ByteUnit::Dot512:
    return multiplyByDots(unit == ByteUnit::Dot512, rows, signs, panel, sums,
                          fetch);
  case ByteUnit::Tiles:
    tiles.configure(rows.count, byteStep);
    return byTiles[signs.a][signs.b](rows, panel, sums, fetch);
  }
}
#else
void sinter::cpu::multiplyBytes(ByteUnit, TileRegisters &, ByteSigns signs,
                                const ByteBlock &rows, const uint8_t *panel,
                                uint32_t *sums, PanelFetch &,
                                const PanelCorrections *) {
  multiplyByLoops(rows, signs, panel, sums);
}
#endif
