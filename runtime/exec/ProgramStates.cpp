//===- ProgramStates.cpp - tensors that outlive a run ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All that writes states outside of a run is here: initializeStates(),
// initializeParts() and writeState(). So this file knows when states of role
// ROUNDED are stale.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/DividedStates.h"
#include "runtime/exec/Program.h"

using namespace sinter::rt;

/// The initial bytes of the whole state; none if it starts as zeros.
static std::span<const uint8_t> initialBytes(const sinter_artifact &artifact,
                                             const sinter_state_desc &state) {
  if (state.initOffsetBytes == UINT64_MAX)
    return {};
  return {artifact.constants + state.initOffsetBytes, state.tensor.sizeBytes};
}

Status Program::upload(const sinter_state_desc &state, const void *from) {
  Place &place = placeOf(state);
  return place.device->upload(*place.stream, place.states + state.offsetBytes,
                              from, sinter_held_bytes(&state));
}

Status Program::initializeStates() {
  isStale_ = true;
  std::vector<std::vector<uint8_t>> rounded; // until they are uploaded
  for (uint32_t i = 0; i < artifact_->numStates; ++i) {
    const sinter_state_desc &state = artifact_->states[i];
    std::span<const uint8_t> initial = initialBytes(*artifact_, state);
    if (isRoundedOfDivided(*artifact_, i))
      initial = rounded.emplace_back(roundedBytes(
          state, initialBytes(*artifact_, artifact_->states[state.of])));
    // Which part of a divided state it has, a program learns in join().
    if (!initial.empty() && !state.partBytes)
      SINTER_RETURN_IF_ERROR(upload(state, initial.data()));
  }
  for (Place &place : places_)
    SINTER_RETURN_IF_ERROR(place.device->synchronize(*place.stream));
  return {};
}

Status Program::initializeParts(uint32_t replica) {
  std::vector<std::vector<uint8_t>> parts; // until they are uploaded
  for (uint32_t i = 0; i < artifact_->numStates; ++i) {
    const sinter_state_desc &state = artifact_->states[i];
    const std::span<const uint8_t> initial = initialBytes(*artifact_, state);
    if (state.partBytes && !initial.empty())
      SINTER_RETURN_IF_ERROR(upload(
          state, parts.emplace_back(partOf(state, initial, replica)).data()));
  }
  for (Place &place : places_)
    SINTER_RETURN_IF_ERROR(place.device->synchronize(*place.stream));
  return {};
}

/// Computes the states of role ROUNDED if something other than a run has
/// written states. Every run begins with it.
Status Program::refresh() {
  if (!refresh_ || !(isStale_ || refreshesAlways_))
    return {};
  Result<RunNumber> begun = begin(*refresh_, {}, nullptr, nullptr, nullptr);
  SINTER_RETURN_IF_ERROR(begun.ok() ? wait(*begun) : begun.status());
  isStale_ = false;
  return {};
}

uint8_t *Program::state(uint32_t index) {
  if (index >= artifact_->numStates ||
      sinter_held_bytes(&artifact_->states[index]) == 0 || staging_ ||
      hasRounded(*artifact_))
    return nullptr;
  return places_.front().states + artifact_->states[index].offsetBytes;
}

Status Program::finishRuns() {
  return staging_ ? staging_->finishAll() : Status();
}

Status Program::readState(uint32_t index, void *to) {
  if (index >= artifact_->numStates)
    return Status::invalid("the program has no state " + std::to_string(index));
  const sinter_state_desc &state = artifact_->states[index];
  if (isRounded(state))
    SINTER_RETURN_IF_ERROR(refresh());
  SINTER_RETURN_IF_ERROR(finishRuns());
  if (!sinter_held_bytes(&state))
    return {};
  Place &place = placeOf(state);
  SINTER_RETURN_IF_ERROR(place.device->download(
      *place.stream, to, place.states + state.offsetBytes,
      sinter_held_bytes(&state)));
  return place.device->synchronize(*place.stream);
}

Status Program::writeState(uint32_t index, const void *from) {
  if (index >= artifact_->numStates)
    return Status::invalid("the program has no state " + std::to_string(index));
  const sinter_state_desc &state = artifact_->states[index];
  if (isRefreshed(*artifact_, index))
    return Status::invalid(std::string("the program computes state '") +
                           state.tensor.name + "' itself");
  SINTER_RETURN_IF_ERROR(finishRuns());
  isStale_ = true;
  if (!sinter_held_bytes(&state))
    return {};
  SINTER_RETURN_IF_ERROR(upload(state, from));
  Place &place = placeOf(state);
  return place.device->synchronize(*place.stream);
}
