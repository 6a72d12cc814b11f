//===- CommandWiring.cpp - which values commands read and write -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/CommandWiring.h"

#include <set>

using namespace sinter;
using namespace sinter::compiler;

namespace {

/// A slice that a command has written.
struct Writer {
  sinter_slice slice;
  size_t command; // its place in the list
  uint32_t result;
  int64_t trip;
};

/// What was written, in order.
class Memory {
public:
  void write(const Writer &writer) {
    writers_[keyOf(writer.slice)].push_back(writer);
  }
  /// The last one that wrote some of these bytes; null if none did.
  const Writer *last(const sinter_slice &slice) const {
    auto found = writers_.find(keyOf(slice));
    if (found == writers_.end())
      return nullptr;
    for (const Writer &writer : llvm::reverse(found->second))
      if (writer.slice.offsetBytes < slice.offsetBytes + slice.sizeBytes &&
          slice.offsetBytes < writer.slice.offsetBytes + writer.slice.sizeBytes)
        return &writer;
    return nullptr;
  }

private:
  static std::pair<uint32_t, uint32_t> keyOf(const sinter_slice &slice) {
    return {slice.space, slice.index};
  }
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Writer>> writers_;
};

class EntryWiring {
public:
  EntryWiring(const sinter_artifact &artifact, const sinter_entry &entry)
      : artifact_(artifact), entry_(entry), list_(commands(entry)),
        wires_(list_.size()) {}

  std::vector<std::vector<Wire>> run() {
    for (size_t i = 0; i < list_.size(); ++i)
      if (!list_[i].isInScan())
        addCommand(i);
    for (size_t i = 0; i < list_.size(); ++i)
      if (list_[i].kind == SINTER_CMD_SCAN)
        addBody(i);
    return std::move(wires_);
  }

private:
  static int64_t offsetIn(const sinter_slice &slice,
                          const sinter_slice &whole) {
    return static_cast<int64_t>(slice.offsetBytes - whole.offsetBytes);
  }

  /// Names the place of `slice`; "" for the arena and constants.
  std::string placeText(const sinter_slice &slice) const {
    std::string text;
    if (slice.space == SINTER_SPACE_STATE && slice.index < artifact_.numStates)
      text = kStatePlace.str() + artifact_.states[slice.index].tensor.name;
    else if (slice.space == SINTER_SPACE_INPUT &&
             slice.index < entry_.numInputs)
      text = std::string("input ") + entry_.inputs[slice.index].name;
    else if (slice.space == SINTER_SPACE_OUTPUT &&
             slice.index < entry_.numOutputs)
      text = std::string("output ") + entry_.outputs[slice.index].name;
    else if (slice.space == SINTER_SPACE_CONTROL)
      text = "control";
    else
      return "";
    return text;
  }

  Wire placeWire(const sinter_slice &slice) const {
    return {"", -1, placeText(slice), static_cast<int64_t>(slice.offsetBytes)};
  }
  static Wire resultWire(const Writer &writer, const sinter_slice &slice) {
    return {"", static_cast<int64_t>(writer.command),
            "result " + std::to_string(writer.result),
            offsetIn(slice, writer.slice)};
  }

  void addCommand(size_t i) {
    const ShownCommand &command = list_[i];
    for (uint32_t k = 0; k < command.numReads; ++k) {
      const sinter_slice &slice = command.slices[k];
      Wire wire = placeWire(slice);
      if (const Writer *writer = memory_.last(slice)) {
        wire = resultWire(*writer, slice);
        used_.insert({writer->command, writer->result});
      }
      wire.what = "operand " + std::to_string(k);
      wires_[i].push_back(std::move(wire));
    }
    for (uint32_t k = command.numReads; k < command.numSlices; ++k) {
      const uint32_t result = k - command.numReads;
      Wire wire = placeWire(command.slices[k]);
      wire.what = "result " + std::to_string(result);
      if (!wire.text.empty())
        used_.insert({i, result});
      wires_[i].push_back(std::move(wire));
      memory_.write({command.slices[k], i, result, 0});
    }
  }

  /// The first slice of the scan, of `begin` to `end`, that has these bytes and
  /// `isKnown`; `end` if none has.
  static uint32_t sliceOfScan(const ShownCommand &scan,
                              const sinter_slice &slice, uint32_t begin,
                              uint32_t end,
                              llvm::function_ref<bool(uint32_t)> isKnown) {
    for (uint32_t k = begin; k < end; ++k) {
      const sinter_slice &of = scan.slices[k];
      if (of.space == slice.space && of.index == slice.index &&
          of.offsetBytes <= slice.offsetBytes &&
          slice.offsetBytes + slice.sizeBytes <=
              of.offsetBytes + of.sizeBytes &&
          isKnown(k))
        return k;
    }
    return end;
  }

  Wire operandInTrip(size_t i, const Memory &inBody, const sinter_slice &slice,
                     int64_t trip) const {
    const ShownCommand &scan = list_[i];
    if (const Writer *writer = inBody.last(slice)) {
      Wire wire = resultWire(*writer, slice);
      if (writer->trip != trip)
        wire.text += writer->trip + 1 == trip
                         ? " of the trip before"
                         : " of trip " + std::to_string(writer->trip);
      return wire;
    }
    uint32_t k = sliceOfScan(scan, slice, 0, scan.numReads,
                             [](uint32_t) { return true; });
    if (k == scan.numReads)
      return placeWire(slice);
    return {"", -1, "operand " + std::to_string(k) + " of the scan",
            offsetIn(slice, scan.slices[k]), static_cast<int64_t>(i)};
  }

  /// Results of the scan that something reads later; others are its scratch
  /// memory, whose offsets say nothing.
  Wire resultInTrip(size_t i, const sinter_slice &slice) const {
    const ShownCommand &scan = list_[i];
    uint32_t k = sliceOfScan(
        scan, slice, scan.numReads, scan.numSlices, [&](uint32_t each) {
          return used_.count({i, each - scan.numReads}) != 0;
        });
    if (k == scan.numSlices)
      return {};
    return {"", -1,
            "result " + std::to_string(k - scan.numReads) + " of the scan",
            offsetIn(slice, scan.slices[k]), static_cast<int64_t>(i)};
  }

  void addBody(size_t i) {
    const sinter_scan &scan = *list_[i].scan.params;
    std::set<int64_t> trips;
    for (int64_t trip :
         {int64_t(0), int64_t(1), int64_t(2), scan.trips - 2, scan.trips - 1})
      if (trip >= 0 && trip < scan.trips)
        trips.insert(trip);
    Memory inBody;
    for (int64_t trip : trips)
      for (uint32_t j = 0; j < scan.numCommands; ++j)
        addInTrip(i, i + 1 + j, trip, inBody);
  }

  void addInTrip(size_t i, size_t own, int64_t trip, Memory &inBody) {
    const sinter_scan &scan = *list_[i].scan.params;
    const ShownCommand &command = list_[own];
    const std::string inTrip = " in trip " + std::to_string(trip);
    for (uint32_t k = 0; k < command.numReads; ++k) {
      Wire wire = operandInTrip(
          i, inBody, sinter_slice_in_trip(&scan, command.slices[k], trip),
          trip);
      wire.what = "operand " + std::to_string(k) + inTrip;
      wires_[own].push_back(std::move(wire));
    }
    for (uint32_t k = command.numReads; k < command.numSlices; ++k) {
      const sinter_slice slice =
          sinter_slice_in_trip(&scan, command.slices[k], trip);
      const uint32_t result = k - command.numReads;
      Wire wire = resultInTrip(i, slice);
      wire.what = "result " + std::to_string(result) + inTrip;
      wires_[own].push_back(std::move(wire));
      inBody.write({slice, own, result, trip});
    }
  }

  const sinter_artifact &artifact_;
  const sinter_entry &entry_;
  const std::vector<ShownCommand> list_;
  std::vector<std::vector<Wire>> wires_;
  Memory memory_;
  std::set<std::pair<size_t, uint32_t>> used_; // (command, result)
};

} // namespace

bool compiler::isOrder(const sinter_command &command) {
  return command.kind == SINTER_CMD_RECORD || command.kind == SINTER_CMD_WAIT ||
         command.kind == SINTER_CMD_AWAIT;
}

std::vector<std::vector<Wait>>
compiler::commandWaits(const sinter_entry &entry) {
  const std::vector<ShownCommand> list = commands(entry);
  std::vector<std::vector<Wait>> waits(list.size());
  struct Stream {
    int64_t last = -1;            // its last command
    std::vector<int64_t> pending; // what its next command waits for
  };
  std::map<std::pair<uint32_t, uint32_t>, Stream> streams;
  std::map<uint32_t, int64_t> recorded, begun; // by event
  for (auto [i, command] : llvm::enumerate(list)) {
    if (command.isInScan())
      continue; // the scan waits
    Stream &stream = streams[{command.place, command.stream}];
    if (command.kind == SINTER_CMD_RECORD) {
      recorded[command.event] = stream.last;
    } else if (isOrder(command)) {
      auto &known = command.kind == SINTER_CMD_WAIT ? recorded : begun;
      if (auto found = known.find(command.event);
          found != known.end() && found->second >= 0)
        stream.pending.push_back(found->second);
    } else {
      for (int64_t each : stream.pending)
        waits[i].push_back({each});
      stream.pending.clear();
      stream.last = static_cast<int64_t>(i);
      if (command.kind == SINTER_CMD_COLLECTIVE)
        begun[command.collective.event] = stream.last;
    }
  }
  for (auto &[key, stream] : streams)
    for (int64_t each : stream.pending)
      if (stream.last >= 0)
        waits[stream.last].push_back({each, /*isAfter=*/true});
  for (std::vector<Wait> &own : waits) {
    llvm::sort(own);
    own.erase(llvm::unique(own), own.end());
  }
  return waits;
}

std::vector<std::vector<Wire>>
compiler::commandWires(const sinter_artifact &artifact,
                       const sinter_entry &entry) {
  return EntryWiring(artifact, entry).run();
}
