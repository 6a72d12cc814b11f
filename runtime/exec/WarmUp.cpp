//===- WarmUp.cpp - a first run that nobody waits for ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A first run touches memory for the first time and starts threads; on a GPU it
// also loads kernels, initialises libraries and records graphs.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AlignedBlock.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/Program.h"

using namespace sinter::rt;

namespace {

/// A block of zeros for each of `count` tensors.
class ZeroTensors {
public:
  Status allocate(const sinter_tensor_desc *tensors, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      Result<AlignedBlock> block = AlignedBlock::allocate(
          std::max<uint64_t>(tensors[i].sizeBytes, 1), "a first run");
      if (!block.ok())
        return block.status();
      addresses_.push_back(block->data());
      blocks_.push_back(std::move(*block));
    }
    return {};
  }
  void *const *addresses() const { return addresses_.data(); }

private:
  std::vector<AlignedBlock> blocks_;
  std::vector<void *> addresses_;
};

} // namespace

Status Program::runOnZeros(Executor &executor) {
  const sinter_entry &entry = executor.entry();
  ZeroTensors inputs, outputs;
  SINTER_RETURN_IF_ERROR(inputs.allocate(entry.inputs, entry.numInputs));
  SINTER_RETURN_IF_ERROR(outputs.allocate(entry.outputs, entry.numOutputs));
  Status status =
      run(entry.name, nullptr, inputs.addresses(), outputs.addresses());
  // Zero may be out of range as an index of the model.
  return executor.indexFault() ? Status() : status;
}

Status Program::warmUp() {
  for (const Place &place : places_)
    if (place.device->kind() == "sim" || place.group)
      return {}; // not made for speed; other replicas would have to run too
  // Each slot has a graph of its own.
  for (size_t i = 0; i < places_.front().slots.size(); ++i)
    for (Executor &executor : executors_)
      SINTER_RETURN_IF_ERROR(runOnZeros(executor));
  for (uint32_t i = 0; i < places_.size(); ++i) {
    Place &place = places_[i];
    if (uint64_t sizeBytes = stateBytes(*artifact_, i))
      SINTER_RETURN_IF_ERROR(
          place.device->fill(*place.stream, place.states, 0, sizeBytes));
    SINTER_RETURN_IF_ERROR(place.device->synchronize());
    if (place.arena)
      place.device->discard(place.arena, arenaBytes(*artifact_, i));
  }
  return initializeStates();
}
