//===- Executor.cpp - one entry of a program, ready to run ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Executor.h"

#include <algorithm>
#include <ctime>

using namespace sinter::rt;

static uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

Result<Executor> Executor::create(const sinter_artifact &artifact,
                                  const sinter_entry &entry, Device &device,
                                  const MemoryMap &memory) {
  Executor executor;
  executor.entry_ = &entry;
  executor.device_ = &device;
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    Step step{};
    step.kind = command.kind;
    step.tiles = command.tiles;
    step.firstBuffer = static_cast<uint32_t>(executor.buffers_.size());
    for (uint32_t j = 0; j < command.numSlices; ++j) {
      const sinter_slice &slice = command.slices[j];
      auto buffer = static_cast<uint32_t>(executor.buffers_.size());
      const uint8_t *base = nullptr;
      switch (slice.space) {
      case SINTER_SPACE_ARENA:
        base = memory.arena;
        break;
      case SINTER_SPACE_STATE:
        base = memory.states + artifact.states[slice.index].offsetBytes;
        break;
      case SINTER_SPACE_CONSTANT:
        base = memory.constants;
        break;
      case SINTER_SPACE_CONTROL:
        base = memory.control;
        break;
      case SINTER_SPACE_INPUT:
        executor.inputPatches_.push_back(
            {buffer, slice.index, slice.offsetBytes});
        break;
      default:
        executor.outputPatches_.push_back(
            {buffer, slice.index, slice.offsetBytes});
        break;
      }
      // Kernels take `void *` for what they only read too.
      executor.buffers_.push_back(
          base ? const_cast<uint8_t *>(base + slice.offsetBytes) : nullptr);
    }
    executor.calls_.emplace_back();
    switch (command.kind) {
    case SINTER_CMD_LAUNCH:
      step.kernel = artifact.kernels[command.target].cpu;
      break;
    case SINTER_CMD_MATMUL:
    case SINTER_CMD_CONV: {
      Library *library = device.library();
      if (!library)
        return Status(SINTER_UNSUPPORTED, std::string(command.label) +
                                              ": device '" + device.name() +
                                              "' has no contraction library");
      auto call =
          library->prepare(command, artifact.constants, device.threads());
      if (!call.ok())
        return Status(call.status().code(), std::string(command.label) + ": " +
                                                call.status().message());
      step.call = call->get();
      executor.calls_.back() = std::move(*call);
      break;
    }
    default:
      step.sizeBytes = command.slices[0].sizeBytes;
      break;
    }
    executor.steps_.push_back(step);
  }
  return executor;
}

uint64_t Executor::sharedScratchBytes() const {
  uint64_t bytes = 0;
  for (const auto &call : calls_)
    bytes = call ? std::max(bytes, call->sharedBytes()) : bytes;
  return bytes;
}

uint64_t Executor::perWorkerScratchBytes() const {
  uint64_t bytes = 0;
  for (const auto &call : calls_)
    bytes = call ? std::max(bytes, call->perWorkerBytes()) : bytes;
  return bytes;
}

Status Executor::bind(const Scratch &scratch) {
  for (const auto &call : calls_)
    if (call)
      SINTER_RETURN_IF_ERROR(call->bind(scratch, device_->threads()));
  return {};
}

std::string Executor::describe(uint32_t index) const {
  return index < calls_.size() && calls_[index] ? calls_[index]->description()
                                                : std::string();
}

Status Executor::runStep(const Step &step) {
  void *const *buffers = buffers_.data() + step.firstBuffer;
  switch (step.kind) {
  case SINTER_CMD_LAUNCH:
    return device_->launch(step.kernel, buffers, step.tiles);
  case SINTER_CMD_MATMUL:
  case SINTER_CMD_CONV:
    return device_->call(*step.call, buffers);
  case SINTER_CMD_COPY:
    return device_->copy(buffers[1], buffers[0], step.sizeBytes);
  default:
    return device_->fillZero(buffers[0], step.sizeBytes);
  }
}

Status Executor::run(const void *const *inputs, void *const *outputs,
                     ProfileSink *profile) {
  for (const Patch &patch : inputPatches_)
    buffers_[patch.buffer] = const_cast<uint8_t *>(
        static_cast<const uint8_t *>(inputs[patch.index]) + patch.offsetBytes);
  for (const Patch &patch : outputPatches_)
    buffers_[patch.buffer] =
        static_cast<uint8_t *>(outputs[patch.index]) + patch.offsetBytes;

  const auto count = static_cast<uint32_t>(steps_.size());
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t begin = profile ? nowNs() : 0;
    Status status = runStep(steps_[i]);
    if (!status.ok())
      return {status.code(),
              std::string(entry_->commands[i].label) + ": " + status.message()};
    if (profile)
      profile->record(*entry_, i, begin, nowNs() - begin);
  }
  return device_->synchronize();
}
