//===- ExpandScans.cpp - scans as plain commands --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ExpandScans.h"
#include "runtime/exec/ArtifactChecks.h"

#include <algorithm>
#include <span>
#include <string>

using namespace sinter::rt;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

std::span<const sinter_command> commandsOf(const sinter_entry &entry) {
  return {entry.commands, entry.numCommands};
}
std::span<const sinter_command> commandsOf(const sinter_scan &scan) {
  return {scan.commands, scan.numCommands};
}
std::span<const sinter_slice> slicesOf(const sinter_command &command) {
  return {command.slices, command.numSlices};
}

Status checkValues(const sinter_scan &scan) {
  for (uint32_t i = 0; i < scan.numValues; ++i) {
    const sinter_scan_value &value = scan.values[i];
    for (const sinter_slice *slice : {&value.first, &value.middle, &value.last})
      if (slice->space == SINTER_SPACE_SCAN ||
          slice->space == SINTER_SPACE_CHAIN ||
          slice->sizeBytes != value.last.sizeBytes)
        return Status::invalid(
            "value " + number(i) +
            " of the scan is in the space of scans or chains, or has "
            "several sizes");
    if (value.period < 1)
      return Status::invalid("value " + number(i) + " of the scan repeats " +
                             "after " + number(value.period) + " trips");
  }
  return {};
}

/// Checks what is the same in all trips.
Status checkBodyCommand(const sinter_scan &scan, const sinter_command &around,
                        const sinter_command &command) {
  switch (command.kind) {
  case SINTER_CMD_LAUNCH:
  case SINTER_CMD_MATMUL:
  case SINTER_CMD_CONV:
  case SINTER_CMD_ATTENTION:
  case SINTER_CMD_COPY:
  case SINTER_CMD_FILL:
    break;
  default:
    return Status::invalid("a scan repeats a command of kind " +
                           number(command.kind));
  }
  if (command.place != around.place || command.stream != around.stream)
    return Status::invalid("runs on another place or stream than its scan");
  if (command.numSlices && !command.slices)
    return Status::invalid("has no slice table");
  for (const sinter_slice &slice : slicesOf(command)) {
    if (slice.space == SINTER_SPACE_CHAIN)
      return Status::invalid("is in a chain in the body of a scan");
    if (slice.space != SINTER_SPACE_SCAN)
      continue;
    if (slice.index >= scan.numValues)
      return Status::invalid("uses value " + number(slice.index) + " of " +
                             number(scan.numValues) + " of its scan");
    const uint64_t total = scan.values[slice.index].last.sizeBytes;
    if (slice.offsetBytes > total ||
        slice.sizeBytes > total - slice.offsetBytes)
      return Status::invalid("uses bytes beyond value " + number(slice.index) +
                             " of its scan");
  }
  return {};
}

/// Whether a slice of `around`, a written one if `isWritten`, has these bytes.
bool isNamed(const sinter_command &around, const sinter_slice &slice,
             bool isWritten) {
  if (slice.sizeBytes == 0 || slice.space == SINTER_SPACE_CONSTANT ||
      slice.space == SINTER_SPACE_CONTROL)
    return true;
  std::span<const sinter_slice> named = slicesOf(around);
  if (isWritten)
    named = named.subspan(around.numReads);
  return std::any_of(named.begin(), named.end(), [&](const sinter_slice &n) {
    return n.space == slice.space && n.index == slice.index &&
           slice.offsetBytes >= n.offsetBytes &&
           slice.offsetBytes + slice.sizeBytes <= n.offsetBytes + n.sizeBytes;
  });
}

/// Checks all commands of one trip; `slices` is memory for those of one.
Status checkTrip(const sinter_artifact &artifact, const sinter_entry &entry,
                 const sinter_command &around, int64_t trip,
                 std::vector<sinter_slice> &slices) {
  const sinter_scan &scan = *around.scan.params;
  for (const sinter_command &command : commandsOf(scan)) {
    slices.clear();
    for (const sinter_slice &slice : slicesOf(command))
      slices.push_back(sinter_slice_in_trip(&scan, slice, trip));
    sinter_command plain = command;
    plain.slices = slices.data();
    Status status = checkCommand(artifact, entry, plain);
    for (uint32_t i = 0; status.ok() && i < plain.numSlices; ++i)
      if (!isNamed(around, slices[i], i >= plain.numReads))
        status = Status::invalid("slice " + number(i) +
                                 " is in no slice of its scan");
    if (!status.ok())
      return Status::invalid("command " + number(&command - scan.commands) +
                             " of trip " + number(trip) + ": " +
                             status.message());
  }
  return {};
}

} // namespace

Status sinter::rt::checkScan(const sinter_artifact &artifact,
                             const sinter_entry &entry,
                             const sinter_command &command) {
  if (!command.scan.params)
    return Status::invalid("has no parameters");
  const sinter_scan &scan = *command.scan.params;
  if ((scan.numCommands && !scan.commands) || (scan.numValues && !scan.values))
    return Status::invalid("has a scan that lacks a table");
  if (scan.trips < 1 || scan.trips > SINTER_MAX_SCAN_COMMANDS /
                                         std::max<int64_t>(scan.numCommands, 1))
    return Status::invalid("has a scan of " + number(scan.trips) +
                           " trips of " + number(scan.numCommands) +
                           " commands");
  SINTER_RETURN_IF_ERROR(checkValues(scan));
  for (const sinter_command &each : commandsOf(scan)) {
    Status status = checkBodyCommand(scan, command, each);
    if (!status.ok())
      return Status::invalid("command " + number(&each - scan.commands) +
                             " of the scan: " + status.message());
  }
  std::vector<sinter_slice> slices;
  for (int64_t trip = 0; trip < scan.trips; ++trip)
    SINTER_RETURN_IF_ERROR(checkTrip(artifact, entry, command, trip, slices));
  return {};
}

bool sinter::rt::hasScans(const sinter_artifact &artifact) {
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    for (const sinter_command &command : commandsOf(artifact.entries[i]))
      if (command.kind == SINTER_CMD_SCAN)
        return true;
  return false;
}

std::string ScanTrip::number() const {
  std::string text = std::to_string(command);
  if (isInScan)
    text += "." + std::to_string(inBody) + ", trip " + std::to_string(trip);
  return text;
}

std::vector<ScanTrip> sinter::rt::tripsOf(const sinter_entry &entry) {
  std::vector<ScanTrip> trips;
  for (uint32_t i = 0; i < entry.numCommands; ++i) {
    const sinter_command &command = entry.commands[i];
    if (command.kind != SINTER_CMD_SCAN) {
      trips.push_back({i});
      continue;
    }
    const sinter_scan &scan = *command.scan.params;
    for (int64_t trip = 0; trip < scan.trips; ++trip)
      for (uint32_t j = 0; j < scan.numCommands; ++j)
        trips.push_back({i, j, trip, true});
  }
  return trips;
}

namespace {
struct Sizes {
  size_t commands = 0, slices = 0;
  void add(const sinter_command &command, size_t times) {
    commands += times;
    slices += times * command.numSlices;
  }
};
} // namespace

ExpandedScans::ExpandedScans(const sinter_artifact &artifact)
    : artifact_(artifact),
      entries_(artifact.entries, artifact.entries + artifact.numEntries) {
  Sizes sizes;
  for (const sinter_entry &entry : entries_)
    for (const sinter_command &command : commandsOf(entry)) {
      if (command.kind != SINTER_CMD_SCAN) {
        sizes.add(command, 1);
        continue;
      }
      for (const sinter_command &each : commandsOf(*command.scan.params))
        sizes.add(each, command.scan.params->trips);
    }
  // Rows refer to each other by address: the tables must not grow.
  commands_.reserve(sizes.commands);
  slices_.reserve(sizes.slices);
  const uint8_t *dtypes = artifact.sliceDtypes;
  auto skip = [&](const sinter_command &command) {
    if (dtypes)
      dtypes += command.numSlices;
  };
  for (sinter_entry &entry : entries_) {
    const size_t first = commands_.size();
    for (const sinter_command &command : commandsOf(entry)) {
      const bool isScan = command.kind == SINTER_CMD_SCAN;
      if (!isScan)
        add(command, dtypes);
      skip(command);
      if (!isScan)
        continue;
      addTrips(*command.scan.params, dtypes);
      for (const sinter_command &each : commandsOf(*command.scan.params))
        skip(each);
    }
    entry.commands = commands_.data() + first;
    entry.numCommands = static_cast<uint32_t>(commands_.size() - first);
  }
  artifact_.entries = entries_.data();
  if (artifact.sliceDtypes)
    artifact_.sliceDtypes = dtypes_.data();
}

/// `dtypes`: of the slices of the command; null if they are not known.
void ExpandedScans::add(const sinter_command &command, const uint8_t *dtypes) {
  commands_.push_back(command);
  if (dtypes)
    dtypes_.insert(dtypes_.end(), dtypes, dtypes + command.numSlices);
}

/// `dtypes`: of the slices of all commands of the body.
void ExpandedScans::addTrips(const sinter_scan &scan, const uint8_t *dtypes) {
  for (int64_t trip = 0; trip < scan.trips; ++trip) {
    const uint8_t *of = dtypes;
    for (const sinter_command &command : commandsOf(scan)) {
      add(command, of);
      commands_.back().slices = slices_.data() + slices_.size();
      for (const sinter_slice &slice : slicesOf(command))
        slices_.push_back(sinter_slice_in_trip(&scan, slice, trip));
      if (of)
        of += command.numSlices;
    }
  }
}
