//===- CommandTimes.h - where the time of runs goes -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The profile of `sinter-run --profile` and of the trainer's --profile: the
// mean time of each command, and how near it comes to what the device can do.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_COMMANDTIMES_H
#define SINTER_RUNTIME_HARNESS_COMMANDTIMES_H

#include "runtime/base/ByteRanges.h"
#include "runtime/device/Ceilings.h"
#include "runtime/exec/ExpandScans.h"
#include "runtime/exec/Profile.h"
#include "runtime/harness/OutputFile.h"

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sinter::rt {

/// Adds up the time of every command and records each run of it for a trace.
class CommandTimes final : public ProfileSink {
public:
  /// How trace events begin.
  static const OutputKind &traceKind();
  /// What a library chose for command `index` of an entry, as it runs
  /// (Executor::describe()); empty for other commands.
  using DescribeCall =
      std::function<std::string(const sinter_entry &entry, uint32_t index)>;

  /// Of runs of a program that was made from `artifact`, which outlives this.
  /// `describeCall` is asked once for each command, when it has run.
  explicit CommandTimes(const sinter_artifact &artifact,
                        DescribeCall describeCall = {})
      : artifact_(artifact), describeCall_(std::move(describeCall)) {
    readLimits();
  }

  void record(const sinter_entry &entry, uint32_t index, uint64_t beginNs,
              uint64_t durationNs) override;
  /// Forgets what was recorded.
  void clear() {
    entries_.clear();
    events_.clear();
  }

  /// The floating-point operations of each command of an entry of `artifact`,
  /// in all its trips. The commands of the body of a scan follow it, each once.
  using FlopsOfEntry =
      std::function<std::vector<double>(const sinter_entry &entry)>;

  /// The commands with their mean time in a run of their entry, their share of
  /// the time of all runs, the least time by the limits of the device, GB/s and
  /// TFLOP/s with the most that the device can do of these, slowest first; then
  /// the device's limits. As a table, or as JSON. TFLOP/s are printed only with
  /// `flopsOf`; without it the least time is that of the bytes alone. If
  /// several entries ran, each command is printed with its entry. A library
  /// call is printed with what the library chose for it. JSON says which
  /// program the times are of.
  std::string table(const Ceilings &ceilings,
                    const FlopsOfEntry &flopsOf = {}) const;
  /// `steps`: the first and the last step that were timed, from 1; of JSON.
  std::string json(const Ceilings &ceilings, const FlopsOfEntry &flopsOf = {},
                   std::optional<std::pair<int64_t, int64_t>> steps = {}) const;

  /// The process of a job that is timed.
  struct Process {
    uint32_t rank = 0, count = 1; // of processes
    /// The time 0 of the events, as the begin of a command; 0: their first one.
    uint64_t originNs = 0;
  };
  /// All runs as JSON for chrome://tracing and Perfetto: one event per command,
  /// in the row of its stream, in the process of its device; of several
  /// processes, in that of the rank. Messages are async events, from their
  /// collective to the end of their await. "otherData" names
  /// the build, the entry that took most time and the sizes of its inputs;
  /// events of other
  /// entries have "entry". Events of a scan have its number as "command", and
  /// those of the commands in its body also "in_body" and "trip", from 0.
  std::string traceEvents(const Process &process) const;
  std::string traceEvents() const { return traceEvents(Process()); }

private:
  struct Line;
  static std::string numberOf(const Line &line);
  const char *kernelName(const sinter_command &launch) const;

  struct Event {
    uint32_t entry, index;
    uint64_t beginNs, durationNs;
  };
  struct Line {
    const sinter_command *command = nullptr; // of one trip
    uint32_t index = 0;                      // in the table; that of a scan
    std::optional<uint32_t> inBody = {};     // in the body of a scan
    int64_t trips = 1;
    uint64_t totalNs = 0, runs = 0;
    std::string call = {}; // what the library chose
  };
  struct Entry {
    const sinter_entry *entry = nullptr;  // as it runs
    const sinter_entry *source = nullptr; // the same of `artifact_`
    std::vector<ScanTrip> trips;          // by command of `entry`
    std::vector<Line> lines;
    std::vector<size_t> firstLine; // by command of `source`
    uint64_t totalNs = 0;
  };
  struct Row; // of the table
  uint32_t begin(const sinter_entry &entry);
  uint32_t longest() const;
  nlohmann::ordered_json programJson() const;
  std::vector<Row> rows(const Ceilings &ceilings,
                        const FlopsOfEntry &flopsOf) const;
  std::string deviceOf(uint32_t place) const;
  void readLimits();
  std::vector<AccessLimit> limitsOf(const sinter_command &command) const;

  const sinter_artifact &artifact_;
  const DescribeCall describeCall_;
  std::vector<Entry> entries_;
  std::vector<Event> events_;
  std::map<std::string, std::vector<AccessLimit>> accesses_; // by kernel
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_COMMANDTIMES_H
