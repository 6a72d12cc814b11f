//===- MemoryNeeds.cpp - what a program needs of a device's memory --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/MemoryNeeds.h"

#include "runtime/base/NumberText.h"
#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/Place.h"
#include "runtime/exec/Staging.h"

#include <algorithm>
#include <map>

using namespace sinter::rt;

std::vector<ArenaValue> sinter::rt::arenaValues(const sinter_entry &entry,
                                                uint32_t place) {
  std::vector<ArenaValue> values;
  std::map<std::pair<uint64_t, uint64_t>, size_t> current;
  std::map<uint32_t, std::vector<size_t>> sent; // values of a message, by event
  for (uint32_t c = 0; c < entry.numCommands; ++c) {
    const sinter_command &command = entry.commands[c];
    if (command.kind == SINTER_CMD_AWAIT)
      for (size_t value : sent[command.event])
        values[value].lastCommand = std::max(values[value].lastCommand, c);
    for (uint32_t s = 0; s < command.numSlices; ++s) {
      const sinter_slice &slice = command.slices[s];
      if (slice.space != SINTER_SPACE_ARENA || slice.index != place)
        continue;
      auto key = std::make_pair(slice.offsetBytes, slice.sizeBytes);
      auto found = current.find(key);
      bool touched =
          found != current.end() && values[found->second].lastCommand == c;
      bool begins =
          found == current.end() || (s >= command.numReads && !touched);
      if (begins) {
        current[key] = values.size();
        values.push_back(
            {slice.offsetBytes, slice.sizeBytes, c, c, command.label});
      } else {
        values[found->second].lastCommand = c;
      }
      if (command.kind == SINTER_CMD_COLLECTIVE)
        sent[command.collective.event].push_back(current[key]);
    }
  }
  return values;
}

MemoryNeeds sinter::rt::memoryNeeds(const sinter_artifact &artifact,
                                    bool sharesHostMemory, uint32_t place) {
  MemoryNeeds needs;
  needs.stateBytes = stateBytes(artifact, place);
  needs.arenaBytes = arenaBytes(artifact, place);
  if (sharesHostMemory)
    return needs;
  needs.constantBytes = ConstantMap(artifact, place).sizeBytes();
  needs.inputBytes = Staging::deviceBytes(artifact);
  return needs;
}

std::vector<uint64_t>
sinter::rt::collectiveElements(const sinter_command &command) {
  const uint32_t count = command.numReads;
  std::vector<uint64_t> elements;
  for (uint32_t i = 0; i < count; ++i)
    elements.push_back(std::max(command.slices[i].sizeBytes,
                                command.slices[count + i].sizeBytes) /
                       dtypeBytes(command.collective.dtype));
  return elements;
}

/// "1.2 GiB of conv1, 800.0 MiB of conv2": the largest values of the entry that
/// needs the largest arena.
static std::string largestValues(const sinter_artifact &artifact,
                                 uint32_t place) {
  const sinter_entry *entry = &artifact.entries[0];
  for (uint32_t i = 1; i < artifact.numEntries; ++i)
    if (arenaBytes(artifact, artifact.entries[i], place) >
        arenaBytes(artifact, *entry, place))
      entry = &artifact.entries[i];
  std::vector<ArenaValue> values = arenaValues(*entry, place);
  std::stable_sort(values.begin(), values.end(),
                   [](const ArenaValue &a, const ArenaValue &b) {
                     return a.sizeBytes > b.sizeBytes;
                   });
  values.resize(std::min<size_t>(values.size(), 5));
  std::string text;
  for (const ArenaValue &value : values)
    text += (text.empty() ? "" : ", ") + bytesText(value.sizeBytes) + " of " +
            value.label.substr(0, value.label.find(','));
  return text;
}

/// Suggests a leading dimension of the inputs that fits; "" if none does.
static std::string smallerBatch(const sinter_artifact &artifact,
                                const MemoryNeeds &needs,
                                uint64_t availableBytes) {
  const sinter_entry &entry = artifact.entries[0];
  int64_t batch = artifact.training ? artifact.training->batch
                  : entry.numInputs && entry.inputs[0].rank
                      ? entry.inputs[0].dims[0]
                      : 0;
  uint64_t fixed = needs.stateBytes + needs.constantBytes;
  uint64_t perBatch = needs.arenaBytes + needs.inputBytes;
  if (batch < 2 || fixed >= availableBytes || !perBatch)
    return "";
  auto fitting = static_cast<int64_t>(
      double(batch) * (double(availableBytes - fixed) / double(perBatch)));
  if (fitting < 1)
    return "";
  return "; a batch of about " + std::to_string(std::min(fitting, batch - 1)) +
         " instead of " + std::to_string(batch) + " would fit";
}

Status sinter::rt::checkMemory(const sinter_artifact &artifact,
                               const MemoryNeeds &needs,
                               const std::string &device,
                               uint64_t availableBytes, uint32_t place) {
  if (needs.totalBytes() <= availableBytes || artifact.numEntries == 0)
    return {};
  std::string text = "the program needs " + bytesText(needs.totalBytes()) +
                     " of " + device + "'s memory (arena " +
                     bytesText(needs.arenaBytes) + ", states " +
                     bytesText(needs.stateBytes);
  if (needs.constantBytes)
    text += ", constants " + bytesText(needs.constantBytes);
  if (needs.inputBytes)
    text += ", inputs and outputs " + bytesText(needs.inputBytes);
  text += "), of which " + bytesText(availableBytes) + " are available";
  std::string values = largestValues(artifact, place);
  if (!values.empty())
    text += "; the largest values: " + values;
  return {SINTER_OUT_OF_MEMORY,
          text + smallerBatch(artifact, needs, availableBytes)};
}
