//===- IndexChecks.h - indices out of range in a run ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Programs look for such indices themselves and write what they found to the
// last output of an entry, which the caller does not see. It is read together
// with the other outputs: nothing waits for it inside a run.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_INDEXCHECKS_H
#define SINTER_RUNTIME_EXEC_INDEXCHECKS_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <optional>
#include <span>

namespace sinter::rt {

/// How many outputs the commands of `entry` write: the caller's, then the
/// runtime's own.
inline uint32_t writtenOutputs(const sinter_entry &entry) {
  return entry.numOutputs + (entry.numIndexChecks ? 1 : 0);
}

/// The checks of `entry`, which is one of `artifact`.
std::span<const sinter_index_check> indexChecks(const sinter_artifact &artifact,
                                                const sinter_entry &entry);

/// An index out of range. `check` belongs to the artifact.
struct IndexFault {
  const sinter_index_check *check;
  int64_t position; // in row-major order of the node's indices, from 0
  int64_t index;

  /// Its row of the batch, from 0; nothing if the compiler does not know it.
  std::optional<int64_t> row() const;
  /// "node 'x': index 7 is out of range: it must lie in [-5, 4]".
  std::string text() const;
};

/// The first one in `found`, the content of the runtime's output; nothing if
/// all indices were in range.
std::optional<IndexFault>
findIndexFault(std::span<const sinter_index_check> checks,
               const int64_t *found);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_INDEXCHECKS_H
