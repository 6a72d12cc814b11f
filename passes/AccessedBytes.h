//===- AccessedBytes.h - the bytes that a kernel reads ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_ACCESSEDBYTES_H
#define SINTER_PASSES_ACCESSEDBYTES_H

#include "ir/Dialect.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sinter::passes {

/// The most bytes that a kernel reads of one of its buffers.
struct AccessLimit {
  unsigned argument;
  int64_t bytesRead;
  /// The limit holds only if this result is in the buffer of the argument: a
  /// scatter in place accesses what its indices name, any other one copies all.
  std::optional<unsigned> result = {};
  int64_t bytesWritten = 0; // of the result
};

/// The limits of the buffers of which a kernel with this body accesses only a
/// part: the rows that the indices of a gather or a scatter name, and what
/// slices take. An index that comes twice counts twice, up to the size of the
/// buffer. All other buffers are read and written completely.
std::vector<AccessLimit> accessLimits(mlir::Block &body);

} // namespace sinter::passes

#endif // SINTER_PASSES_ACCESSEDBYTES_H
