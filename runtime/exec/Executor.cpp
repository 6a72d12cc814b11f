//===- Executor.cpp - one entry of a program, ready to run ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Executor.h"
#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/MemoryNeeds.h"

#include <algorithm>
#include <numeric>

using namespace sinter::rt;

namespace {

/// The call of a command that a chain before it computes.
class DoneBefore final : public LibraryCall {
public:
  uint64_t sharedBytes() const override { return 0; }
  uint64_t perWorkerBytes() const override { return 0; }
  Status bind(const Scratch &, int) override { return {}; }
  Status run(void *const *, const CallContext &) override { return {}; }
  std::string description() const override { return kWithCommandBefore; }
};

} // namespace

/// The address of `slice` in slot `slot`, for a command on `place`; null if it
/// changes from run to run.
void *Executor::address(const sinter_artifact &artifact, const Place &place,
                        const sinter_slice &slice, uint32_t slot) {
  const Slot &io = place.slots[slot];
  const uint8_t *base = nullptr;
  uint64_t offset = slice.offsetBytes;
  switch (slice.space) {
  case SINTER_SPACE_ARENA:
    base = place.arena;
    break;
  case SINTER_SPACE_STATE:
    base = place.states + artifact.states[slice.index].offsetBytes;
    break;
  case SINTER_SPACE_CONSTANT:
    base = place.constants.at(slice.offsetBytes);
    offset = 0;
    break;
  case SINTER_SPACE_CONTROL:
    base = io.control;
    break;
  case SINTER_SPACE_CHAIN:
    base = links_.empty()
               ? nullptr
               : static_cast<const uint8_t *>(links_[slice.index].get());
    break;
  case SINTER_SPACE_INPUT:
    base = io.inputs;
    offset += base ? offsetInBlock(entry_->inputs, slice.index) : 0;
    break;
  default:
    base = io.outputs;
    offset += base ? offsetInBlock(entry_->outputs, slice.index) : 0;
    break;
  }
  // Kernels take `void *` even for what they only read.
  return base ? const_cast<uint8_t *>(base + offset) : nullptr;
}

/// Whether a call that is prepared for one of the commands can also compute the
/// other: the trips of a scan have the same parameters. A library packs
/// constants, and may rely on alignments and on what overlaps with the result.
static bool mayShareCall(const sinter_command &a, const sinter_command &b) {
  auto alignment = [](const sinter_slice &slice) {
    constexpr uint64_t most = 256; // of all devices
    return slice.offsetBytes ? std::gcd(slice.offsetBytes, most) : most;
  };
  auto overlapsResult = [](const sinter_command &command, uint32_t i) {
    const sinter_slice &x = command.slices[i],
                       &y = command.slices[command.numSlices - 1];
    return x.space == y.space && x.index == y.index &&
           x.offsetBytes < y.offsetBytes + y.sizeBytes &&
           y.offsetBytes < x.offsetBytes + x.sizeBytes;
  };
  if (a.numSlices != b.numSlices)
    return false;
  for (uint32_t i = 0; i < a.numSlices; ++i)
    if (overlapsResult(a, i) != overlapsResult(b, i))
      return false;
  auto isSame = [&](const sinter_slice &x, const sinter_slice &y) {
    if (x.sizeBytes != y.sizeBytes || alignment(x) != alignment(y))
      return false;
    const bool isConstant = x.space == SINTER_SPACE_CONSTANT;
    if (isConstant != (y.space == SINTER_SPACE_CONSTANT))
      return false;
    // States have another base, with less alignment.
    const bool isState = x.space == SINTER_SPACE_STATE;
    return isState == (y.space == SINTER_SPACE_STATE) &&
           (!isConstant || x.offsetBytes == y.offsetBytes);
  };
  const auto isSameCall = [&] {
    switch (a.kind) {
    case SINTER_CMD_MATMUL:
      return a.matmul.params == b.matmul.params &&
             a.matmul.way == b.matmul.way &&
             a.matmul.dtypeOfB == b.matmul.dtypeOfB;
    case SINTER_CMD_CONV:
      return a.conv.params == b.conv.params && a.conv.way == b.conv.way &&
             a.conv.dtypeOfFilter == b.conv.dtypeOfFilter;
    default:
      return a.attention.params == b.attention.params;
    }
  };
  return a.kind == b.kind && isSameCall() && a.place == b.place &&
         a.stream == b.stream && a.numReads == b.numReads &&
         std::equal(a.slices, a.slices + a.numSlices, b.slices,
                    b.slices + b.numSlices, isSame);
}

static CallMeans meansOf(const sinter_artifact &artifact, const Device &device,
                         uint32_t place) {
  return {.constants = artifact.constants,
          .threads = device.threads(),
          .workspaceBytes = workspaceBytes(artifact, place),
          .isOrdered = !artifact.isUnordered,
          .constantBytes = artifact.constantsBytes};
}

/// Allocates what is between the commands of chains, if that was not done.
Status Executor::provideLinks() {
  if (!links_.empty())
    return {};
  decltype(links_) links(SINTER_MAX_CHAIN - 1);
  for (uint32_t index = 0; index < links.size(); ++index) {
    uint64_t sizeBytes = 0;
    for (uint32_t i = 0; i < entry_->numCommands; ++i)
      if (const sinter_command &command = entry_->commands[i];
          isChainedToNext(command))
        if (const sinter_slice &link = command.slices[command.numSlices - 1];
            link.index == index)
          sizeBytes = std::max(sizeBytes, link.sizeBytes);
    Device &device = *main_->device;
    Result<void *> memory =
        device.allocate(sizeBytes, "results between convolutions");
    if (!memory.ok())
      return memory.status();
    links[index] = {*memory, [&device](void *each) { device.free(each); }};
  }
  links_ = std::move(links);
  // Without slots yet, addSlot() takes the addresses.
  for (size_t i = 0; i < buffers_.size(); ++i)
    for (uint32_t j = 0; j < steps_.size(); ++j)
      for (uint32_t k = 0; k < entry_->commands[j].numSlices; ++k)
        if (const sinter_slice &slice = entry_->commands[j].slices[k];
            slice.space == SINTER_SPACE_CHAIN)
          buffers_[i][steps_[j].firstBuffer + k] = links_[slice.index].get();
  return {};
}

/// Makes the chain that begins with command `index` the last one.
Status Executor::prepareChain(const sinter_artifact &artifact, uint32_t index,
                              const Step &step) {
  uint32_t end = index;
  while (isChainedToNext(entry_->commands[end]))
    ++end;
  Device &device = *step.place->device;
  Result<Library *> library = device.library();
  if (!library.ok())
    return library.status();
  auto chain = (*library)->prepareChain(
      std::span(entry_->commands + index, entry_->commands + end + 1),
      meansOf(artifact, device, entry_->commands[index].place));
  if (!chain.ok())
    return chain.status();
  chain_ = {chain->get(), index, end + 1};
  calls_.back() = std::move(*chain);
  return chain_.call ? Status() : provideLinks();
}

Status Executor::prepareCall(const sinter_artifact &artifact, uint32_t index,
                             Step &step) {
  const sinter_command &command = entry_->commands[index];
  if (index >= chain_.end && isChainedToNext(command))
    SINTER_RETURN_IF_ERROR(prepareChain(artifact, index, step));
  if (index < chain_.end && chain_.call) {
    if (index > chain_.begin)
      calls_.back() = std::make_unique<DoneBefore>();
    step.call = calls_.back().get();
    step.alone = &chain_.call->member(index - chain_.begin);
    return {};
  }
  std::vector<uint32_t> &known = callsOf_[command.matmul.params];
  for (uint32_t other : known)
    if (mayShareCall(entry_->commands[other], command)) {
      callOf_.back() = other;
      step.call = calls_[other].get();
      step.call->expectRepeats();
      return {};
    }
  known.push_back(index);
  Device &device = *step.place->device;
  Result<Library *> library = device.library();
  if (!library.ok())
    return library.status();
  auto call =
      (*library)->prepare(command, meansOf(artifact, device, command.place));
  if (!call.ok())
    return call.status();
  step.call = call->get();
  calls_.back() = std::move(*call);
  return {};
}

Status Executor::prepareCollective(const sinter_command &command, Place &place,
                                   Step &step) {
  step.collective = static_cast<uint32_t>(collectives_.size());
  const uint32_t event = command.collective.event;
  if (collectiveOf_.size() <= event)
    collectiveOf_.resize(event + 1);
  collectiveOf_[event] = step.collective;
  PreparedCollective &made = collectives_.emplace_back();
  made.op = command.collective.op;
  made.dtype = command.collective.dtype;
  made.elements = collectiveElements(command);
  for (std::unique_ptr<Event> *event : {&made.ready, &made.done}) {
    auto created = place.device->createEvent(EventUse::Order);
    if (!created.ok())
      return created.status();
    *event = std::move(*created);
  }
  if (place.collectives)
    return {};
  auto stream = place.device->createStream();
  if (!stream.ok())
    return stream.status();
  place.collectives = std::move(*stream);
  return {};
}

Status Executor::prepareEvent(const sinter_command &command, Step &step) {
  step.event = command.event;
  if (command.kind == SINTER_CMD_WAIT)
    return {};
  if (marksOfPlan_.size() <= step.event)
    marksOfPlan_.resize(step.event + 1);
  Device &device = *step.place->device;
  if (device.sharesHostMemory())
    return {};
  Result<std::unique_ptr<Event>> event = device.createEvent(EventUse::Order);
  if (!event.ok())
    return event.status();
  marksOfPlan_[step.event] = {std::move(*event), step.place};
  return {};
}

Result<Executor> Executor::create(const sinter_artifact &artifact,
                                  const sinter_entry &entry,
                                  std::span<Place> places) {
  Executor executor;
  executor.entry_ = &entry;
  executor.main_ = &places.front();
  executor.places_ = places;
  executor.indexChecks_ = indexChecks(artifact, entry);
  executor.indexesFound_.resize(2 * executor.indexChecks_.size());
  executor.outputPlaces_.assign(writtenOutputs(entry), &places.front());
  uint32_t numBuffers = 0;
  executor.outputBytes_ = offsetInBlock(entry.outputs, writtenOutputs(entry));
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    Place &place = places[command.place];
    Step step{};
    step.kind = command.kind;
    step.place = &place;
    step.stream = place.streamOf(command.stream);
    if (step.stream == place.gradients.get() &&
        std::ranges::find(executor.gradientPlaces_, &place) ==
            executor.gradientPlaces_.end())
      executor.gradientPlaces_.push_back(&place);
    if (command.kind == SINTER_CMD_COPY) {
      step.from = &places[command.copy.from];
      step.to = &places[command.copy.to];
    }
    step.firstBuffer = numBuffers;
    for (uint32_t j = 0; j < command.numSlices; ++j, ++numBuffers) {
      const sinter_slice &slice = command.slices[j];
      if (slice.space == SINTER_SPACE_OUTPUT && j >= command.numReads)
        executor.outputPlaces_[slice.index] = !step.from ? &place
                                              : j == 0   ? step.from
                                                         : step.to;
      if (!place.slots[0].inputs && slice.space == SINTER_SPACE_INPUT)
        executor.inputPatches_.push_back(
            {numBuffers, slice.index, slice.offsetBytes});
      if (!place.slots[0].outputs && slice.space == SINTER_SPACE_OUTPUT)
        executor.outputPatches_.push_back(
            {numBuffers, slice.index, slice.offsetBytes});
    }
    executor.calls_.emplace_back();
    executor.callOf_.push_back(i);
    Status prepared;
    switch (command.kind) {
    case SINTER_CMD_LAUNCH:
      step.kernel = command.launch.kernel;
      step.tiles = command.launch.tiles;
      break;
    case SINTER_CMD_MATMUL:
    case SINTER_CMD_CONV:
    case SINTER_CMD_ATTENTION:
      prepared = executor.prepareCall(artifact, i, step);
      break;
    case SINTER_CMD_COLLECTIVE:
      prepared = executor.prepareCollective(command, place, step);
      break;
    case SINTER_CMD_AWAIT:
      step.collective = executor.collectiveOf_[command.event];
      break;
    case SINTER_CMD_RECORD:
    case SINTER_CMD_WAIT:
      prepared = executor.prepareEvent(command, step);
      break;
    default:
      step.sizeBytes = command.slices[0].sizeBytes;
      break;
    }
    executor.steps_.push_back(step);
    if (!prepared.ok())
      return executor.named(i, prepared);
  }
  executor.callsOf_.clear();
  executor.addSlots(artifact);
  return executor;
}

void Executor::addSlots(const sinter_artifact &artifact) {
  const auto numSlots = static_cast<uint32_t>(main_->slots.size());
  for (auto slot = static_cast<uint32_t>(buffers_.size()); slot < numSlots;
       ++slot)
    addSlot(artifact, slot);
  graphs_.resize(numSlots);
  seriesGraphs_.resize(numSlots);
}

void Executor::dropSlots() {
  const size_t numSlots = main_->slots.size();
  buffers_.resize(numSlots);
  graphs_.resize(numSlots);
  seriesGraphs_.resize(numSlots);
}

/// Computes the addresses of all slices in slot `slot`, the next one.
void Executor::addSlot(const sinter_artifact &artifact, uint32_t slot) {
  std::vector<void *> &buffers = buffers_.emplace_back();
  for (uint32_t i = 0; i < entry_->numCommands; ++i) {
    const sinter_command &command = entry_->commands[i];
    const Step &step = steps_[i];
    for (uint32_t j = 0; j < command.numSlices; ++j) {
      const sinter_slice &slice = command.slices[j];
      Place &there = !step.from ? *step.place : j == 0 ? *step.from : *step.to;
      const bool isSeparate =
          slice.space == SINTER_SPACE_ARENA && !there.separateSlices.empty();
      buffers.push_back(
          isSeparate
              ? there.separateSlices[entry_ - artifact.entries].address(i, j)
              : address(artifact, there, slice, slot));
    }
  }
}

Status Executor::checkIndices(const int64_t *found) {
  indexFault_ =
      findIndexFault(indexChecks_, found ? found : indexesFound_.data());
  return indexFault_ ? Status::failed(indexFault_->text()) : Status();
}

bool Executor::callsLibrary(const Place &place) const {
  for (size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i] && steps_[i].place == &place)
      return true;
  return false;
}

std::string Executor::describe(uint32_t index) const {
  if (index >= calls_.size() || !calls_[callOf_[index]])
    return {};
  return calls_[callOf_[index]]->description();
}

std::string Executor::describe(const Place &place) const {
  constexpr size_t most = 3;
  size_t count = 0;
  std::string names;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].place != &place ||
        (steps_[i].kind != SINTER_CMD_LAUNCH && !calls_[callOf_[i]] &&
         steps_[i].kind != SINTER_CMD_COLLECTIVE))
      continue;
    if (++count <= most)
      names += (count > 1 ? "; " : "") + std::string(entry_->commands[i].label);
  }
  return std::string("entry '") + entry_->name + "'" +
         (spans() ? " on " + place.device->name() : "") + " (" +
         std::to_string(count) + " kernels and calls: " + names +
         (count > most ? "; ..." : "") + ")";
}

Status Executor::named(const Place &place, const Status &status) const {
  if (status.code() != SINTER_DEVICE_FAILED || !place.device->hasGraphs())
    return status;
  return status.as(status.code(), describe(place) + ": " + status.message());
}

Status Executor::named(uint32_t step, const Status &status) const {
  const std::string label = entry_->commands[step].label;
  return label.empty()
             ? status
             : status.as(status.code(), label + ": " + status.message());
}
