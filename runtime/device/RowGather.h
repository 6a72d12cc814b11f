//===- RowGather.h - rows of arrays, collected by number --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The parameter of Device::gatherRows(). Device code, which has
// no C++ library, includes this file.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_ROWGATHER_H
#define SINTER_RUNTIME_DEVICE_ROWGATHER_H

#include <stdint.h>

namespace sinter::rt {

/// One array of rows of `rowBytes` each, and where its chosen rows go.
struct RowColumn {
  const void *from;
  void *to;
  uint64_t rowBytes;
  /// The row that stands for rows that pad a batch; -1: no such row, they are
  /// copied like others.
  int64_t paddingRow;
};

/// Row i of each column's `to` becomes row rows[i] of its `from`. A number
/// below 0 is row ~rows[i], used to pad the batch. All addresses are on the
/// device, and so are the row numbers: they may change between two starts of a
/// graph.
struct RowGather {
  static constexpr uint32_t mostColumns = 8;

  const int64_t *rows;
  int64_t numRows;
  RowColumn columns[mostColumns];
  uint32_t numColumns;
};

/// The row of `column` that `number` chooses.
constexpr int64_t chosenRow(const RowColumn &column, int64_t number) {
  return number >= 0              ? number
         : column.paddingRow >= 0 ? column.paddingRow
                                  : ~number;
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_ROWGATHER_H
