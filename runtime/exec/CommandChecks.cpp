//===- CommandChecks.cpp - what commands read, write and wait for ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/ExpandScans.h"
#include "runtime/exec/IndexChecks.h"

#include <cstring>
#include <set>

using namespace sinter::rt;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

/// Bytes of the space that holds `slice`, which a command on `place` uses; an
/// error if there is no such space.
Result<uint64_t> spaceBytes(const sinter_artifact &artifact,
                            const sinter_entry &entry,
                            const sinter_slice &slice, int64_t place) {
  auto here = [&](uint32_t other, const char *what) -> Status {
    if (other == place)
      return {};
    return Status::invalid(std::string(what) + " of place " + number(other) +
                           " in a command on place " + number(place));
  };
  auto single = [&](uint64_t size) -> Result<uint64_t> {
    if (slice.index != 0)
      return Status::invalid("index " + number(slice.index) +
                             " in a space that has only index 0");
    return size;
  };
  auto indexed = [&](uint32_t count, const char *what) -> Status {
    if (slice.index < count)
      return {};
    return Status::invalid(std::string(what) + " " + number(slice.index) +
                           " of " + number(count));
  };
  switch (slice.space) {
  case SINTER_SPACE_ARENA:
    SINTER_RETURN_IF_ERROR(here(slice.index, "the arena"));
    return arenaBytes(artifact, entry, slice.index);
  case SINTER_SPACE_CONSTANT:
    return single(artifact.constantsBytes);
  case SINTER_SPACE_CONTROL:
    return single(sizeof(sinter_control));
  case SINTER_SPACE_STATE:
    SINTER_RETURN_IF_ERROR(indexed(artifact.numStates, "state"));
    SINTER_RETURN_IF_ERROR(here(artifact.states[slice.index].place, "a state"));
    return sinter_held_bytes(&artifact.states[slice.index]);
  case SINTER_SPACE_INPUT:
    SINTER_RETURN_IF_ERROR(indexed(entry.numInputs, "input"));
    return entry.inputs[slice.index].sizeBytes;
  case SINTER_SPACE_OUTPUT:
    SINTER_RETURN_IF_ERROR(indexed(writtenOutputs(entry), "output"));
    return entry.outputs[slice.index].sizeBytes;
  case SINTER_SPACE_CHAIN:
    // It has memory for its slices if they need any.
    SINTER_RETURN_IF_ERROR(indexed(SINTER_MAX_CHAIN - 1, "link of a chain"));
    return slice.offsetBytes ? 0 : slice.sizeBytes;
  default:
    return Status::invalid("the unknown space " + number(slice.space));
  }
}

Status checkSlice(const sinter_artifact &artifact, const sinter_entry &entry,
                  const sinter_slice &slice, bool written, int64_t place) {
  Result<uint64_t> total = spaceBytes(artifact, entry, slice, place);
  if (!total.ok())
    return total.status();
  if (slice.offsetBytes > *total ||
      slice.sizeBytes > *total - slice.offsetBytes)
    return Status::invalid("bytes " + std::to_string(slice.offsetBytes) +
                           " + " + std::to_string(slice.sizeBytes) +
                           " exceed its space of " + std::to_string(*total));
  bool readOnly = slice.space == SINTER_SPACE_INPUT ||
                  slice.space == SINTER_SPACE_CONSTANT ||
                  slice.space == SINTER_SPACE_CONTROL;
  if (written && readOnly)
    return Status::invalid("writes an input, a constant or the control block");
  return {};
}

} // namespace

static Status checkLaunch(const sinter_artifact &artifact,
                          const sinter_command &command) {
  const sinter_launch &launch = command.launch;
  const char *kind = placeKind(artifact, command.place);
  if (launch.kernel >= artifact.numKernels)
    return Status::invalid("launches kernel " + number(launch.kernel) + " of " +
                           number(artifact.numKernels));
  const sinter_kernel_desc &kernel = artifact.kernels[launch.kernel];
  if (launch.tiles < 0)
    return Status::invalid("has " + number(launch.tiles) + " tiles");
  if (!hasCodeFor(artifact, kernel, kind))
    return Status::invalid("launches kernel " + number(launch.kernel) +
                           ", which has no code for " + kind);
  // A GPU's kernel has a fixed number of parameters.
  if (std::strcmp(kind, "cpu") != 0 && command.numSlices != kernel.numBuffers)
    return Status::invalid("gives " + number(command.numSlices) +
                           " buffers to a kernel of " +
                           number(kernel.numBuffers));
  return {};
}

static Status checkCollective(const sinter_artifact &artifact,
                              const sinter_command &command) {
  const sinter_collective &what = command.collective;
  if (what.op > SINTER_ALL_GATHER)
    return Status::invalid("has the unknown collective op " + number(what.op));
  if (what.axis != SINTER_AXIS_DATA)
    return Status::invalid("has the unknown mesh axis " + number(what.axis));
  const std::string name = commandName(command);
  const uint32_t count = command.numReads;
  if (count == 0 || command.numSlices != 2 * count)
    return Status::invalid(name + " needs as many written slices as read ones");
  const uint64_t elementBytes = dtypeBytes(what.dtype);
  const bool isGather = what.op == SINTER_ALL_GATHER;
  if (elementBytes == 0 || (what.dtype == SINTER_BOOL && !isGather))
    return Status::invalid((isGather ? "gathers" : "sums") +
                           std::string(" elements of ") +
                           dtypeName(what.dtype));
  const auto replicas = static_cast<uint64_t>(replicasOf(artifact));
  const uint64_t parts = what.op == SINTER_ALL_REDUCE ? 1 : replicas;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t read = command.slices[i].sizeBytes,
                   written = command.slices[count + i].sizeBytes,
                   part = isGather ? read : written,
                   whole = isGather ? written : read;
    if (part % elementBytes || whole % parts || whole / parts != part)
      return Status::invalid(name + " of " + std::to_string(replicas) +
                             " replicas reads " + std::to_string(read) +
                             " bytes and writes " + std::to_string(written));
  }
  return {};
}

Status sinter::rt::checkWaits(const sinter_entry &entry) {
  std::set<uint32_t> begun, known;
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    if (command.kind == SINTER_CMD_COLLECTIVE) {
      const uint32_t event = command.collective.event;
      if (event >= entry.numCommands || !known.insert(event).second)
        return Status::invalid("command " + number(i) + " has the event " +
                               number(event) + " of another collective");
      begun.insert(event);
    } else if (command.kind == SINTER_CMD_AWAIT &&
               begun.erase(command.event) == 0) {
      return Status::invalid("command " + number(i) + " waits for event " +
                             number(command.event) +
                             ", which no collective before it has");
    }
  }
  if (!begun.empty())
    return Status::invalid("nothing waits for the collective of event " +
                           number(*begun.begin()));
  return {};
}

Status sinter::rt::checkChains(const sinter_artifact &artifact,
                               const sinter_entry &entry) {
  auto isForward = [](const sinter_command &command) {
    return command.kind == SINTER_CMD_CONV &&
           command.conv.params->direction == SINTER_CONV_FORWARD;
  };
  uint32_t links = 0; // of the chain, before the command
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    const bool isChained = isChainedToNext(command);
    for (uint32_t j = 0; j < command.numSlices; ++j) {
      const bool isLink =
          (links && j == 0) || (isChained && j + 1 == command.numSlices);
      if (!isLink && command.slices[j].space == SINTER_SPACE_CHAIN)
        return Status::invalid(
            "slice " + number(j) + " of command " + number(i) +
            " is in the chain space, but not between two commands of a chain");
    }
    if (!isChained) {
      links = 0;
      continue;
    }
    const std::string who = "command " + number(i) + " is chained, ";
    if (i + 1 == entry.numCommands)
      return Status::invalid(who + "but the last one");
    const sinter_command &next = entry.commands[i + 1];
    if (!isForward(command) || !isForward(next) ||
        command.place != next.place || command.stream != next.stream ||
        std::strcmp(placeKind(artifact, command.place), "cpu") != 0)
      return Status::invalid(who + "but it and the next one are not forward "
                                   "convolutions of one stream of a CPU");
    const sinter_slice &result = command.slices[command.numSlices - 1],
                       &input = next.slices[0];
    if (result.index != links++ || input.space != result.space ||
        input.index != result.index || input.sizeBytes != result.sizeBytes)
      return Status::invalid(who + "but the next one does not read its result");
  }
  return {};
}

Status sinter::rt::checkCommand(const sinter_artifact &artifact,
                                const sinter_entry &entry,
                                const sinter_command &command) {
  if (!command.label)
    return Status::invalid("has no label");
  const uint32_t places = numPlaces(artifact);
  if (command.place >= places)
    return Status::invalid("runs on place " + number(command.place) + " of " +
                           number(places));
  if (command.stream > SINTER_STREAM_GRADIENT)
    return Status::invalid("runs on stream " + number(command.stream) +
                           " of 3");
  if (command.numSlices && !command.slices)
    return Status::invalid("has no slice table");
  if (command.numReads > command.numSlices)
    return Status::invalid("reads " + number(command.numReads) + " of " +
                           number(command.numSlices) + " slices");
  for (uint32_t i = 0; i < command.numSlices; ++i) {
    uint32_t place = command.place;
    if (command.kind == SINTER_CMD_COPY)
      place = i == 0 ? command.copy.from : command.copy.to;
    if (place >= places)
      return Status::invalid("copies from or to place " + number(place) +
                             " of " + number(places));
    Status status = checkSlice(artifact, entry, command.slices[i],
                               i >= command.numReads, place);
    if (!status.ok())
      return Status::invalid("slice " + number(i) + ": " + status.message());
  }
  switch (command.kind) {
  case SINTER_CMD_LAUNCH:
    return checkLaunch(artifact, command);
  case SINTER_CMD_MATMUL:
    return checkMatmul(command);
  case SINTER_CMD_CONV:
    return checkConv(command);
  case SINTER_CMD_ATTENTION:
    return checkAttention(command);
  case SINTER_CMD_COPY:
    if (command.numSlices != 2 || command.numReads != 1 ||
        command.slices[0].sizeBytes != command.slices[1].sizeBytes)
      return Status::invalid("a copy needs two slices of one size");
    if (command.place != command.copy.from && command.place != command.copy.to)
      return Status::invalid("a copy runs on neither of its places");
    return {};
  case SINTER_CMD_FILL:
    if (command.numSlices != 1 || command.numReads != 0)
      return Status::invalid("a fill needs one written slice");
    return {};
  case SINTER_CMD_SCAN:
    return checkScan(artifact, entry, command);
  case SINTER_CMD_COLLECTIVE:
    return checkCollective(artifact, command);
  case SINTER_CMD_AWAIT:
    if (command.numSlices != 0)
      return Status::invalid("a wait has no slices");
    return {};
  case SINTER_CMD_RECORD:
  case SINTER_CMD_WAIT:
    if (command.numSlices != 0 || command.event >= entry.numCommands)
      return Status::invalid("an event has slices, or a number beyond " +
                             number(entry.numCommands));
    return {};
  default:
    return Status::invalid("has the unknown kind " + number(command.kind));
  }
}
