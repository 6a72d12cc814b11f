//===- Bench.h - how long a run takes, and where time goes ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_BENCH_H
#define SINTER_TOOLS_LIB_BENCH_H

#include "runtime/device/Ceilings.h"
#include "runtime/exec/ExpandScans.h"
#include "runtime/exec/Profile.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sinter::tools {

struct BenchResult {
  double medianMs = 0, p10Ms = 0, p90Ms = 0;
  int64_t runs = 0;
};

/// Calls `run` for `warmupMs`, then for `durationMs` and at least 5 times. Ends
/// early, with `runs` 0, if `run` returns false.
BenchResult bench(double warmupMs, double durationMs,
                  const std::function<bool()> &run);

/// For each line of standard input, which is a number of runs, calls `run` that
/// often and prints the mean time as a line of JSON. This way rounds can
/// alternate with those of another program. Returns false if `run` did. A line
/// that is not a number ends the rounds and is put into `wrongLine`.
bool benchRounds(const std::function<bool()> &run, std::string &wrongLine);

/// Adds up the time of every command and records each run of it for a trace.
class Profile final : public rt::ProfileSink {
public:
  /// Of runs of a program that was made from `artifact`, which outlives this.
  explicit Profile(const sinter_artifact &artifact) : artifact_(artifact) {}

  void record(const sinter_entry &entry, uint32_t index, uint64_t beginNs,
              uint64_t durationNs) override;

  /// What a command must do at least.
  struct Work {
    double flops = 0; // floating-point operations
    double bytes = 0; // read and written
  };
  /// Of each command of an entry of `artifact`, in all its trips. The commands
  /// of the body of a scan follow it, each once.
  using WorkOfEntry =
      std::function<std::vector<Work>(const sinter_entry &entry)>;

  /// The commands of the entry with their mean time, share, GB/s and TFLOP/s,
  /// slowest first, and the device's limits; as text or JSON.
  std::string report(bool json, const rt::Ceilings &ceilings,
                     const WorkOfEntry &workOf) const;

  /// All runs as JSON for chrome://tracing and Perfetto: one event per command,
  /// in the row of its device and stream. "otherData" names the entry and the
  /// sizes of its inputs. Events of a scan have its number as "command", and
  /// those of commands in its body "in_body" and "trip", from 0, which is left
  /// out.
  std::string traceEvents() const;

private:
  struct Event {
    uint32_t index;
    uint64_t beginNs, durationNs;
  };
  struct Line {
    const sinter_command *command = nullptr; // of one trip
    uint32_t index = 0;                      // in the table; that of a scan
    std::optional<uint32_t> inBody = {};     // in the body of a scan
    uint64_t totalNs = 0, runs = 0;
  };
  void begin(const sinter_entry &entry);

  const sinter_artifact &artifact_;
  const sinter_entry *entry_ = nullptr;  // as it runs
  const sinter_entry *source_ = nullptr; // the same of `artifact_`
  std::vector<rt::ScanTrip> trips_;      // by command of `entry_`
  std::vector<Line> lines_;
  std::vector<size_t> firstLine_; // by command of `source_`
  std::vector<Event> events_;
};

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_BENCH_H
