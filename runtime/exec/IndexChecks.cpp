//===- IndexChecks.cpp - indices out of range in a run --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/IndexChecks.h"

using namespace sinter::rt;

std::span<const sinter_index_check>
sinter::rt::indexChecks(const sinter_artifact &artifact,
                        const sinter_entry &entry) {
  size_t first = 0;
  for (const sinter_entry *before = artifact.entries; before != &entry;
       ++before)
    first += before->numIndexChecks;
  return {artifact.indexChecks + first, entry.numIndexChecks};
}

std::optional<int64_t> IndexFault::row() const {
  if (check->rows <= 0)
    return std::nullopt;
  return position / check->stride % check->rows;
}

std::string IndexFault::text() const {
  return "node '" + std::string(check->node) + "': index " +
         std::to_string(index) + " is out of range: it must lie in [" +
         std::to_string(check->lower) + ", " +
         std::to_string(check->upper - 1) + "]";
}

std::optional<IndexFault>
sinter::rt::findIndexFault(std::span<const sinter_index_check> checks,
                           const int64_t *found) {
  for (size_t i = 0; i < checks.size(); ++i)
    if (found[2 * i] > 0)
      return IndexFault{&checks[i], found[2 * i] - 1, found[2 * i + 1]};
  return std::nullopt;
}
