//===- Bench.cpp - how long a run takes, and where time goes --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Bench.h"

#include "runtime/exec/ArtifactChecks.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

using namespace sinter;
using namespace sinter::tools;

using Clock = std::chrono::steady_clock;

static double millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

BenchResult tools::bench(double warmupMs, double durationMs,
                         const std::function<bool()> &run) {
  Clock::time_point begin = Clock::now();
  do {
    if (!run())
      return {};
  } while (millisecondsSince(begin) < warmupMs);

  std::vector<double> times;
  begin = Clock::now();
  while (times.size() < 5 || millisecondsSince(begin) < durationMs) {
    Clock::time_point start = Clock::now();
    if (!run())
      return {};
    times.push_back(millisecondsSince(start));
  }
  std::sort(times.begin(), times.end());
  auto quantile = [&](double q) {
    return times[size_t(q * (times.size() - 1))];
  };
  return {quantile(0.5), quantile(0.1), quantile(0.9),
          static_cast<int64_t>(times.size())};
}

bool tools::benchRounds(const std::function<bool()> &run,
                        std::string &wrongLine) {
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    int64_t runs = 0;
    auto [end, error] =
        std::from_chars(line.data(), line.data() + line.size(), runs);
    if (error != std::errc() || end != line.data() + line.size() || runs < 1) {
      wrongLine = line;
      return true;
    }
    Clock::time_point begin = Clock::now();
    for (int64_t i = 0; i < runs; ++i)
      if (!run())
        return false;
    std::printf("{\"runs\":%" PRId64 ",\"ms_per_run\":%.9g}\n", runs,
                millisecondsSince(begin) / double(runs));
    std::fflush(stdout);
  }
  return true;
}

void Profile::begin(const sinter_entry &entry) {
  entry_ = &entry;
  for (const sinter_entry &each :
       std::span(artifact_.entries, artifact_.numEntries))
    if (std::strcmp(each.name, entry.name) == 0)
      source_ = &each;
  trips_ = rt::tripsOf(*source_);
  for (uint32_t i = 0; i < source_->numCommands; ++i) {
    const sinter_command &command = source_->commands[i];
    firstLine_.push_back(lines_.size());
    lines_.push_back({&command, i});
    if (command.kind == SINTER_CMD_SCAN)
      for (uint32_t j = 0; j < command.scan.params->numCommands; ++j)
        lines_.push_back({&command.scan.params->commands[j], i, j});
  }
}

void Profile::record(const sinter_entry &entry, uint32_t index,
                     uint64_t beginNs, uint64_t durationNs) {
  if (!entry_)
    begin(entry);
  const rt::ScanTrip &trip = trips_[index];
  // The body of a scan comes after it.
  const bool isInScan = source_->commands[trip.command].kind == SINTER_CMD_SCAN;
  Line &line = lines_[firstLine_[trip.command] + isInScan + trip.inBody];
  line.totalNs += durationNs;
  line.runs += trip.trip == 0;
  events_.push_back({index, beginNs, durationNs});
}

using Handler = nlohmann::json::error_handler_t;

// Which program the events are of: other sizes take other times.
static nlohmann::ordered_json programJson(const sinter_entry &entry) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < entry.numInputs; ++i) {
    const sinter_tensor_desc &input = entry.inputs[i];
    inputs.push_back(
        {{"name", input.name},
         {"shape", std::vector<int64_t>(input.dims, input.dims + input.rank)}});
  }
  return {{"entry", entry.name}, {"inputs", inputs}};
}

std::string Profile::traceEvents() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const uint64_t origin = events_.empty() ? 0 : events_.front().beginNs;
  for (const Event &event : events_) {
    const sinter_command &command = entry_->commands[event.index];
    const rt::ScanTrip &trip = trips_[event.index];
    nlohmann::ordered_json args = {{"command", trip.command}};
    if (trip.inBody > 0)
      args["in_body"] = trip.inBody;
    if (trip.trip > 0)
      args["trip"] = trip.trip;
    list.push_back({{"name", command.label},
                    {"cat", rt::commandName(command.kind)},
                    {"ph", "X"},
                    {"ts", static_cast<double>(event.beginNs - origin) / 1e3},
                    {"dur", static_cast<double>(event.durationNs) / 1e3},
                    {"pid", command.place},
                    {"tid", command.stream},
                    {"args", std::move(args)}});
  }
  nlohmann::ordered_json json = {{"traceEvents", list},
                                 {"displayTimeUnit", "ms"}};
  if (entry_)
    json["otherData"] = programJson(*source_);
  return json.dump(-1, ' ', false, Handler::replace) + "\n";
}

std::string Profile::report(bool json, const rt::Ceilings &ceilings,
                            const WorkOfEntry &workOf) const {
  std::vector<size_t> order(lines_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lines_[a].totalNs > lines_[b].totalNs;
  });
  double total = 0;
  for (const Line &line : lines_)
    total += static_cast<double>(line.totalNs);
  const std::vector<Work> work =
      source_ ? workOf(*source_) : std::vector<Work>();
  nlohmann::json list = nlohmann::json::array();
  std::string text = "   share     time us      GB/s   TFLOP/s  command\n";
  for (size_t i : order) {
    const Line &line = lines_[i];
    const sinter_command &command = *line.command;
    if (command.kind == SINTER_CMD_SCAN)
      continue; // its commands have the time
    double us = line.runs ? line.totalNs / 1e3 / line.runs : 0;
    double share = total > 0 ? 100 * line.totalNs / total : 0;
    double gbps = us > 0 ? work[i].bytes / us / 1e3 : 0;
    double tflops = us > 0 ? work[i].flops / us / 1e6 : 0;
    list.push_back({{"index", line.index},
                    {"kind", rt::commandName(command.kind)},
                    {"nodes", command.label},
                    {"us", us},
                    {"share", share / 100},
                    {"gb_per_s", gbps},
                    {"tflop_per_s", tflops}});
    if (line.inBody)
      list.back()["in_body"] = *line.inBody;
    text +=
        fmt::format("{:6.1f} % {:11.1f} {:9.1f} {:9.3f}  {:<7} {}\n", share, us,
                    gbps, tflops, rt::commandName(command.kind), command.label);
  }
  if (!json) {
    if (ceilings.copyGBps > 0)
      text += fmt::format("the device at most: {:.1f} GB/s (copy), {:.3f} "
                          "TFLOP/s (fp32 product), {:.3f} (bf16)\n",
                          ceilings.copyGBps, ceilings.f32TFlops,
                          ceilings.bf16TFlops);
    return text;
  }
  nlohmann::ordered_json object;
  object["commands"] = std::move(list);
  if (ceilings.copyGBps > 0) {
    object["copy_gb_per_s"] = ceilings.copyGBps;
    object["fp32_tflop_per_s"] = ceilings.f32TFlops;
    object["bf16_tflop_per_s"] = ceilings.bf16TFlops;
  }
  return object.dump(-1, ' ', false, Handler::replace) + "\n";
}
