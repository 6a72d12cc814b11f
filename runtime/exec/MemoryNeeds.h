//===- MemoryNeeds.h - what memory a program needs on a device --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_MEMORYNEEDS_H
#define SINTER_RUNTIME_EXEC_MEMORYNEEDS_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::rt {

/// One value in the arena: bytes from the command that first writes them to the
/// last one that touches them; a collective does until its AWAIT. A later value
/// in the same bytes is counted separately.
struct ArenaValue {
  uint64_t offsetBytes = 0, sizeBytes = 0;
  uint32_t firstCommand = 0, lastCommand = 0;
  std::string label; // of the command that first writes it
};

/// The arena values of a place, read from the command table, in order of first
/// use. A write ends the value that was in exactly these bytes unless the same
/// command reads them too.
std::vector<ArenaValue> arenaValues(const sinter_entry &entry,
                                    uint32_t place = 0);

/// Bytes that `artifact` needs on a place, known before anything is allocated.
/// What libraries want is not included; it is known only after asking them.
struct MemoryNeeds {
  uint64_t arenaBytes = 0;
  uint64_t stateBytes = 0;
  uint64_t constantBytes = 0; // 0 if the host's are used
  uint64_t inputBytes = 0;    // inputs and outputs of runs; as constantBytes
  /// Each of them is below 2^63.
  uint64_t totalBytes() const {
    uint64_t total = 0;
    for (uint64_t bytes : {arenaBytes, stateBytes, constantBytes, inputBytes})
      if (__builtin_add_overflow(total, bytes, &total))
        return UINT64_MAX;
    return total;
  }
};
MemoryNeeds memoryNeeds(const sinter_artifact &artifact, bool sharesHostMemory,
                        uint32_t place = 0);

/// Elements of each array of a COLLECTIVE, as Collective::elements.
std::vector<uint64_t> collectiveElements(const sinter_command &command);

/// Succeeds if `needs` fit into `availableBytes`; else SINTER_OUT_OF_MEMORY in
/// one line: what is needed and what `device`, the place's, has, the five
/// largest values and the batch that would fit.
Status checkMemory(const sinter_artifact &artifact, const MemoryNeeds &needs,
                   const std::string &device, uint64_t availableBytes,
                   uint32_t place = 0);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_MEMORYNEEDS_H
