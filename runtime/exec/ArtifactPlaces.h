//===- ArtifactPlaces.h - the devices that an artifact names ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// An artifact that names no places has one, of its target's kind; these
// functions make both alike. `place` is below numPlaces().
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

/// 1 at least.
uint32_t numPlaces(const sinter_artifact &artifact);
/// "cpu", "cuda" or "sim".
const char *placeKind(const sinter_artifact &artifact, uint32_t place);
/// The arena that `entry`, one of the artifact's, needs there.
uint64_t arenaBytes(const sinter_artifact &artifact, const sinter_entry &entry,
                    uint32_t place);
/// The largest of these.
uint64_t arenaBytes(const sinter_artifact &artifact, uint32_t place);
/// What `entry` needs on all places.
uint64_t arenaBytesOfAll(const sinter_artifact &artifact,
                         const sinter_entry &entry);
/// The block that holds the states of the place.
uint64_t stateBytes(const sinter_artifact &artifact, uint32_t place);
/// These of all places.
uint64_t stateBytesOfAll(const sinter_artifact &artifact);
/// The scratch that library calls may take there.
uint64_t workspaceBytes(const sinter_artifact &artifact, uint32_t place);

/// The table itself, its states and arenas; the states' own fields must have
/// been checked.
Status checkPlaces(const sinter_artifact &artifact);

/// What --device=`text` says about a program that names its devices: "" for
/// what was compiled in, else as many names of the same kinds, with commas.
/// SINTER_INVALID in one line for anything else.
Result<std::vector<std::string>> deviceNames(const sinter_artifact &artifact,
                                             const std::string &text);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_ARTIFACTPLACES_H
