//===- Staging.cpp - inputs to a device of its own memory, outputs back ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Staging.h"

#include <algorithm>
#include <cstring>

using namespace sinter::rt;

/// Where the inputs begin, behind the control block.
static constexpr uint64_t inputsOffset = 256;
static_assert(sizeof(sinter_control) <= inputsOffset);

Result<std::unique_ptr<Staging>>
Staging::create(const sinter_artifact &artifact, Place &place) {
  std::unique_ptr<Staging> staging(new Staging(place));
  SINTER_RETURN_IF_ERROR(staging->allocate(artifact));
  return staging;
}

/// Entries run one after the other, so they share the blocks.
Staging::Sizes Staging::sizesOf(const sinter_artifact &artifact) {
  uint64_t inputBytes = inputsOffset, outputBytes = 0;
  size_t mostOutputs = 0;
  for (uint32_t i = 0; i < artifact.numEntries; ++i) {
    const sinter_entry &entry = artifact.entries[i];
    inputBytes =
        std::max(inputBytes,
                 inputsOffset + offsetInBlock(entry.inputs, entry.numInputs));
    outputBytes =
        std::max(outputBytes, offsetInBlock(entry.outputs, entry.numOutputs));
    mostOutputs = std::max<size_t>(mostOutputs, entry.numOutputs);
  }
  return {inputBytes, outputBytes, mostOutputs};
}

uint64_t Staging::deviceBytes(const sinter_artifact &artifact) {
  Sizes sizes = sizesOf(artifact);
  return numSlots * sizes.inputBytes + sizes.outputBytes;
}

Status Staging::allocate(const sinter_artifact &artifact) {
  Device &device = *place_.device;
  const auto [inputBytes, outputBytes, mostOutputs] = sizesOf(artifact);
  auto take = [&](uint8_t *&address, uint64_t bytes, bool onHost,
                  const char *purpose) -> Status {
    Result<void *> block = onHost ? device.allocateHost(bytes, purpose)
                                  : device.allocate(bytes, purpose);
    if (!block.ok())
      return block.status();
    (onHost ? hostBlocks_ : blocks_).push_back(*block);
    address = static_cast<uint8_t *>(*block);
    return {};
  };
  auto make = [&](std::unique_ptr<Event> &event) -> Status {
    Result<std::unique_ptr<Event>> made = device.createEvent(EventUse::Order);
    if (!made.ok())
      return made.status();
    event = std::move(*made);
    return {};
  };
  Result<std::unique_ptr<Stream>> uploads = device.createStream();
  if (!uploads.ok())
    return uploads.status();
  uploads_ = std::move(*uploads);
  // Runs come one after the other: their outputs need one block there.
  uint8_t *outputs = nullptr;
  SINTER_RETURN_IF_ERROR(take(outputs, outputBytes, false, "the outputs"));
  place_.slots.resize(numSlots);
  for (uint32_t i = 0; i < numSlots; ++i) {
    Slot &slot = place_.slots[i];
    Pending &pending = pending_[i];
    SINTER_RETURN_IF_ERROR(take(slot.control, inputBytes, false, "the inputs"));
    slot.inputs = slot.control + inputsOffset;
    slot.outputs = outputs;
    SINTER_RETURN_IF_ERROR(take(slot.hostOutputs, outputBytes, true,
                                "the outputs in host memory"));
    SINTER_RETURN_IF_ERROR(take(pending.hostInputs, inputBytes, true,
                                "the inputs in host memory"));
    SINTER_RETURN_IF_ERROR(make(pending.uploaded));
    SINTER_RETURN_IF_ERROR(make(pending.done));
    pending.outputs.resize(mostOutputs);
  }
  return {};
}

Staging::~Staging() {
  // Nothing may be under way into memory that goes.
  (void)place_.device->synchronize();
  for (void *block : hostBlocks_)
    place_.device->freeHost(block);
  for (void *block : blocks_)
    place_.device->free(block);
}

Result<RunNumber> Staging::begin(Executor &executor,
                                 const sinter_control &control,
                                 const void *const *inputs,
                                 void *const *outputs, ProfileSink *profile) {
  const auto slot = static_cast<uint32_t>(begun_ % numSlots);
  Pending &pending = pending_[slot];
  if (begun_ >= numSlots)
    SINTER_RETURN_IF_ERROR(finish(begun_ + 1 - numSlots));
  Device &device = *place_.device;
  const sinter_entry &entry = executor.entry();
  std::memcpy(pending.hostInputs, &control, sizeof(control));
  for (uint32_t i = 0; i < entry.numInputs; ++i)
    if (entry.inputs[i].sizeBytes)
      std::memcpy(pending.hostInputs + inputsOffset +
                      offsetInBlock(entry.inputs, i),
                  inputs[i], entry.inputs[i].sizeBytes);
  std::copy(outputs, outputs + entry.numOutputs, pending.outputs.begin());
  const uint64_t bytes =
      inputsOffset + offsetInBlock(entry.inputs, entry.numInputs);
  SINTER_RETURN_IF_ERROR(device.upload(*uploads_, place_.slots[slot].control,
                                       pending.hostInputs, bytes));
  SINTER_RETURN_IF_ERROR(device.record(*pending.uploaded, *uploads_));
  SINTER_RETURN_IF_ERROR(device.wait(*place_.stream, *pending.uploaded));
  pending.executor = &executor;
  Status started = executor.start(slot, profile);
  if (started.ok())
    started = device.record(*pending.done, *place_.stream);
  if (!started.ok()) {
    // What was queued still uses the slot.
    (void)device.synchronize();
    return started;
  }
  pending.isBusy = true;
  return ++begun_;
}

Status Staging::finish(RunNumber run) {
  Status status;
  while (finished_ < std::min(run, begun_) && status.ok())
    status = deliver(static_cast<uint32_t>(finished_++ % numSlots));
  return status;
}

/// Waits for the run in slot `slot` and writes its outputs.
Status Staging::deliver(uint32_t slot) {
  Pending &pending = pending_[slot];
  if (!pending.isBusy)
    return {};
  pending.isBusy = false;
  Status status = place_.device->synchronize(*pending.done);
  if (!status.ok()) {
    if (status.code() != SINTER_DEVICE_FAILED || !place_.device->hasGraphs())
      return status;
    return {status.code(),
            pending.executor->describeGraph() + ": " + status.message()};
  }
  const sinter_entry &entry = pending.executor->entry();
  const uint8_t *from = place_.slots[slot].hostOutputs;
  for (uint32_t i = 0; i < entry.numOutputs; ++i)
    if (entry.outputs[i].sizeBytes)
      std::memcpy(pending.outputs[i], from + offsetInBlock(entry.outputs, i),
                  entry.outputs[i].sizeBytes);
  return {};
}
