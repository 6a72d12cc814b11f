//===- BytePanels.h - blocks of products of 8-bit integers ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The innermost loops of products of 8-bit integers of any signs into int32.
// One matrix is read in rows, the other one in panels of 32 columns, whose
// elements lie in the order in which AMX and vpdpbusd read them: for each four
// rows, the groups of all columns. Sums are exact modulo 2^32, so all units
// give the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_BYTEPANELS_H
#define SINTER_BACKENDS_CPU_DEVICE_BYTEPANELS_H

#include <cstdint>

namespace sinter::cpu {

/// What multiplies. Loops needs no feature of the CPU.
enum class ByteUnit { Loops, Pairs, Dot256, Dot512, Tiles };

/// "loops", "AVX2", "AVX-VNNI", "AVX512-VNNI" or "AMX".
const char *nameOf(ByteUnit unit);
/// Whether this CPU has the unit, and the operating system allows its use.
bool hasByteUnit(ByteUnit unit);
/// The unit of this CPU that products use, by its rates (CpuRates.h).
ByteUnit byteUnit();

/// Sizes of a block: rows of A, and columns of a panel. Rows of A and panels
/// have a multiple of byteStep elements along the sum.
inline constexpr int64_t byteRows = 32, byteColumns = 32, byteStep = 64;

inline int64_t paddedBytes(int64_t depth) {
  return (depth + byteStep - 1) / byteStep * byteStep;
}
/// The bytes of a panel of `depth` rows, which is padded: its elements, and the
/// sums of its columns.
inline int64_t bytePanelBytes(int64_t depth) {
  return byteColumns * depth + 4 * byteColumns;
}

/// A strided matrix of 8-bit integers; strides in elements.
struct ByteMatrix {
  const uint8_t *data;
  int64_t rowStride, colStride;
};

/// Which of both factors are signed.
struct ByteSigns {
  bool a, b;
};

/// Writes `columns` (at most 32) columns of `b`, from its first element on, of
/// `depth` rows. The rest of the panel is 0.
void packBytePanel(const ByteMatrix &b, bool isSigned, int64_t depth,
                   int64_t columns, uint8_t *panel);

/// Writes `rows` rows of `depth` elements of `a` one after the other, each
/// padded with 0 to paddedBytes(depth).
void packByteRows(const ByteMatrix &a, int64_t rows, int64_t depth,
                  uint8_t *packed);

/// Rows of A, of `depth` elements each, which is padded.
struct ByteBlock {
  const uint8_t *data;
  int64_t rowStride, count, depth; // count: 1 to byteRows
};

/// The unit of one thread, while it computes blocks. At most one for a thread
/// at a time, and no call of a library in between.
class ByteBlocks {
public:
  /// hasByteUnit(unit).
  ByteBlocks(ByteUnit unit, ByteSigns signs) : unit_(unit), signs_(signs) {}
  ~ByteBlocks();
  ByteBlocks(const ByteBlocks &) = delete;
  ByteBlocks &operator=(const ByteBlocks &) = delete;

  /// sums[row * byteColumns + column] = the product of rows and panel; aligned
  /// to 64 bytes, and so is the panel.
  void multiply(const ByteBlock &rows, const uint8_t *panel, uint32_t *sums);

private:
  const ByteUnit unit_;
  const ByteSigns signs_;
  int64_t configuredRows_ = 0; // of the tiles
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_BYTEPANELS_H
