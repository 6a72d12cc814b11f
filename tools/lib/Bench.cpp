//===- Bench.cpp - how long a run takes, and where it goes ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Bench.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

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

static const char *kindName(uint32_t kind) {
  switch (kind) {
  case SINTER_CMD_LAUNCH:
    return "launch";
  case SINTER_CMD_MATMUL:
    return "matmul";
  case SINTER_CMD_CONV:
    return "conv";
  case SINTER_CMD_COPY:
    return "copy";
  case SINTER_CMD_FILL:
    return "fill";
  case SINTER_CMD_ATTENTION:
    return "attention";
  }
  return "?";
}

void Profile::record(const sinter_entry &entry, uint32_t index,
                     uint64_t beginNs, uint64_t durationNs) {
  entry_ = &entry;
  if (lines_.size() < entry.numCommands)
    lines_.resize(entry.numCommands);
  lines_[index].totalNs += durationNs;
  ++lines_[index].calls;
  events_.push_back({index, beginNs, durationNs});
}

using Handler = nlohmann::json::error_handler_t;

std::string Profile::traceEvents() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const uint64_t origin = events_.empty() ? 0 : events_.front().beginNs;
  for (const Event &event : events_) {
    const sinter_command &command = entry_->commands[event.index];
    list.push_back({{"name", command.label},
                    {"cat", kindName(command.kind)},
                    {"ph", "X"},
                    {"ts", static_cast<double>(event.beginNs - origin) / 1e3},
                    {"dur", static_cast<double>(event.durationNs) / 1e3},
                    {"pid", command.device},
                    {"tid", command.stream},
                    {"args", {{"command", event.index}}}});
  }
  nlohmann::ordered_json json = {{"traceEvents", list},
                                 {"displayTimeUnit", "ms"}};
  return json.dump(-1, ' ', false, Handler::replace) + "\n";
}

std::string Profile::report(bool json) const {
  std::vector<size_t> order(lines_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lines_[a].totalNs > lines_[b].totalNs;
  });
  double total = 0;
  for (const Line &line : lines_)
    total += static_cast<double>(line.totalNs);
  nlohmann::json list = nlohmann::json::array();
  std::string text = "   share     time us  command\n";
  for (size_t i : order) {
    const Line &line = lines_[i];
    const sinter_command &command = entry_->commands[i];
    double us = line.calls ? line.totalNs / 1e3 / line.calls : 0;
    double share = total > 0 ? 100 * line.totalNs / total : 0;
    list.push_back({{"index", i},
                    {"kind", kindName(command.kind)},
                    {"nodes", command.label},
                    {"us", us},
                    {"share", share / 100}});
    char columns[64];
    std::snprintf(columns, sizeof(columns), "%6.1f %% %11.1f  %-7s ", share, us,
                  kindName(command.kind));
    text += std::string(columns) + command.label + "\n";
  }
  return json ? list.dump(-1, ' ', false, Handler::replace) + "\n" : text;
}
