//===- ArtifactPlaces.cpp - the devices that an artifact names ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactPlaces.h"

#include "runtime/device/Registry.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace sinter::rt;

/// More than any machine has.
static constexpr uint32_t mostPlaces = 64;

uint32_t sinter::rt::numPlaces(const sinter_artifact &artifact) {
  return artifact.numPlaces ? artifact.numPlaces : 1;
}

const char *sinter::rt::placeKind(const sinter_artifact &artifact,
                                  uint32_t place) {
  return artifact.numPlaces ? artifact.places[place].target : artifact.target;
}

uint64_t sinter::rt::arenaBytes(const sinter_artifact &artifact,
                                const sinter_entry &entry, uint32_t place) {
  if (!artifact.numPlaces)
    return entry.arenaBytes;
  auto index = static_cast<size_t>(&entry - artifact.entries);
  return artifact.arenas[index * artifact.numPlaces + place];
}

uint64_t sinter::rt::arenaBytes(const sinter_artifact &artifact,
                                uint32_t place) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    bytes = std::max(bytes, arenaBytes(artifact, artifact.entries[i], place));
  return bytes;
}

uint64_t sinter::rt::arenaBytesOfAll(const sinter_artifact &artifact,
                                     const sinter_entry &entry) {
  uint64_t bytes = 0;
  for (uint32_t place = 0; place < numPlaces(artifact); ++place)
    bytes += arenaBytes(artifact, entry, place);
  return bytes;
}

uint64_t sinter::rt::stateBytes(const sinter_artifact &artifact,
                                uint32_t place) {
  if (!artifact.numPlaces)
    return artifact.stateBytes;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_state_desc &state = artifact.states[i];
    if (state.place == place)
      bytes = std::max(bytes, state.offsetBytes + sinter_held_bytes(&state));
  }
  return (bytes + 63) / 64 * 64;
}

uint64_t sinter::rt::stateBytesOfAll(const sinter_artifact &artifact) {
  uint64_t bytes = 0;
  for (uint32_t place = 0; place < numPlaces(artifact); ++place)
    bytes += stateBytes(artifact, place);
  return bytes;
}

uint64_t sinter::rt::workspaceBytes(const sinter_artifact &artifact,
                                    uint32_t place) {
  return artifact.workspaces ? artifact.workspaces[place] : 0;
}

uint32_t sinter::rt::numDivided(const sinter_artifact &artifact) {
  return static_cast<uint32_t>(std::count_if(
      artifact.states, artifact.states + artifact.numStates,
      [](const sinter_state_desc &state) { return state.partBytes != 0; }));
}

std::string sinter::rt::dividedText(const sinter_artifact &artifact) {
  const uint32_t divided = numDivided(artifact);
  return divided ? " in each of " + std::to_string(replicasOf(artifact)) +
                       " replicas, " + std::to_string(divided) + " divided"
                 : "";
}

uint32_t sinter::rt::numOwnStates(const sinter_artifact &artifact) {
  uint32_t count = artifact.numStates;
  while (count && isRounded(artifact.states[count - 1]))
    --count;
  return count;
}

Status sinter::rt::checkPlaces(const sinter_artifact &artifact) {
  auto corrupt = [](const std::string &what) {
    return Status::invalid("corrupt artifact: " + what);
  };
  if (artifact.numPlaces > mostPlaces)
    return corrupt("it names " + std::to_string(artifact.numPlaces) +
                   " places");
  if (artifact.numPlaces &&
      (!artifact.places || (artifact.numEntries && !artifact.arenas)))
    return corrupt("the table of places or of their arenas is missing");
  std::set<std::string> names;
  for (uint32_t i = 0; i < artifact.numPlaces; ++i) {
    const sinter_place_desc &place = artifact.places[i];
    if (!place.device || !place.target ||
        deviceKindOf(place.device) != place.target)
      return corrupt("place " + std::to_string(i) +
                     " has no device, or not its kind as target");
    if (!names.insert(place.device).second)
      return corrupt(std::string("two places are ") + place.device);
  }
  if (artifact.numPlaces &&
      std::strcmp(artifact.places[0].target, artifact.target) != 0)
    return corrupt("its first place is not of its target's kind");
  for (uint32_t i = 0; i < artifact.numStates; ++i)
    if (artifact.states[i].place >= numPlaces(artifact))
      return corrupt(std::string("state '") + artifact.states[i].tensor.name +
                     "' lies on place " +
                     std::to_string(artifact.states[i].place) + " of " +
                     std::to_string(numPlaces(artifact)));
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (uint32_t p = 0; p < artifact.numPlaces; ++p)
      if (artifact.arenas[size_t(i) * artifact.numPlaces + p] > INT64_MAX)
        return corrupt("an arena exceeds 2^63 bytes");
  for (uint32_t i = 0; i < numPlaces(artifact); ++i)
    if (uint64_t bytes = workspaceBytes(artifact, i);
        bytes > INT64_MAX && bytes != UINT64_MAX)
      return corrupt("a workspace exceeds 2^63 bytes");
  return {};
}

static std::vector<std::string> splitNames(const std::string &text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

Result<std::vector<std::string>>
sinter::rt::deviceNames(const sinter_artifact &artifact,
                        const std::string &text) {
  std::vector<std::string> compiled;
  std::string spans;
  for (uint32_t i = 0; i < artifact.numPlaces; ++i) {
    compiled.push_back(artifact.places[i].device);
    spans += (i == 0 ? "" : ",") + compiled.back();
  }
  if (text.empty())
    return compiled;
  std::vector<std::string> names = splitNames(text);
  bool fits = names.size() == compiled.size();
  for (size_t i = 0; fits && i < names.size(); ++i)
    fits = deviceKindOf(names[i]) == artifact.places[i].target;
  if (!fits)
    return Status::invalid("the program was compiled for the devices " + spans +
                           "; --device takes as many of the same kinds, not '" +
                           text + "'");
  for (size_t i = 0; i < names.size(); ++i) {
    SINTER_RETURN_IF_ERROR(linkedDevices().checkName(names[i]));
    if (std::find(names.begin(), names.begin() + i, names[i]) !=
        names.begin() + i)
      return Status::invalid("--device names " + names[i] + " twice");
  }
  return names;
}
