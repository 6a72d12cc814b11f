//===- Program.cpp - a loaded artifact ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Program.h"

#include "runtime/base/DebugWords.h"
#include "runtime/device/Registry.h"
#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/ExpandScans.h"
#include "runtime/exec/MemoryNeeds.h"
#include "runtime/exec/SharedConstants.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <cstring>

using namespace sinter::rt;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Program>>
Program::load(const sinter_artifact &artifact,
              std::vector<std::unique_ptr<Device>> devices) {
  std::unique_ptr<Program> program(new Program);
  program->source_ = program->artifact_ = &artifact;
  if (hasScans(artifact)) {
    program->expanded_ = std::make_unique<ExpandedScans>(artifact);
    program->artifact_ = &program->expanded_->artifact();
  }
  program->places_.resize(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    SINTER_RETURN_IF_ERROR(devices[i]->checkCode(artifact));
    program->places_[i].device = std::move(devices[i]);
  }
  SINTER_RETURN_IF_ERROR(program->load());
  return program;
}

Result<std::unique_ptr<Program>>
Program::create(const sinter_artifact &artifact,
                std::unique_ptr<Device> device) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::move(device));
  return create(artifact, std::move(devices));
}

Result<std::unique_ptr<Program>>
Program::create(const sinter_artifact &artifact,
                std::vector<std::unique_ptr<Device>> devices) {
  SINTER_RETURN_IF_ERROR(checkArtifacts(artifact));
  std::string names;
  for (const std::unique_ptr<Device> &device : devices)
    names += (names.empty() ? "" : ",") + device->name();
  if (artifact.numPlaces) {
    Result<std::vector<std::string>> fits = deviceNames(artifact, names);
    if (!fits.ok())
      return fits.status();
    return load(artifact, std::move(devices));
  }
  if (devices.size() != 1)
    return Status::invalid("the program runs on one device, not on '" + names +
                           "'");
  Result<const sinter_artifact *> chosen =
      artifactFor(artifact, devices[0]->kind(), names);
  if (!chosen.ok())
    return chosen.status();
  return load(**chosen, std::move(devices));
}

Result<std::unique_ptr<Program>>
Program::create(const sinter_artifact &artifact, const std::string &device,
                const DeviceOptions &options) {
  SINTER_RETURN_IF_ERROR(checkArtifacts(artifact));
  Result<const sinter_artifact *> chosen = choose(artifact, device);
  if (!chosen.ok())
    return chosen.status();
  std::vector<std::string> names{device.empty() ? artifact.target : device};
  if (artifact.numPlaces)
    names = *deviceNames(artifact, device);
  if (options.isForSim() &&
      std::none_of(names.begin(), names.end(), [](const std::string &name) {
        return deviceKindOf(name) == "sim";
      }))
    return Status::invalid("--sim-seed, --sim-report and --sim-drop are for "
                           "simulated devices; this runs on '" +
                           names.front() + "'");
  const bool spans = names.size() > 1;
  std::vector<std::unique_ptr<Device>> devices;
  for (const std::string &name : names) {
    DeviceOptions own = options;
    if (spans && deviceKindOf(name) == "cpu")
      own.memoryLimitBytes = 0;
    Result<std::unique_ptr<Device>> made = linkedDevices().create(name, own);
    if (!made.ok())
      return made.status();
    devices.push_back(std::move(*made));
  }
  return load(**chosen, std::move(devices));
}

Result<const sinter_artifact *> Program::choose(const sinter_artifact &artifact,
                                                const std::string &device) {
  if (artifact.numPlaces) {
    Result<std::vector<std::string>> names = deviceNames(artifact, device);
    if (!names.ok())
      return names.status();
    return &artifact;
  }
  std::string name = device.empty() ? artifact.target : device;
  SINTER_RETURN_IF_ERROR(linkedDevices().checkName(name));
  return artifactFor(artifact, deviceKindOf(name), name);
}

Program::Program() = default;

Program::~Program() {
  data_.reset();
  inputMemory_.clear();
  staging_.reset();
  executors_.clear();
  for (const Allocation &allocation : allocations_)
    allocation.device->free(allocation.address);
  for (const Allocation &allocation : hostAllocations_)
    allocation.device->freeHost(allocation.address);
}

Result<uint8_t *> Program::allocate(Place &place, uint64_t sizeBytes,
                                    const char *purpose) {
  Result<void *> address = place.device->allocate(sizeBytes, purpose);
  if (!address.ok())
    return address.status();
  if (*address)
    allocations_.push_back({place.device.get(), *address});
  place.allocatedBytes += sizeBytes;
  return static_cast<uint8_t *>(*address);
}

/// Whether a command runs on the gradient stream of place `index`.
static bool usesGradientStream(const sinter_artifact &artifact,
                               uint32_t index) {
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (uint32_t j = 0; j < artifact.entries[i].numCommands; ++j) {
      const sinter_command &command = artifact.entries[i].commands[j];
      if (command.place == index && command.stream == SINTER_STREAM_GRADIENT)
        return true;
    }
  return false;
}

static Status createOrder(Device &device, std::unique_ptr<Event> &event) {
  Result<std::unique_ptr<Event>> created = device.createEvent(EventUse::Order);
  if (!created.ok())
    return created.status();
  event = std::move(*created);
  return {};
}

/// Creates the streams, and what orders runs if there are several devices.
Status Program::loadQueues(uint32_t index) {
  Place &place = places_[index];
  Device &device = *place.device;
  auto create = [&](std::unique_ptr<Stream> &to) -> Status {
    Result<std::unique_ptr<Stream>> stream = device.createStream();
    if (!stream.ok())
      return stream.status();
    to = std::move(*stream);
    return {};
  };
  SINTER_RETURN_IF_ERROR(create(place.stream));
  if (device.sharesHostMemory())
    return {};
  if (usesGradientStream(*artifact_, index)) {
    SINTER_RETURN_IF_ERROR(create(place.gradients));
    SINTER_RETURN_IF_ERROR(createOrder(device, place.fork));
    SINTER_RETURN_IF_ERROR(createOrder(device, place.join));
  }
  if (places_.size() == 1)
    return {};
  SINTER_RETURN_IF_ERROR(create(place.transfers));
  return createOrder(device, place.end);
}

Status Program::separateSlices(uint32_t index) {
  Place &place = places_[index];
  for (uint32_t i = 0; i < artifact_->numEntries; ++i) {
    SeparateSlices &slices =
        place.separateSlices.emplace_back(artifact_->entries[i], index);
    SINTER_RETURN_IF_ERROR(
        slices.allocate([&](uint64_t sizeBytes) -> Result<uint8_t *> {
          Result<void *> address =
              place.device->allocateApart(sizeBytes, "a value of its own");
          if (!address.ok())
            return address.status();
          allocations_.push_back({place.device.get(), *address});
          place.allocatedBytes += sizeBytes;
          place.device->discard(*address, sizeBytes);
          return static_cast<uint8_t *>(*address);
        }));
  }
  return {};
}

Status Program::loadPlace(uint32_t index) {
  Place &place = places_[index];
  Device &device = *place.device;
  auto take = [&](uint8_t *&address, uint64_t sizeBytes,
                  const char *purpose) -> Status {
    Result<uint8_t *> block = allocate(place, sizeBytes, purpose);
    if (!block.ok())
      return block.status();
    address = *block;
    return {};
  };
  SINTER_RETURN_IF_ERROR(loadQueues(index));
  Result<std::unique_ptr<KernelModule>> kernels =
      device.loadKernels(*artifact_);
  if (!kernels.ok())
    return kernels.status();
  place.kernels = std::move(*kernels);
  Result<bool> separate = SeparateSlices::areWanted();
  if (!separate.ok())
    return separate.status();
  if (*separate) {
    SINTER_RETURN_IF_ERROR(separateSlices(index));
  } else {
    // Entries run one after the other, so they share one arena.
    const uint64_t sizeOfArena = arenaBytes(*artifact_, index);
    SINTER_RETURN_IF_ERROR(take(place.arena, sizeOfArena, "the arena"));
    device.discard(place.arena, sizeOfArena);
  }
  SINTER_RETURN_IF_ERROR(
      take(place.states, stateBytes(*artifact_, index), "the state"));
  if (device.sharesHostMemory()) {
    place.constants = ConstantMap(artifact_->constants);
    if (places_.size() > 1)
      return {}; // Staging makes its slots
    place.slots.resize(1);
    return take(place.slots[0].control, sizeof(sinter_control),
                "the control block");
  }
  place.constants = ConstantMap(*artifact_, index);
  if (!place.constants.sizeBytes())
    return {};
  auto constants = SharedConstants::get(*source_, index, place);
  if (!constants.ok())
    return constants.status();
  place.sharedConstants = std::move(*constants);
  return {};
}

Status Program::bindScratch(uint32_t index) {
  Place &place = places_[index];
  place.callThreads = place.device->threads();
  for (const Stream *stream : {place.stream.get(), place.gradients.get()})
    if (stream)
      SINTER_RETURN_IF_ERROR(bindScratch(index, *stream));
  return {};
}

/// Calls of different streams may run at once, so they share no scratch.
Status Program::bindScratch(uint32_t index, const Stream &stream) {
  Place &place = places_[index];
  ScratchNeeds needs;
  for (const Executor &executor : executors_)
    needs.cover(executor.scratchNeeds(stream));
  uint64_t workersBytes = 0;
  for (Executor &executor : executors_) {
    Result<uint64_t> bytes = executor.shareScratch(
        place, stream, needs, workspaceBytes(*artifact_, index));
    if (!bytes.ok())
      return bytes.status();
    workersBytes = std::max(workersBytes, *bytes);
  }
  Scratch scratch;
  Result<uint8_t *> shared =
      allocate(place, needs.sharedBytes, "the library's scratch");
  if (!shared.ok())
    return shared.status();
  scratch.shared = *shared;
  Result<uint8_t *> perWorker =
      allocate(place, workersBytes, "the library's scratch per worker");
  if (!perWorker.ok())
    return perWorker.status();
  scratch.perWorker = *perWorker;
  for (Executor &executor : executors_)
    SINTER_RETURN_IF_ERROR(executor.bind(place, stream, scratch));
  return {};
}

/// Leaves the arena as loadPlace left it. True if states may have changed.
Result<bool> Program::chooseCalls(uint32_t index) {
  Place &place = places_[index];
  bool hasRun = false;
  if (!place.separateSlices.empty())
    return hasRun; // random operands would hide what nothing wrote
  for (Executor &executor : executors_) {
    Result<bool> ran = executor.chooseCalls(place);
    if (!ran.ok())
      return ran.status();
    hasRun |= *ran;
  }
  if (!hasRun)
    return false;
  if (uint64_t sizeBytes = stateBytes(*artifact_, index))
    SINTER_RETURN_IF_ERROR(
        place.device->fill(*place.stream, place.states, 0, sizeBytes));
  SINTER_RETURN_IF_ERROR(place.device->synchronize());
  place.device->discard(place.arena, arenaBytes(*artifact_, index));
  return true;
}

Status Program::load() {
  bool ownsMemory = false;
  for (uint32_t i = 0; i < places_.size(); ++i) {
    Device &device = *places_[i].device;
    ownsMemory |= !device.sharesHostMemory();
    MemoryNeeds needs = memoryNeeds(*artifact_, device.sharesHostMemory(), i);
    if (SharedConstants::exist(*source_, i, device.name()))
      needs.constantBytes = 0;
    SINTER_RETURN_IF_ERROR(checkMemory(*artifact_, needs, device.name(),
                                       device.availableBytes(), i));
  }
  for (uint32_t i = 0; i < places_.size(); ++i)
    SINTER_RETURN_IF_ERROR(loadPlace(i));
  if (ownsMemory) {
    Result<std::unique_ptr<Staging>> staging =
        Staging::create(*artifact_, places_);
    if (!staging.ok())
      return staging.status();
    staging_ = std::move(*staging);
  }
  for (uint32_t i = 0; i < artifact_->numEntries; ++i) {
    Result<Executor> executor =
        Executor::create(*artifact_, artifact_->entries[i], places_);
    if (!executor.ok())
      return executor.status();
    executors_.push_back(std::move(*executor));
  }
  if (hasRounded(*artifact_)) {
    refresh_ = find(SINTER_ENTRY_REFRESH);
    Result<bool> always = hasDebugWord(freshWeightsWord);
    if (!always.ok())
      return always.status();
    refreshesAlways_ = *always;
  }
  for (const Place &place : places_) {
    auto callsLibrary = [&](const Executor &executor) {
      return executor.callsLibrary(place);
    };
    if (std::any_of(executors_.begin(), executors_.end(), callsLibrary))
      (*place.device->library())->endLoading();
  }
  for (uint32_t i = 0; i < places_.size(); ++i) {
    SINTER_RETURN_IF_ERROR(bindScratch(i));
    SINTER_RETURN_IF_ERROR(places_[i].device->synchronize());
  }
  SINTER_RETURN_IF_ERROR(initializeStates());
  SINTER_RETURN_IF_ERROR(refresh()); // calls are chosen with these values
  bool haveChanged = false;
  for (uint32_t i = 0; i < places_.size(); ++i) {
    Result<bool> changed = chooseCalls(i);
    if (!changed.ok())
      return changed.status();
    haveChanged |= *changed;
  }
  return haveChanged ? initializeStates() : Status();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Executor *Program::find(const char *name) {
  for (Executor &executor : executors_)
    if (std::strcmp(executor.entry().name, name) == 0)
      return &executor;
  return nullptr;
}

Result<Executor *> Program::check(const char *name, const void *const *inputs,
                                  void *const *outputs) {
  Executor *executor = name ? find(name) : nullptr;
  if (!executor) {
    std::string known;
    for (const Executor &other : executors_)
      known += (known.empty() ? "" : ", ") + std::string(other.entry().name);
    return Status::invalid("the program has no entry '" +
                           std::string(name ? name : "(null)") + "'; it has " +
                           (known.empty() ? "none" : known));
  }
  const sinter_entry &entry = executor->entry();
  if ((entry.numInputs && !inputs) || (entry.numOutputs && !outputs))
    return Status::invalid("entry '" + std::string(name) +
                           "': the inputs or outputs are missing");
  for (uint32_t i = 0; i < entry.numInputs; ++i)
    if (entry.inputs[i].sizeBytes && !inputs[i])
      return Status::invalid("entry '" + std::string(name) + "': input '" +
                             entry.inputs[i].name + "' has no address");
  for (uint32_t i = 0; i < entry.numOutputs; ++i)
    if (entry.outputs[i].sizeBytes && !outputs[i])
      return Status::invalid("entry '" + std::string(name) + "': output '" +
                             entry.outputs[i].name + "' has no address");
  return executor;
}

Result<std::optional<InputBlock>> Program::allocateInputs(const char *name) {
  Executor *executor = find(name);
  if (!executor)
    return Status::invalid(std::string("the program has no entry '") + name +
                           "'");
  return staging_ ? staging_->allocateInputs(executor->entry())
                  : std::optional<InputBlock>();
}

Result<RunNumber> Program::begin(const char *name,
                                 const sinter_control *control,
                                 const void *const *inputs,
                                 void *const *outputs) {
  Result<Executor *> executor = check(name, inputs, outputs);
  if (!executor.ok())
    return executor.status();
  sinter_control neutral{};
  neutral.validRows = INT64_MAX;
  if (*executor != refresh_)
    SINTER_RETURN_IF_ERROR(refresh());
  return begin(**executor, control ? *control : neutral, inputs, outputs,
               profile_);
}

Result<RunNumber> Program::begin(Executor &executor,
                                 const sinter_control &control,
                                 const void *const *inputs,
                                 void *const *outputs, ProfileSink *profile) {
  if (staging_)
    return staging_->begin(executor, control, inputs, outputs, profile);
  std::memcpy(places_.front().slots[0].control, &control, sizeof(control));
  SINTER_RETURN_IF_ERROR(executor.run(inputs, outputs, profile));
  return RunNumber(0);
}

Status Program::wait(RunNumber run) {
  return staging_ ? staging_->finish(run) : Status();
}

Status Program::run(const char *name, const sinter_control *control,
                    const void *const *inputs, void *const *outputs) {
  Result<RunNumber> begun = begin(name, control, inputs, outputs);
  return begun.ok() ? wait(*begun) : begun.status();
}

Status Program::join(const sinter_rank &rank) {
  const int64_t replicas = replicasOf(*artifact_);
  if (rank.replicas != replicas)
    return Status::invalid("the program was compiled for " +
                           std::to_string(replicas) + " replicas, not for " +
                           std::to_string(rank.replicas));
  Result<std::unique_ptr<Communicator>> group = device().joinGroup(rank);
  if (!group.ok())
    return group.status();
  std::vector<Collective> all;
  for (const Executor &executor : executors_)
    executor.listCollectives(all);
  if (const uint64_t sizeBytes = (*group)->scratchBytes(all)) {
    Result<uint8_t *> scratch = allocate(places_.front(), sizeBytes,
                                         "the buffer of sums over processes");
    SINTER_RETURN_IF_ERROR(scratch.status());
    (*group)->useScratch({*scratch, sizeBytes});
  }
  places_.front().group = std::move(*group);
  return initializeParts(rank.rank);
}

void Program::leave() {
  // After a run that failed, another one may be under way.
  (void)finishRuns();
  for (Place &place : places_)
    (void)place.device->synchronize();
  for (Executor &executor : executors_)
    executor.dropGraphs();
  places_.front().group.reset();
}

void Program::abortGroup() {
  if (places_.front().group)
    places_.front().group->abort();
}
