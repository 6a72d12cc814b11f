//===- ArtifactPlaces.h - the devices that an artifact names ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An artifact that names no places has one, of its target's kind; these
// functions hide the difference. `place` is below numPlaces().
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_ARTIFACTPLACES_H
#define SINTER_RUNTIME_EXEC_ARTIFACTPLACES_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::rt {

/// At least 1.
uint32_t numPlaces(const sinter_artifact &artifact);
/// "cpu", "cuda" or "sim".
const char *placeKind(const sinter_artifact &artifact, uint32_t place);
/// Size of the arena that `entry`, one of the artifact's, needs on `place`.
uint64_t arenaBytes(const sinter_artifact &artifact, const sinter_entry &entry,
                    uint32_t place);
/// The largest of these sizes over all entries.
uint64_t arenaBytes(const sinter_artifact &artifact, uint32_t place);
/// The sum of the arenas of `entry` on all places.
uint64_t arenaBytesOfAll(const sinter_artifact &artifact,
                         const sinter_entry &entry);
/// Size of the block that holds the states of `place`.
uint64_t stateBytes(const sinter_artifact &artifact, uint32_t place);
/// The sum of these sizes over all places.
uint64_t stateBytesOfAll(const sinter_artifact &artifact);
/// The scratch that library calls may take on `place`.
uint64_t workspaceBytes(const sinter_artifact &artifact, uint32_t place);

inline bool isRounded(const sinter_state_desc &state) {
  return state.role == SINTER_STATE_ROUNDED;
}
/// The number of states that users read and write: those before the states of
/// role ROUNDED, which are last.
uint32_t numOwnStates(const sinter_artifact &artifact);
inline bool hasRounded(const sinter_artifact &artifact) {
  return numOwnStates(artifact) < artifact.numStates;
}

/// How many replicas run the program together; at least 1.
inline int64_t replicasOf(const sinter_artifact &artifact) {
  return artifact.training && artifact.training->replicas
             ? artifact.training->replicas
             : 1;
}

/// How many states the replicas divide: each holds a part of them.
uint32_t numDivided(const sinter_artifact &artifact);
/// After the bytes of states: " in each of 2 replicas, 4 divided"; "" if none
/// is divided.
std::string dividedText(const sinter_artifact &artifact);

/// Checks the table of places, its arenas and the states' places; the states'
/// other fields must have been checked.
Status checkPlaces(const sinter_artifact &artifact);

/// The devices that --device=`text` picks for a program that names its devices:
/// "" means the compiled-in ones, else the text has as many names of the same
/// kinds, separated by commas. SINTER_INVALID in one line for anything else.
Result<std::vector<std::string>> deviceNames(const sinter_artifact &artifact,
                                             const std::string &text);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_ARTIFACTPLACES_H
