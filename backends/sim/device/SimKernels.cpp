//===- SimKernels.cpp - the kernels of an artifact, loaded ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimKernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace sinter::sim {

rt::Result<std::unique_ptr<SimKernels>>
SimKernels::create(const sinter_artifact &artifact, const Drop &drop,
                   Engine &engine) {
  std::unique_ptr<SimKernels> kernels(new SimKernels(artifact));
  kernels->kernels_.resize(artifact.numKernels);
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (uint32_t j = 0; j < artifact.entries[i].numCommands; ++j)
      kernels->readCommand(artifact.entries[i].commands[j]);
  SINTER_RETURN_IF_ERROR(kernels->countSites(drop, engine));
  return kernels;
}

// Commands that share a kernel have slices of the same sizes; else they would
// have different kernels.
void SimKernels::readCommand(const sinter_command &command) {
  if (command.kind != SINTER_CMD_LAUNCH ||
      artifact_.kernels[command.launch.kernel].cpu)
    return;
  std::vector<Buffer> &buffers = kernels_[command.launch.kernel].buffers;
  buffers.resize(std::max<size_t>(buffers.size(), command.numSlices));
  for (uint32_t i = 0; i < command.numSlices; ++i) {
    Buffer &buffer = buffers[i];
    buffer.sizeBytes = std::max(buffer.sizeBytes, command.slices[i].sizeBytes);
    const sinter_slice &slice = command.slices[i];
    buffer.isWritten |= i >= command.numReads ||
                        (slice.space == SINTER_SPACE_CONTROL &&
                         slice.offsetBytes >= offsetof(sinter_control, ticket));
  }
}

rt::Status SimKernels::countSites(const Drop &drop, Engine &engine) {
  uint32_t numBarriers = 0, numPredicates = 0;
  bool isMutable = true;
  for (uint32_t i = 0; i < artifact_.numKernels; ++i) {
    const sinter_kernel_desc &desc = artifact_.kernels[i];
    if (desc.cpu)
      continue; // of another place
    const sinter_sim_kernel_info *info =
        desc.sim ? engine.describe(desc.sim) : nullptr;
    if (!info || info->sizeofInfo != sizeof *info)
      return {SINTER_INVALID, "kernel " + std::string(desc.name) +
                                  " is not for this version of the simulated "
                                  "device"};
    DropSites &sites = kernels_[i].sites;
    sites.firstBarrier = numBarriers;
    sites.firstPredicate = numPredicates;
    for (uint32_t j = 0; j < info->numSites; ++j) {
      sites.numBarriers += info->sites[j].kind == SINTER_SIM_BARRIER;
      if (info->sites[j].kind == SINTER_SIM_PREDICATE) {
        ++sites.numPredicates;
        sites.predicates.push_back(info->sites[j].text);
      }
    }
    numBarriers += sites.numBarriers;
    numPredicates += sites.numPredicates;
    isMutable = isMutable && (info->flags & SINTER_SIM_MUTABLE);
    bool isBarrier = drop.kind == Drop::Barrier;
    uint32_t first = isBarrier ? sites.firstBarrier : sites.firstPredicate;
    uint32_t count = isBarrier ? sites.numBarriers : sites.numPredicates;
    if (drop.kind != Drop::Nothing && drop.number >= first &&
        drop.number - first < count)
      drop_ = {drop.kind, desc.name, drop.number - first};
  }
  if (drop.kind == Drop::Nothing || drop_.kind != Drop::Nothing)
    return {};
  if (drop.kind == Drop::Predicate && !isMutable)
    return rt::Status::invalid("the program was compiled without predicates "
                               "that can be left out");
  bool isBarrier = drop.kind == Drop::Barrier;
  return rt::Status::invalid(
      std::string(isBarrier ? "barrier " : "predicate ") +
      std::to_string(drop.number) + " cannot be left out: the program has " +
      std::to_string(isBarrier ? numBarriers : numPredicates));
}

Launch SimKernels::launch(uint32_t index, void *const *buffers) const {
  const sinter_kernel_desc &desc = artifact_.kernels[index];
  Launch launch;
  launch.kernel = desc.sim;
  launch.name = desc.name;
  std::memcpy(launch.grid, desc.grid, sizeof launch.grid);
  std::memcpy(launch.block, desc.block, sizeof launch.block);
  launch.sharedBytes = desc.sharedBytes;
  launch.isPersistent = desc.flags & SINTER_KERNEL_PERSISTENT;
  launch.isEarly = desc.flags & SINTER_KERNEL_WAITS;
  launch.buffers = buffers;
  const std::vector<Buffer> &sizes = kernels_[index].buffers;
  for (size_t i = 0; i < sizes.size(); ++i)
    launch.ranges.push_back(
        {buffers[i], sizes[i].sizeBytes, sizes[i].isWritten});
  return launch;
}

} // namespace sinter::sim
