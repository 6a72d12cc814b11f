//===- RunEntry.cpp - the commands of an entry, queued or run -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Executor.h"

#include <ctime>

using namespace sinter::rt;

static uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

/// Queues a collective, which overlaps with the commands after it.
Status Executor::beginCollective(const Step &step, Stream &stream,
                                 void *const *buffers) {
  Place &place = *step.place;
  PreparedCollective &what = collectives_[step.collective];
  if (!place.group)
    return Status::invalid("is a collective of replicas, but this program has "
                           "not joined a group of replicas");
  SINTER_RETURN_IF_ERROR(place.device->record(*what.ready, stream));
  SINTER_RETURN_IF_ERROR(place.device->wait(*place.collectives, *what.ready));
  SINTER_RETURN_IF_ERROR(place.group->run(
      *place.collectives, {what.op, what.dtype, what.elements}, buffers));
  what.number = place.group->numBegun();
  return place.device->record(*what.done, *place.collectives);
}

/// The destination does a copy between two devices with memory of their own;
/// the device does one from or to host memory.
Status Executor::runCopy(const Step &step, void *to, const void *from) {
  Device &source = *step.from->device, &destination = *step.to->device;
  if (step.from == step.to)
    return destination.copy(*step.stream, to, from, step.sizeBytes);
  if (source.sharesHostMemory())
    return destination.upload(*step.stream, to, from, step.sizeBytes);
  if (destination.sharesHostMemory())
    return source.download(*step.stream, to, from, step.sizeBytes);
  return destination.copyFromPeer(*step.stream, to, source, from,
                                  step.sizeBytes);
}

Status Executor::awaitMark(const Step &step, Stream &stream) {
  const Mark &mark = marksOfPlan_[step.event];
  if (!mark.event)
    return {};
  Device &device = *step.place->device;
  // The next command of the CPU runs at once, so the host must wait.
  return device.sharesHostMemory()
             ? mark.place->device->synchronize(*mark.event)
             : device.wait(stream, *mark.event);
}

Status Executor::runStep(const Step &step, Stream &stream, uint32_t slot) {
  void *const *buffers = buffers_[slot].data() + step.firstBuffer;
  Device &device = *step.place->device;
  switch (step.kind) {
  case SINTER_CMD_LAUNCH:
    return device.launch(stream, *step.place->kernels, step.kernel, buffers,
                         step.tiles);
  case SINTER_CMD_MATMUL:
  case SINTER_CMD_CONV:
  case SINTER_CMD_ATTENTION:
    return device.call(stream, watch_ && step.alone ? *step.alone : *step.call,
                       buffers);
  case SINTER_CMD_COLLECTIVE:
    return beginCollective(step, stream, buffers);
  case SINTER_CMD_AWAIT: {
    const PreparedCollective &what = collectives_[step.collective];
    if (step.place->group)
      SINTER_RETURN_IF_ERROR(step.place->group->await(what.number));
    return device.wait(stream, *what.done);
  }
  case SINTER_CMD_COPY:
    return runCopy(step, buffers[1], buffers[0]);
  case SINTER_CMD_RECORD: {
    Mark &mark = marksOfPlan_[step.event];
    return mark.event ? device.record(*mark.event, stream) : Status();
  }
  case SINTER_CMD_WAIT:
    return awaitMark(step, stream);
  default:
    return device.fill(stream, buffers[0], 0, step.sizeBytes);
  }
}

/// Runs a command under its nodes' names, for the vendor's profilers.
Status Executor::runNamed(uint32_t step, Stream &stream, uint32_t slot) {
  Device &device = *steps_[step].place->device;
  device.beginRange(entry_->commands[step].label);
  Status status = runStep(steps_[step], stream, slot);
  device.endRange();
  return status;
}

Status Executor::run(const void *const *inputs, void *const *outputs,
                     ProfileSink *profile) {
  std::vector<void *> &buffers = buffers_[0];
  for (const Patch &patch : inputPatches_)
    buffers[patch.buffer] = const_cast<uint8_t *>(
        static_cast<const uint8_t *>(inputs[patch.index]) + patch.offsetBytes);
  for (const Patch &patch : outputPatches_) {
    void *output = patch.index < entry_->numOutputs ? outputs[patch.index]
                                                    : indexesFound_.data();
    buffers[patch.buffer] = static_cast<uint8_t *>(output) + patch.offsetBytes;
  }

  if (watch_)
    SINTER_RETURN_IF_ERROR(provideLinks());
  const auto count = static_cast<uint32_t>(steps_.size());
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t begin = profile ? nowNs() : 0;
    Status status = runStep(steps_[i], *steps_[i].stream, 0);
    if (!status.ok())
      return named(i, status);
    if (profile)
      profile->record(*entry_, i, begin, nowNs() - begin);
    if (watch_)
      SINTER_RETURN_IF_ERROR(tellWatch(i, 0));
  }
  SINTER_RETURN_IF_ERROR(main_->device->synchronize());
  return checkIndices();
}

Status Executor::tellWatch(uint32_t index, uint32_t slot) {
  const Step *step = &steps_[index];
  if (step->kind == SINTER_CMD_COLLECTIVE || step->kind == SINTER_CMD_RECORD ||
      step->kind == SINTER_CMD_WAIT)
    return {};
  if (step->kind == SINTER_CMD_AWAIT) {
    // Report the collective before it that has its number.
    const uint32_t awaited = step->collective;
    do
      step = &steps_[--index];
    while (step->kind != SINTER_CMD_COLLECTIVE || step->collective != awaited);
  }
  Place &place = step->to ? *step->to : *step->place;
  return watch_->ran({*entry_, index, *place.device, *place.stream,
                      buffers_[slot].data() + step->firstBuffer});
}

/// Fills the inputs of a slot from data on the device.
Status Executor::gather(uint32_t slot) {
  for (const RowGather &gather : main_->slots[slot].gathers)
    SINTER_RETURN_IF_ERROR(main_->device->gatherRows(*main_->stream, gather));
  return {};
}

/// Runs, awaits and reports one command after the other.
Status Executor::runWatched(uint32_t slot) {
  SINTER_RETURN_IF_ERROR(provideLinks());
  SINTER_RETURN_IF_ERROR(gather(slot));
  const auto count = static_cast<uint32_t>(steps_.size());
  for (uint32_t i = 0; i < count; ++i) {
    Stream &stream = onlyStream(steps_[i]);
    Status status = runNamed(i, stream, slot);
    if (status.ok())
      status = steps_[i].place->device->synchronize(stream);
    if (!status.ok())
      return named(i, status);
    SINTER_RETURN_IF_ERROR(tellWatch(i, slot));
  }
  return {};
}

/// The gradient stream starts after what is queued on the compute stream, and
/// becomes part of the graph that the compute stream may be recording.
Status Executor::forkGradients() {
  for (Place *place : gradientPlaces_) {
    SINTER_RETURN_IF_ERROR(place->device->record(*place->fork, *place->stream));
    SINTER_RETURN_IF_ERROR(
        place->device->wait(*place->gradients, *place->fork));
  }
  return {};
}

/// What is queued next on the compute stream starts after the gradient stream.
Status Executor::joinGradients() {
  for (Place *place : gradientPlaces_) {
    SINTER_RETURN_IF_ERROR(
        place->device->record(*place->join, *place->gradients));
    SINTER_RETURN_IF_ERROR(place->device->wait(*place->stream, *place->join));
  }
  return {};
}

/// Names the error of a queued command, which nobody waits for. If there are
/// several devices, an earlier command may have made this one's device fail.
Status Executor::namedQueued(uint32_t index, const Status &status) const {
  const Step &step = steps_[index];
  const bool waitsOnHost =
      step.kind == SINTER_CMD_WAIT && step.place->device->sharesHostMemory();
  const Place &place =
      waitsOnHost ? *marksOfPlan_[step.event].place : *step.place;
  return spans() && status.code() == SINTER_DEVICE_FAILED &&
                 place.device->hasGraphs()
             ? named(place, status)
             : named(index, status);
}

/// Queues the commands. With `waits`, waits for each, so that an error is that
/// of the command at fault.
Status Executor::runSteps(uint32_t slot, bool waits) {
  SINTER_RETURN_IF_ERROR(gather(slot));
  SINTER_RETURN_IF_ERROR(forkGradients());
  const auto count = static_cast<uint32_t>(steps_.size());
  for (uint32_t i = 0; i < count; ++i) {
    Status status = runNamed(i, *steps_[i].stream, slot);
    if (status.ok() && waits)
      status = steps_[i].place->device->synchronize(*steps_[i].stream);
    if (!status.ok())
      return waits ? named(i, status) : namedQueued(i, status);
  }
  return joinGradients();
}

/// As runSteps, but times each command by the marks before and after it.
Status Executor::runTimed(uint32_t slot, ProfileSink &profile) {
  const auto count = static_cast<uint32_t>(steps_.size());
  while (marks_.size() <= count) {
    Result<std::unique_ptr<Event>> mark =
        main_->device->createEvent(EventUse::Timing);
    if (!mark.ok())
      return mark.status();
    marks_.push_back(std::move(*mark));
  }
  Device &device = *main_->device;
  SINTER_RETURN_IF_ERROR(gather(slot));
  SINTER_RETURN_IF_ERROR(device.synchronize(*main_->stream));
  const uint64_t begin = nowNs();
  SINTER_RETURN_IF_ERROR(device.record(*marks_[0], *main_->stream));
  for (uint32_t i = 0; i < count; ++i) {
    Status status = runNamed(i, onlyStream(steps_[i]), slot);
    if (status.ok())
      status = device.record(*marks_[i + 1], *main_->stream);
    if (!status.ok())
      return named(i, status);
  }
  SINTER_RETURN_IF_ERROR(device.synchronize(*main_->stream));
  double offsetUs = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Result<double> us = device.elapsedUs(*marks_[i], *marks_[i + 1]);
    if (!us.ok())
      return us.status();
    profile.record(*entry_, i, begin + static_cast<uint64_t>(offsetUs * 1e3),
                   static_cast<uint64_t>(*us * 1e3));
    offsetUs += *us;
  }
  return {};
}

/// Every stream waits for the previous run, which may be another entry's:
/// entries share arenas and states. Gradient streams wait for compute streams.
Status Executor::beginRun() {
  for (Place &place : places_)
    for (Place &other : places_) {
      if (!other.end)
        continue;
      if (place.device->sharesHostMemory()) {
        SINTER_RETURN_IF_ERROR(other.device->synchronize(*other.end));
        continue;
      }
      for (Stream *stream : {place.stream.get(), place.transfers.get()})
        SINTER_RETURN_IF_ERROR(place.device->wait(*stream, *other.end));
    }
  return {};
}

Status Executor::endRun(uint32_t slot) {
  for (Place &place : places_) {
    if (!place.end)
      continue;
    Device &device = *place.device;
    SINTER_RETURN_IF_ERROR(device.record(*place.end, *place.transfers));
    SINTER_RETURN_IF_ERROR(device.wait(*place.stream, *place.end));
    SINTER_RETURN_IF_ERROR(downloadOutputs(slot, place));
    SINTER_RETURN_IF_ERROR(device.record(*place.end, *place.stream));
  }
  return {};
}

/// As runTimed, for several devices: waits for each command and times it by the
/// host's clock.
Status Executor::runWaiting(uint32_t slot, ProfileSink &profile) {
  const auto count = static_cast<uint32_t>(steps_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t begin = nowNs();
    Stream &stream = onlyStream(steps_[i]);
    Status status = runStep(steps_[i], stream, slot);
    if (status.ok())
      status = steps_[i].place->device->synchronize(stream);
    if (!status.ok())
      return named(i, status);
    profile.record(*entry_, i, begin, nowNs() - begin);
  }
  return {};
}

/// For outputs that `place` computes; the CPU writes into hostOutputs itself.
Status Executor::downloadOutputs(uint32_t slot, Place &place) {
  const Slot &io = place.slots[slot];
  for (uint32_t i = 0; i < writtenOutputs(*entry_); ++i) {
    const uint64_t offset = offsetInBlock(entry_->outputs, i);
    if (outputPlaces_[i] == &place && entry_->outputs[i].sizeBytes)
      SINTER_RETURN_IF_ERROR(place.device->download(
          *place.stream, io.hostOutputs + offset, io.outputs + offset,
          entry_->outputs[i].sizeBytes));
  }
  return {};
}

Status Executor::downloadOutputs(uint32_t slot, uint32_t runs) {
  const Slot &io = main_->slots[slot];
  if (!outputBytes_)
    return {};
  const auto before =
      static_cast<uint64_t>(main_->slots[slot + runs - 1].outputs - io.outputs);
  return main_->device->download(*main_->stream, io.hostOutputs, io.outputs,
                                 before + outputBytes_);
}

Status Executor::record(uint32_t slot, uint32_t runs,
                        std::unique_ptr<Graph> &graph) {
  Device &device = *main_->device;
  SINTER_RETURN_IF_ERROR(device.beginCapture(*main_->stream));
  Status status;
  for (uint32_t i = 0; i < runs && status.ok(); ++i)
    status = runSteps(slot + i, /*waits=*/false);
  if (status.ok())
    status = downloadOutputs(slot, runs);
  Result<std::unique_ptr<Graph>> recorded = device.endCapture(*main_->stream);
  SINTER_RETURN_IF_ERROR(status);
  if (!recorded.ok())
    return recorded.status();
  graph = std::move(*recorded);
  return {};
}

Status Executor::start(uint32_t slot, uint32_t runs, ProfileSink *profile) {
  if (spans()) {
    SINTER_RETURN_IF_ERROR(beginRun());
    SINTER_RETURN_IF_ERROR(watch_    ? runWatched(slot)
                           : profile ? runWaiting(slot, *profile)
                                     : runSteps(slot, /*waits=*/false));
    return endRun(slot);
  }
  Device &device = *main_->device;
  // The first calls of libraries and drivers prepare what must not be prepared
  // while a graph is recorded.
  const bool isFirst = device.hasGraphs() && !hasRun_;
  const bool isGraph = device.hasGraphs() && !watch_ && !profile;
  if (!isGraph || isFirst) {
    for (uint32_t i = slot; i < slot + runs; ++i)
      SINTER_RETURN_IF_ERROR(watch_    ? runWatched(i)
                             : profile ? runTimed(i, *profile)
                                       : runSteps(i, /*waits=*/isFirst));
    SINTER_RETURN_IF_ERROR(downloadOutputs(slot, runs));
  }
  if (!isGraph)
    return {};
  hasRun_ = true;
  std::unique_ptr<Graph> &graph =
      runs > 1 ? seriesGraphs_[slot] : graphs_[slot];
  if (!graph)
    SINTER_RETURN_IF_ERROR(record(slot, runs, graph));
  if (isFirst)
    return {};
  device.beginRange(entry_->name);
  Status started = device.start(*main_->stream, *graph);
  device.endRange();
  return started;
}
