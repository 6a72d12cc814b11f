//===- MemoryPlan.h - the values that a plan keeps in its arena
//--------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_MEMORYPLAN_H
#define SINTER_RUNTIME_HARNESS_MEMORYPLAN_H

#include "sinter/abi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::rt {

/// One value in the arena: bytes from the command that first writes them to the
/// last one that touches them. A later value in the same bytes is another one.
struct ArenaValue {
  uint64_t offsetBytes = 0, sizeBytes = 0;
  uint32_t firstCommand = 0, lastCommand = 0;
  std::string label; // of the command that first writes it
};

/// Read off the command table, ordered by first use. A write ends the value
/// that was in exactly these bytes unless the same command reads them too.
std::vector<ArenaValue> arenaValues(const sinter_entry &entry);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_MEMORYPLAN_H
