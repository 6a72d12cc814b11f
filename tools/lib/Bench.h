//===- Bench.h - how long a run takes ---------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_BENCH_H
#define SINTER_TOOLS_LIB_BENCH_H

#include <cstdint>
#include <functional>
#include <string>

namespace sinter::tools {

struct BenchResult {
  double medianMs = 0, p10Ms = 0, p90Ms = 0;
  int64_t runs = 0;
  /// One line for people.
  std::string text() const;
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

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_BENCH_H
