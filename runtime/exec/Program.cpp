//===- Program.cpp - a loaded artifact ------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Program.h"

#include "runtime/exec/ArtifactChecks.h"

#include <algorithm>
#include <cstring>

using namespace sinter::rt;

Result<std::unique_ptr<Program>>
Program::create(const sinter_artifact &artifact,
                std::unique_ptr<Device> device) {
  SINTER_RETURN_IF_ERROR(checkArtifact(artifact));
  SINTER_RETURN_IF_ERROR(device->checkFeatures(artifact.cpuFeatures));
  if (!device->sharesHostMemory())
    return Status(SINTER_UNSUPPORTED,
                  "device '" + device->name() +
                      "' does not share host memory, which programs need");
  std::unique_ptr<Program> program(new Program);
  program->artifact_ = &artifact;
  program->device_ = std::move(device);
  SINTER_RETURN_IF_ERROR(program->load());
  return program;
}

Program::~Program() {
  for (void *address : allocations_)
    device_->free(address);
}

Result<uint8_t *> Program::allocate(uint64_t sizeBytes, const char *purpose) {
  Result<void *> address = device_->allocate(sizeBytes, purpose);
  if (!address.ok())
    return address.status();
  if (*address)
    allocations_.push_back(*address);
  return static_cast<uint8_t *>(*address);
}

Status Program::load() {
  auto place = [&](uint8_t *&address, uint64_t sizeBytes,
                   const char *purpose) -> Status {
    Result<uint8_t *> block = allocate(sizeBytes, purpose);
    if (!block.ok())
      return block.status();
    address = *block;
    return {};
  };
  // Entries run one after the other, so they share one arena.
  uint64_t arenaBytes = 0;
  for (uint32_t i = 0; i < artifact_->numEntries; ++i)
    arenaBytes = std::max(arenaBytes, artifact_->entries[i].arenaBytes);
  SINTER_RETURN_IF_ERROR(place(memory_.arena, arenaBytes, "the arena"));
  SINTER_RETURN_IF_ERROR(
      place(memory_.states, artifact_->stateBytes, "the state"));
  SINTER_RETURN_IF_ERROR(
      place(control_, sizeof(sinter_control), "the control block"));
  memory_.control = control_;
  memory_.constants = artifact_->constants;

  for (uint32_t i = 0; i < artifact_->numStates; ++i) {
    const sinter_state_desc &state = artifact_->states[i];
    if (state.initOffsetBytes != UINT64_MAX && state.tensor.sizeBytes)
      SINTER_RETURN_IF_ERROR(
          device_->copy(memory_.states + state.offsetBytes,
                        artifact_->constants + state.initOffsetBytes,
                        state.tensor.sizeBytes));
  }

  for (uint32_t i = 0; i < artifact_->numEntries; ++i) {
    Result<Executor> executor =
        Executor::create(*artifact_, artifact_->entries[i], *device_, memory_);
    if (!executor.ok())
      return executor.status();
    executors_.push_back(std::move(*executor));
  }
  uint64_t sharedBytes = 0, perWorkerBytes = 0;
  for (const Executor &executor : executors_) {
    sharedBytes = std::max(sharedBytes, executor.sharedScratchBytes());
    perWorkerBytes = std::max(perWorkerBytes, executor.perWorkerScratchBytes());
  }
  Scratch scratch;
  // A page apart, so that neighbours do not share a cache line or a prefetch.
  scratch.perWorkerStride = (perWorkerBytes + 4095) / 4096 * 4096;
  SINTER_RETURN_IF_ERROR(
      place(scratch.shared, sharedBytes, "the library's scratch"));
  SINTER_RETURN_IF_ERROR(
      place(scratch.perWorker,
            scratch.perWorkerStride * static_cast<uint64_t>(device_->threads()),
            "the library's scratch per worker"));
  for (Executor &executor : executors_)
    SINTER_RETURN_IF_ERROR(executor.bind(scratch));
  return device_->synchronize();
}

Executor *Program::find(const char *name) {
  for (Executor &executor : executors_)
    if (std::strcmp(executor.entry().name, name) == 0)
      return &executor;
  return nullptr;
}

uint8_t *Program::state(uint32_t index) {
  if (index >= artifact_->numStates ||
      artifact_->states[index].tensor.sizeBytes == 0)
    return nullptr;
  return memory_.states + artifact_->states[index].offsetBytes;
}

Status Program::run(const char *name, const sinter_control *control,
                    const void *const *inputs, void *const *outputs) {
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
  sinter_control neutral{};
  neutral.validRows = INT64_MAX;
  SINTER_RETURN_IF_ERROR(device_->copy(control_, control ? control : &neutral,
                                       sizeof(sinter_control)));
  return executor->run(inputs, outputs, profile_);
}
