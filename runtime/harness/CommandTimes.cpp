//===- CommandTimes.cpp - where the time of runs goes ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "runtime/harness/CommandTimes.h"

#include "runtime/exec/ArtifactChecks.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/Executor.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <tuple>

using namespace sinter::rt;

using Json = nlohmann::ordered_json;
using Handler = nlohmann::json::error_handler_t;

struct CommandTimes::Row {
  const Entry *entry;
  const Line *line;           // of a chain that runs together: its first
  std::string nodes;          // of all its commands
  std::vector<uint32_t> with; // the numbers of the chain's others
  double us, share, gbps, mostGbps, tflops;
  double mostTflops; // 0: no limit is known
  double bestUs;     // the least time by both limits; 0: none is known
};

// Whether a library may compute it with fewer operations than are counted.
static bool mayTakeFewer(const sinter_command &command) {
  if (command.kind != SINTER_CMD_CONV ||
      command.conv.way != SINTER_BY_FAST_LIBRARY)
    return false;
  const sinter_conv &params = *command.conv.params;
  return std::any_of(params.kernel, params.kernel + params.spatialRank,
                     [](int64_t size) { return size > 1; });
}

// The limit of the arithmetic of a command. Products of bf16 have units of
// their own; those of integers are not known.
static double mostTflops(const sinter_command &command,
                         const Ceilings &ceilings) {
  if (mayTakeFewer(command))
    return 0;
  const uint32_t dtype =
      command.kind == SINTER_CMD_MATMUL ? command.matmul.params->dtype
      : command.kind == SINTER_CMD_CONV ? command.conv.params->dtype
      : command.kind == SINTER_CMD_ATTENTION
          ? command.attention.params->dtype
          : static_cast<uint32_t>(SINTER_F32);
  return dtype == SINTER_BF16                         ? ceilings.mostBf16TFlops
         : dtype == SINTER_F32 || dtype == SINTER_F16 ? ceilings.mostF32TFlops
                                                      : 0;
}

uint32_t CommandTimes::begin(const sinter_entry &entry) {
  Entry own;
  own.entry = &entry;
  for (const sinter_entry &each :
       std::span(artifact_.entries, artifact_.numEntries))
    if (std::strcmp(each.name, entry.name) == 0)
      own.source = &each;
  own.trips = tripsOf(*own.source);
  for (uint32_t i = 0; i < own.source->numCommands; ++i) {
    const sinter_command &command = own.source->commands[i];
    own.firstLine.push_back(own.lines.size());
    own.lines.push_back({&command, i});
    if (command.kind == SINTER_CMD_SCAN)
      for (uint32_t j = 0; j < command.scan.params->numCommands; ++j)
        own.lines.push_back({&command.scan.params->commands[j], i, j,
                             command.scan.params->trips});
  }
  entries_.push_back(std::move(own));
  return static_cast<uint32_t>(entries_.size() - 1);
}

void CommandTimes::record(const sinter_entry &entry, uint32_t index,
                          uint64_t beginNs, uint64_t durationNs) {
  uint32_t number = 0;
  while (number < entries_.size() && entries_[number].entry != &entry)
    ++number;
  if (number == entries_.size())
    begin(entry);
  Entry &own = entries_[number];
  const ScanTrip &trip = own.trips[index];
  // The body of a scan comes after it.
  const bool isInScan =
      own.source->commands[trip.command].kind == SINTER_CMD_SCAN;
  Line &line = own.lines[own.firstLine[trip.command] + isInScan + trip.inBody];
  if (line.totalNs == 0 && line.call.empty() && describeCall_)
    line.call = describeCall_(entry, index);
  line.totalNs += durationNs;
  line.runs += trip.trip == 0;
  own.totalNs += durationNs;
  events_.push_back({number, index, beginNs, durationNs});
}

uint32_t CommandTimes::longest() const {
  auto most = std::max_element(
      entries_.begin(), entries_.end(),
      [](const Entry &a, const Entry &b) { return a.totalNs < b.totalNs; });
  return static_cast<uint32_t>(most - entries_.begin());
}

// Which program the times are of: other sizes take other times.
Json CommandTimes::programJson() const {
  const sinter_entry &entry = *entries_[longest()].source;
  Json inputs = Json::array();
  for (uint32_t i = 0; i < entry.numInputs; ++i) {
    const sinter_tensor_desc &input = entry.inputs[i];
    inputs.push_back(
        {{"name", input.name},
         {"shape", std::vector<int64_t>(input.dims, input.dims + input.rank)}});
  }
  return {{"build_id", artifact_.buildId},
          {"entry", entry.name},
          {"inputs", inputs}};
}

//===----------------------------------------------------------------------===//
// Trace events
//===----------------------------------------------------------------------===//

std::string CommandTimes::deviceOf(uint32_t place) const {
  return artifact_.numPlaces ? artifact_.places[place].device
                             : artifact_.target;
}

namespace {

/// The async events of messages.
class MessageEvents {
public:
  /// `command` of `entry` ran in the process `pid`. A collective begins a
  /// message, its await ends it.
  void add(uint32_t entry, const sinter_command &command, uint32_t pid,
           double beginUs, double endUs, Json &list) {
    if (command.kind == SINTER_CMD_COLLECTIVE) {
      Message &message = open_[{entry, command.collective.event}];
      message = {commandName(command), ++count_};
      list.push_back(event(message, "b", pid, beginUs));
      list.back()["args"] = {{"bytes", wholeBytes(command)},
                             {"nodes", command.label}};
    } else if (command.kind == SINTER_CMD_AWAIT) {
      auto found = open_.find({entry, command.event});
      if (found == open_.end())
        return;
      list.push_back(event(found->second, "e", pid, endUs));
      open_.erase(found);
    }
  }

private:
  struct Message {
    const char *name;
    uint64_t id;
  };

  static Json event(const Message &message, const char *phase, uint32_t pid,
                    double us) {
    return {{"name", message.name},
            {"cat", "message"},
            {"ph", phase},
            {"id2", {{"local", message.id}}},
            {"ts", us},
            {"pid", pid},
            {"tid", 0}};
  }

  std::map<std::pair<uint32_t, uint32_t>, Message> open_; // by entry and event
  uint64_t count_ = 0;
};

} // namespace

static Json nameEvent(const char *what, uint32_t pid, const std::string &name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", pid}, {"args", {{"name", name}}}};
}

const OutputKind &CommandTimes::traceKind() {
  static const OutputKind kind = {
      "a file of trace events",
      {"{\"displayTimeUnit\"", "{\"otherData\"", "{\"traceEvents\""}};
  return kind;
}

std::string CommandTimes::traceEvents(const Process &process) const {
  Json list = Json::array();
  auto pidOf = [&](uint32_t place) {
    return process.rank * numPlaces(artifact_) + place;
  };
  std::set<uint32_t> places;
  std::set<std::pair<uint32_t, uint32_t>> streams; // (place, stream)
  for (const Event &event : events_) {
    const sinter_command &command =
        entries_[event.entry].entry->commands[event.index];
    places.insert(command.place);
    streams.emplace(command.place, command.stream);
  }
  const std::string rank =
      process.count > 1 ? "rank " + std::to_string(process.rank) + ": " : "";
  for (uint32_t place : places)
    list.push_back(
        nameEvent("process_name", pidOf(place), rank + deviceOf(place)));
  constexpr const char *kStreams[] = {"compute", "transfers",
                                      "gradients of weights"};
  for (auto [place, stream] : streams) {
    list.push_back(nameEvent("thread_name", pidOf(place),
                             stream < std::size(kStreams)
                                 ? kStreams[stream]
                                 : "stream " + std::to_string(stream)));
    list.back()["tid"] = stream;
  }
  const uint64_t origin = process.originNs || events_.empty()
                              ? process.originNs
                              : events_.front().beginNs;
  MessageEvents messages;
  const uint32_t main = longest();
  for (const Event &event : events_) {
    const Entry &entry = entries_[event.entry];
    const sinter_command &command = entry.entry->commands[event.index];
    const ScanTrip &trip = entry.trips[event.index];
    Json args = {{"command", trip.command}};
    if (event.entry != main)
      args["entry"] = entry.source->name;
    if (entry.source->commands[trip.command].kind == SINTER_CMD_SCAN) {
      args["in_body"] = trip.inBody;
      args["trip"] = trip.trip;
    }
    // The clock of another host may be behind.
    const double us =
        static_cast<double>(static_cast<int64_t>(event.beginNs - origin)) / 1e3;
    const double duration = static_cast<double>(event.durationNs) / 1e3;
    list.push_back({{"name", command.label},
                    {"cat", commandName(command)},
                    {"ph", "X"},
                    {"ts", us},
                    {"dur", duration},
                    {"pid", pidOf(command.place)},
                    {"tid", command.stream},
                    {"args", std::move(args)}});
    messages.add(event.entry, command, pidOf(command.place), us, us + duration,
                 list);
  }
  Json json = {{"traceEvents", list}, {"displayTimeUnit", "ms"}};
  if (!entries_.empty())
    json["otherData"] = programJson();
  return json.dump(-1, ' ', false, Handler::replace) + "\n";
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

// What the manifest says of the kernel of a launch. In a file for several
// targets, the kernels of all but the first end in "_TARGET", in the manifest
// they do not.
std::vector<AccessLimit>
CommandTimes::limitsOf(const sinter_command &command) const {
  if (command.kind != SINTER_CMD_LAUNCH)
    return {};
  std::string name = kernelName(command);
  auto found = accesses_.find(name);
  if (const std::string end = std::string("_") + artifact_.target;
      found == accesses_.end() && name.ends_with(end))
    found = accesses_.find(name.substr(0, name.size() - end.size()));
  return found == accesses_.end() ? std::vector<AccessLimit>() : found->second;
}

void CommandTimes::readLimits() {
  const auto manifest = nlohmann::json::parse(artifact_.manifest, nullptr,
                                              /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains(kKernelAccesses))
    return;
  for (const auto &[kernel, list] : manifest[kKernelAccesses].items())
    for (const auto &entry : list) {
      AccessLimit limit{entry.value("read", 0u),
                        entry.value("bytes_read", uint64_t(0)), std::nullopt,
                        entry.value("bytes_written", uint64_t(0))};
      if (entry.contains("write"))
        limit.write = entry.value("write", 0u);
      accesses_[kernel].push_back(limit);
    }
}

std::vector<CommandTimes::Row>
CommandTimes::rows(const Ceilings &ceilings,
                   const FlopsOfEntry &flopsOf) const {
  double total = 0;
  for (const Entry &entry : entries_)
    total += static_cast<double>(entry.totalNs);
  std::vector<Row> rows;
  for (const Entry &entry : entries_) {
    const std::vector<double> flops =
        flopsOf ? flopsOf(*entry.source) : std::vector<double>();
    for (size_t i = 0, next = 0; i < entry.lines.size(); i = next) {
      const Line &line = entry.lines[i];
      const sinter_command &command = *line.command;
      std::string nodes = command.label;
      std::vector<uint32_t> with;
      AccessedBytes bytes = accessedBytes(command, limitsOf(command));
      double ownFlops = i < flops.size() ? flops[i] : 0;
      auto totalNs = static_cast<double>(line.totalNs);
      for (next = i + 1; next < entry.lines.size() &&
                         entry.lines[next].call == kWithCommandBefore;
           ++next) {
        const Line &member = entry.lines[next];
        nodes += std::string(",") + member.command->label;
        with.push_back(member.inBody.value_or(member.index));
        // The result between the two is not in memory.
        const AccessedBytes own = accessedBytes(*member.command, {});
        bytes.read += own.read - member.command->slices[0].sizeBytes;
        bytes.written = own.written;
        ownFlops += next < flops.size() ? flops[next] : 0;
        totalNs += static_cast<double>(member.totalNs);
      }
      if (command.kind == SINTER_CMD_SCAN)
        continue; // its commands have the time
      const double us =
          line.runs ? totalNs / 1e3 / static_cast<double>(line.runs) : 0;
      auto rate = [&](double amount) { return us > 0 ? amount / us : 0; };
      // The limits are those of the first device. Links bound messages.
      const bool isMessage = command.kind == SINTER_CMD_COLLECTIVE ||
                             command.kind == SINTER_CMD_AWAIT;
      const bool isLimited =
          !isMessage && placeKind(artifact_, command.place) ==
                            std::string(placeKind(artifact_, 0));
      const double allBytes = static_cast<double>(line.trips) *
                              static_cast<double>(bytes.read + bytes.written);
      Row row = {&entry,
                 &line,
                 std::move(nodes),
                 std::move(with),
                 us,
                 total > 0 ? totalNs / total : 0,
                 rate(allBytes) / 1e3,
                 isLimited ? ceilings.mostGBps(bytes.read, bytes.written) : 0,
                 rate(ownFlops) / 1e6,
                 isLimited ? mostTflops(command, ceilings) : 0,
                 0};
      if (row.mostGbps > 0)
        row.bestUs = allBytes / row.mostGbps / 1e3;
      if (row.mostTflops > 0)
        row.bestUs = std::max(row.bestUs, ownFlops / row.mostTflops / 1e6);
      rows.push_back(std::move(row));
    }
  }
  // Of equal times, in the order of the tables.
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return std::tuple(b.line->totalNs, a.entry, a.line) <
           std::tuple(a.line->totalNs, b.entry, b.line);
  });
  return rows;
}

// As sinter-inspect plan numbers it: "3", "6.1" in the body of a scan.
std::string CommandTimes::numberOf(const Line &line) {
  std::string text = std::to_string(line.index);
  return line.inBody ? text + "." + std::to_string(*line.inBody) : text;
}

const char *CommandTimes::kernelName(const sinter_command &launch) const {
  return artifact_.kernels[launch.launch.kernel].name;
}

template <typename... Values>
static std::string formatted(const char *form, Values... values) {
  char text[160];
  std::snprintf(text, sizeof(text), form, values...);
  return text;
}

std::string CommandTimes::table(const Ceilings &ceilings,
                                const FlopsOfEntry &flopsOf) const {
  const bool hasMost = !ceilings.levels.empty();
  std::string text = "   share     time us";
  text += hasMost ? "     best us      GB/s   at most" : "      GB/s";
  text += flopsOf ? "   TFLOP/s" : "";
  text += flopsOf && hasMost ? "   at most" : "";
  text += "      #  command\n";
  for (const Row &row : rows(ceilings, flopsOf)) {
    const sinter_command &command = *row.line->command;
    auto most = [](const char *form, double value) {
      return value > 0 ? formatted(form, value) : "         -";
    };
    text += formatted("%6.1f %% %11.1f", 100 * row.share, row.us);
    if (hasMost)
      text += "  " + most(" %9.1f", row.bestUs);
    text += formatted(" %9.1f", row.gbps);
    if (hasMost)
      text += most(" %9.1f", row.mostGbps);
    if (flopsOf)
      text += formatted(" %9.3f", row.tflops);
    if (flopsOf && hasMost)
      text += most(" %9.3f", row.mostTflops);
    text += formatted("  %5s  %-7s ", numberOf(*row.line).c_str(),
                      commandName(command));
    if (entries_.size() > 1)
      text += std::string("@") + row.entry->source->name + " ";
    if (command.kind == SINTER_CMD_LAUNCH)
      text += std::string(kernelName(command)) + " ";
    text += row.nodes;
    text += (row.line->call.empty() ? "" : ": " + row.line->call) + "\n";
  }
  if (hasMost) {
    text += "at most: ";
    if (flopsOf)
      text += formatted("%.3f TFLOP/s in fp32, %.3f in bf16; ",
                        ceilings.mostF32TFlops, ceilings.mostBf16TFlops);
    text += "reads of";
    for (const MemoryLevel &level : ceilings.levels)
      text += formatted("%s %s %.1f GB/s",
                        &level == &ceilings.levels.front() ? "" : ",",
                        level.name.c_str(), level.readGBps);
    text += "\n";
  }
  if (ceilings.copyGBps > 0) {
    text += formatted("measured: %.1f GB/s (large copy)", ceilings.copyGBps);
    if (flopsOf)
      text += formatted(", %.3f TFLOP/s (large fp32 product), %.3f (bf16)",
                        ceilings.f32TFlops, ceilings.bf16TFlops);
    text += "\n";
  }
  return text;
}

std::string
CommandTimes::json(const Ceilings &ceilings, const FlopsOfEntry &flopsOf,
                   std::optional<std::pair<int64_t, int64_t>> steps) const {
  nlohmann::json list = nlohmann::json::array();
  for (const Row &row : rows(ceilings, flopsOf)) {
    const sinter_command &command = *row.line->command;
    nlohmann::json each;
    if (entries_.size() > 1)
      each["entry"] = row.entry->source->name;
    each["index"] = row.line->index;
    if (row.line->inBody)
      each["in_body"] = *row.line->inBody;
    for (uint32_t number : row.with)
      each["with"].push_back(number);
    each["kind"] = commandName(command);
    if (command.kind == SINTER_CMD_LAUNCH)
      each["kernel"] = kernelName(command);
    each["nodes"] = row.nodes;
    if (!row.line->call.empty())
      each["call"] = row.line->call;
    each["us"] = row.us;
    each["share"] = row.share;
    each["gb_per_s"] = row.gbps;
    if (row.mostGbps > 0)
      each["most_gb_per_s"] = row.mostGbps;
    if (flopsOf)
      each["tflop_per_s"] = row.tflops;
    if (flopsOf && row.mostTflops > 0)
      each["most_tflop_per_s"] = row.mostTflops;
    if (row.bestUs > 0)
      each["best_us"] = row.bestUs;
    list.push_back(std::move(each));
  }
  Json object;
  if (steps) {
    object["first_step"] = steps->first;
    object["last_step"] = steps->second;
  }
  if (!entries_.empty())
    object["program"] = programJson();
  object["commands"] = std::move(list);
  if (ceilings.copyGBps > 0) {
    object["copy_gb_per_s"] = ceilings.copyGBps;
    object["fp32_tflop_per_s"] = ceilings.f32TFlops;
    object["bf16_tflop_per_s"] = ceilings.bf16TFlops;
  }
  if (!ceilings.levels.empty()) {
    Json levels = Json::array();
    for (const MemoryLevel &level : ceilings.levels)
      levels.push_back({{"name", level.name},
                        {"read_gb_per_s", level.readGBps},
                        {"write_gb_per_s", level.writeGBps}});
    object["most"] = {{"fp32_tflop_per_s", ceilings.mostF32TFlops},
                      {"bf16_tflop_per_s", ceilings.mostBf16TFlops},
                      {"levels", std::move(levels)}};
  }
  return object.dump(-1, ' ', false, Handler::replace) + "\n";
}
