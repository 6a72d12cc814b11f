//===- SumMemory.cpp - what sums over processes hold ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/SumMemory.h"

#include "runtime/collective/SpanningMemory.h"
#include "runtime/device/Registry.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/MemoryNeeds.h"

#include <algorithm>

using namespace sinter::rt;

uint64_t sinter::rt::spanningBytes(const sinter_artifact &artifact,
                                   uint32_t processes) {
  if (processes < 2 || !linkedDevices().sumsOnHost(placeKind(artifact, 0)))
    return 0;
  const auto replicas = static_cast<uint32_t>(replicasOf(artifact));
  uint64_t most = 0;
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (uint32_t j = 0; j < artifact.entries[i].numCommands; ++j) {
      const sinter_command &command = artifact.entries[i].commands[j];
      if (command.kind != SINTER_CMD_COLLECTIVE)
        continue;
      const std::vector<uint64_t> elements = collectiveElements(command);
      const Collective what{command.collective.op, command.collective.dtype,
                            elements};
      most = std::max(
          most,
          spanningMemory(what, processes, replicas / processes).totalBytes());
    }
  return most;
}

std::vector<std::pair<uint32_t, uint64_t>>
sinter::rt::spanningBytesByProcesses(const sinter_artifact &artifact) {
  const auto replicas = static_cast<uint32_t>(replicasOf(artifact));
  std::vector<std::pair<uint32_t, uint64_t>> all;
  for (uint32_t processes = 2; processes <= replicas; ++processes)
    if (replicas % processes == 0)
      if (uint64_t bytes = spanningBytes(artifact, processes))
        all.emplace_back(processes, bytes);
  return all;
}
