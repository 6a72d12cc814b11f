//===- Staging.cpp - inputs to a device's memory, outputs back ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Staging.h"

#include "runtime/exec/IndexChecks.h"

#include <algorithm>
#include <cstring>

using namespace sinter::rt;

/// Where the inputs begin, after the control block.
static constexpr uint64_t inputsOffset = 256;
static_assert(sizeof(sinter_control) <= inputsOffset);

InputBlock::InputBlock(Staging &staging, uint8_t *block,
                       const sinter_entry &entry)
    : staging_(&staging), block_(block) {
  for (uint32_t i = 0; i < entry.numInputs; ++i)
    inputs_.push_back(block + inputsOffset + offsetInBlock(entry.inputs, i));
}

InputBlock &InputBlock::operator=(InputBlock &&other) noexcept {
  std::swap(staging_, other.staging_);
  std::swap(block_, other.block_);
  std::swap(inputs_, other.inputs_);
  return *this;
}

InputBlock::~InputBlock() {
  if (block_)
    staging_->freeInputs(block_);
}

Result<std::unique_ptr<Staging>>
Staging::create(const sinter_artifact &artifact, std::span<Place> places) {
  std::unique_ptr<Staging> staging(new Staging(places));
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
    outputBytes = std::max(outputBytes,
                           offsetInBlock(entry.outputs, writtenOutputs(entry)));
    mostOutputs = std::max<size_t>(mostOutputs, entry.numOutputs);
  }
  return {inputBytes, outputBytes, mostOutputs};
}

uint64_t Staging::deviceBytes(const sinter_artifact &artifact) {
  Sizes sizes = sizesOf(artifact);
  return numSlots * sizes.inputBytes + sizes.outputBytes;
}

/// Pinned memory of the first device with memory of its own serves all.
Status Staging::allocateHost(const sinter_artifact &artifact) {
  Device &device = *lanes_.front().place->device;
  const auto [inputBytes, outputBytes, mostOutputs] = sizesOf(artifact);
  auto take = [&](uint8_t *&address, uint64_t bytes,
                  const char *purpose) -> Status {
    Result<void *> block = device.allocateHost(bytes, purpose);
    if (!block.ok())
      return block.status();
    hostBlocks_.push_back({&device, *block});
    address = static_cast<uint8_t *>(*block);
    return {};
  };
  for (uint32_t i = 0; i < numSlots; ++i) {
    Pending &pending = pending_[i];
    uint8_t *outputs = nullptr;
    SINTER_RETURN_IF_ERROR(
        take(outputs, outputBytes, "the outputs in host memory"));
    SINTER_RETURN_IF_ERROR(
        take(pending.hostInputs, inputBytes, "the inputs in host memory"));
    pending.outputs.reserve(mostOutputs);
    for (Place &place : places_) {
      Slot &slot = place.slots[i];
      slot.hostOutputs = outputs;
      if (!place.device->sharesHostMemory())
        continue;
      slot.control = pending.hostInputs;
      slot.inputs = pending.hostInputs + inputsOffset;
      slot.outputs = outputs;
    }
  }
  return {};
}

Status Staging::allocateLane(const sinter_artifact &artifact, Lane &lane) {
  Device &device = *lane.place->device;
  const auto [inputBytes, outputBytes, mostOutputs] = sizesOf(artifact);
  auto take = [&](uint8_t *&address, uint64_t bytes,
                  const char *purpose) -> Status {
    Result<void *> block = device.allocate(bytes, purpose);
    if (!block.ok())
      return block.status();
    blocks_.push_back({&device, *block});
    lane.place->allocatedBytes += bytes;
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
  lane.uploads = std::move(*uploads);
  // Runs come one after the other, so their outputs share one block there.
  uint8_t *outputs = nullptr;
  SINTER_RETURN_IF_ERROR(take(outputs, outputBytes, "the outputs"));
  for (uint32_t i = 0; i < numSlots; ++i) {
    Slot &slot = lane.place->slots[i];
    SINTER_RETURN_IF_ERROR(take(slot.control, inputBytes, "the inputs"));
    slot.inputs = slot.control + inputsOffset;
    slot.outputs = outputs;
    SINTER_RETURN_IF_ERROR(make(lane.uploaded[i]));
    SINTER_RETURN_IF_ERROR(make(lane.done[i]));
  }
  return {};
}

/// Whether commands on `place` read inputs.
static bool readsInputs(const sinter_artifact &artifact, uint32_t place) {
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (uint32_t j = 0; j < artifact.entries[i].numCommands; ++j) {
      const sinter_command &command = artifact.entries[i].commands[j];
      bool isCopy = command.kind == SINTER_CMD_COPY;
      for (uint32_t k = 0; k < command.numReads; ++k)
        if (command.slices[k].space == SINTER_SPACE_INPUT &&
            (isCopy ? command.copy.from : command.place) == place)
          return true;
    }
  return false;
}

Status Staging::allocate(const sinter_artifact &artifact) {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    Place &place = places_[i];
    place.slots.resize(numSlots);
    if (place.device->sharesHostMemory())
      continue;
    Lane &lane = lanes_.emplace_back();
    lane.place = &place;
    lane.readsInputs = readsInputs(artifact, i);
  }
  for (Lane &lane : lanes_)
    SINTER_RETURN_IF_ERROR(allocateLane(artifact, lane));
  return allocateHost(artifact);
}

void Staging::synchronizeAll() {
  for (Lane &lane : lanes_)
    (void)lane.place->device->synchronize();
}

Staging::~Staging() {
  // No copy may still write to memory that is freed.
  synchronizeAll();
  for (auto &[device, block] : hostBlocks_)
    device->freeHost(block);
  for (auto &[device, block] : blocks_)
    device->free(block);
}

Result<std::optional<InputBlock>>
Staging::allocateInputs(const sinter_entry &entry) {
  if (lanes_.size() < places_.size())
    return std::optional<InputBlock>();
  Device &device = *lanes_.front().place->device;
  Result<void *> block = device.allocateHost(
      inputsOffset + offsetInBlock(entry.inputs, entry.numInputs),
      "a batch in host memory");
  if (!block.ok())
    return block.status();
  inputBlocks_.push_back(static_cast<uint8_t *>(*block));
  return std::optional<InputBlock>(
      InputBlock(*this, inputBlocks_.back(), entry));
}

void Staging::freeInputs(uint8_t *block) {
  synchronizeAll(); // a failed run may still read it
  inputBlocks_.erase(
      std::find(inputBlocks_.begin(), inputBlocks_.end(), block));
  lanes_.front().place->device->freeHost(block);
}

/// The block of allocateInputs() that holds `inputs`; null if there is none.
uint8_t *Staging::blockOf(const sinter_entry &entry,
                          const void *const *inputs) const {
  if (!entry.numInputs)
    return nullptr;
  auto *first = static_cast<const uint8_t *>(inputs[0]);
  auto block = std::find_if(
      inputBlocks_.begin(), inputBlocks_.end(),
      [&](uint8_t *block) { return block + inputsOffset == first; });
  if (block == inputBlocks_.end())
    return nullptr;
  for (uint32_t i = 1; i < entry.numInputs; ++i)
    if (inputs[i] != *block + inputsOffset + offsetInBlock(entry.inputs, i))
      return nullptr;
  return *block;
}

Status Staging::upload(Lane &lane, uint32_t slot,
                       const DeviceData::Transfer &what) {
  Device &device = *lane.place->device;
  SINTER_RETURN_IF_ERROR(
      device.upload(*lane.uploads, what.to, what.from, what.sizeBytes));
  SINTER_RETURN_IF_ERROR(device.record(*lane.uploaded[slot], *lane.uploads));
  return device.wait(*lane.place->stream, *lane.uploaded[slot]);
}

/// The memory of the next run is free when the run before the last is done.
Status Staging::waitForSlot() {
  return begun_ >= numSlots ? finish(begun_ + 1 - numSlots) : Status();
}

/// Starts what the next slot of pending_ describes and whose uploads are
/// queued, if that succeeded.
Result<RunNumber> Staging::start(Status started, ProfileSink *profile) {
  const auto slot = static_cast<uint32_t>(begun_ % numSlots);
  Pending &pending = pending_[slot];
  if (started.ok())
    started = pending.executor->start(pending.firstSlot, pending.runs, profile);
  for (Lane &lane : lanes_)
    if (started.ok())
      started =
          lane.place->device->record(*lane.done[slot], *lane.place->stream);
  if (!started.ok()) {
    synchronizeAll(); // queued commands still use the slot
    return started;
  }
  pending.isBusy = true;
  return ++begun_;
}

Result<RunNumber> Staging::begin(Executor &executor,
                                 const sinter_control &control,
                                 const void *const *inputs,
                                 void *const *outputs, ProfileSink *profile) {
  SINTER_RETURN_IF_ERROR(waitForSlot());
  const auto slot = static_cast<uint32_t>(begun_ % numSlots);
  Pending &pending = pending_[slot];
  const sinter_entry &entry = executor.entry();
  uint8_t *from = blockOf(entry, inputs);
  if (!from) {
    from = pending.hostInputs;
    for (uint32_t i = 0; i < entry.numInputs; ++i) {
      const uint64_t bytes = entry.inputs[i].sizeBytes;
      if (bytes)
        std::memcpy(from + inputsOffset + offsetInBlock(entry.inputs, i),
                    inputs[i], bytes);
      copiedInputBytes_ += bytes;
    }
  }
  std::memcpy(from, &control, sizeof(control));
  pending.outputs.assign(outputs, outputs + entry.numOutputs);
  pending.executor = &executor;
  pending.firstSlot = slot;
  pending.runs = 1;
  const uint64_t bytes =
      inputsOffset + offsetInBlock(entry.inputs, entry.numInputs);
  Status uploaded;
  for (Lane &lane : lanes_)
    if (uploaded.ok())
      uploaded = upload(lane, slot,
                        {lane.place->slots[slot].control, from,
                         lane.readsInputs ? bytes : inputsOffset});
  return start(std::move(uploaded), profile);
}

Result<RunNumber> Staging::beginSeries(DeviceData &data,
                                       std::span<const sinter_control> controls,
                                       const int64_t *rows,
                                       void *const *outputs,
                                       ProfileSink *profile) {
  SINTER_RETURN_IF_ERROR(waitForSlot());
  const auto slot = static_cast<uint32_t>(begun_ % numSlots),
             runs = static_cast<uint32_t>(controls.size());
  for (uint32_t run = 0; run < runs; ++run)
    data.write(slot, run, controls[run], rows + run * data.batch());
  Pending &pending = pending_[slot];
  pending.executor = &data.executor();
  pending.firstSlot = data.firstSlot(slot);
  pending.runs = runs;
  pending.outputs.assign(
      outputs, outputs + runs * writtenOutputs(pending.executor->entry()));
  return start(upload(lanes_.front(), slot, data.transfer(slot, runs)),
               profile);
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
  for (Lane &lane : lanes_) {
    Device &device = *lane.place->device;
    Status status = device.synchronize(*lane.done[slot]);
    if (!status.ok())
      return pending.executor->named(*lane.place, status);
  }
  const sinter_entry &entry = pending.executor->entry();
  const std::vector<Slot> &slots = places_.front().slots;
  auto to = pending.outputs.begin();
  for (uint32_t run = 0; run < pending.runs; ++run) {
    const uint8_t *from = slots[pending.firstSlot + run].hostOutputs;
    const uint32_t count =
        pending.runs == 1 ? entry.numOutputs : writtenOutputs(entry);
    for (uint32_t i = 0; i < count; ++i, ++to)
      if (entry.outputs[i].sizeBytes)
        std::memcpy(*to, from + offsetInBlock(entry.outputs, i),
                    entry.outputs[i].sizeBytes);
  }
  if (!entry.numIndexChecks || pending.runs > 1)
    return {};
  return pending.executor->checkIndices(reinterpret_cast<const int64_t *>(
      slots[pending.firstSlot].hostOutputs +
      offsetInBlock(entry.outputs, entry.numOutputs)));
}
