//===- SimGather.cpp - rows collected by number, by loops -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimGather.h"

#include <cstring>

using namespace sinter;
using rt::Status;

Status sinter::sim::gatherRows(const DeviceMemory &memory,
                               const rt::RowGather &gather) {
  const auto numRows = static_cast<uint64_t>(gather.numRows);
  SINTER_RETURN_IF_ERROR(memory.check(gather.rows, numRows * sizeof(int64_t),
                                      "the row numbers of a gather", true));
  for (uint32_t i = 0; i < gather.numColumns; ++i) {
    const rt::RowColumn &column = gather.columns[i];
    auto *to = static_cast<uint8_t *>(column.to);
    SINTER_RETURN_IF_ERROR(memory.check(to, numRows * column.rowBytes,
                                        "the destination of a gather"));
    for (uint64_t row = 0; row < numRows; ++row) {
      const auto chosen =
          static_cast<uint64_t>(rt::chosenRow(column, gather.rows[row]));
      const uint8_t *from =
          static_cast<const uint8_t *>(column.from) + chosen * column.rowBytes;
      SINTER_RETURN_IF_ERROR(
          memory.check(from, column.rowBytes, "a row that is gathered", true));
      std::memcpy(to + row * column.rowBytes, from, column.rowBytes);
    }
  }
  return {};
}
