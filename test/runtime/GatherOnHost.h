//===- GatherOnHost.h - the kernel that gathers rows, in loops --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_GATHERONHOST_H
#define SINTER_TEST_RUNTIME_GATHERONHOST_H

#include "backends/cuda/device/GatherKernel.h"

#include <cstring>

namespace sinter::test {

/// A FakeDriver::Kernel.
inline void gatherRowsKernel(void **parameters) {
  const auto &gather = *static_cast<const rt::RowGather *>(parameters[0]);
  for (uint32_t c = 0; c < gather.numColumns; ++c) {
    const rt::RowColumn &column = gather.columns[c];
    for (int64_t i = 0; i < gather.numRows; ++i)
      std::memcpy(
          static_cast<uint8_t *>(column.to) +
              static_cast<uint64_t>(i) * column.rowBytes,
          static_cast<const uint8_t *>(column.from) +
              static_cast<uint64_t>(rt::chosenRow(column, gather.rows[i])) *
                  column.rowBytes,
          column.rowBytes);
  }
}

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_GATHERONHOST_H
