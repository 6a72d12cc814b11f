//===- GatherKernel.cpp - gathers rows of a dataset -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Device code: the build compiles it to PTX, which GatherModule.cpp holds as
// text. It works with any number of blocks in dimension x.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/device/GatherKernel.h"

using namespace sinter;
using namespace sinter::cuda;

namespace {

typedef uint32_t Unit16 __attribute__((ext_vector_type(4)));

inline uint64_t blockX() {
  return static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x());
}
inline uint64_t numBlocks() {
  return static_cast<uint32_t>(__nvvm_read_ptx_sreg_nctaid_x());
}

/// Neighbouring threads copy neighbouring units of a row.
template <class Unit>
inline void copyRows(const rt::RowColumn &column, const int64_t *rows,
                     int64_t numRows) {
  const auto *from = static_cast<const Unit *>(column.from);
  auto *to = static_cast<Unit *>(column.to);
  const uint64_t perRow = column.rowBytes / sizeof(Unit),
                 count = perRow * static_cast<uint64_t>(numRows);
  const bool isShort = count <= UINT32_MAX; // dividing 64 bits is slow
  for (uint64_t i = blockX() * gatherBlock +
                    static_cast<uint32_t>(__nvvm_read_ptx_sreg_tid_x());
       i < count; i += numBlocks() * gatherBlock) {
    const uint64_t row =
        isShort ? static_cast<uint32_t>(i) / static_cast<uint32_t>(perRow)
                : i / perRow;
    const auto chosen = static_cast<uint64_t>(rt::chosenRow(column, rows[row]));
    to[i] = from[chosen * perRow + (i - row * perRow)];
  }
}

/// gather.columns[number]. A variable index would copy the parameter to local
/// memory, so every column is read.
inline rt::RowColumn columnOf(const rt::RowGather &gather, uint32_t number) {
  uint64_t from = 0, to = 0, rowBytes = 0, paddingRow = 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < rt::RowGather::mostColumns; ++i) {
    const rt::RowColumn &column = gather.columns[i];
    const uint64_t mask = number == i ? ~uint64_t(0) : 0;
    from |= mask & reinterpret_cast<uint64_t>(column.from);
    to |= mask & reinterpret_cast<uint64_t>(column.to);
    rowBytes |= mask & column.rowBytes;
    paddingRow |= mask & static_cast<uint64_t>(column.paddingRow);
  }
  return {reinterpret_cast<const void *>(from), reinterpret_cast<void *>(to),
          rowBytes, static_cast<int64_t>(paddingRow)};
}

} // namespace

extern "C" __attribute__((nvptx_kernel)) void
sinter_gather_rows(const rt::RowGather gather) {
  const rt::RowColumn column =
      columnOf(gather, static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_y()));
  switch (gatherUnit(column)) {
  case 16:
    return copyRows<Unit16>(column, gather.rows, gather.numRows);
  case 8:
    return copyRows<uint64_t>(column, gather.rows, gather.numRows);
  case 4:
    return copyRows<uint32_t>(column, gather.rows, gather.numRows);
  case 2:
    return copyRows<uint16_t>(column, gather.rows, gather.numRows);
  default:
    return copyRows<uint8_t>(column, gather.rows, gather.numRows);
  }
}
