//===- Bench.cpp - how long a run takes -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Bench.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <vector>

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

std::string BenchResult::text() const {
  return fmt::format("median {:.4f} ms, p10 {:.4f} ms, p90 {:.4f} ms, {} runs",
                     medianMs, p10Ms, p90Ms, runs);
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
    fmt::print("{{\"runs\":{},\"ms_per_run\":{:.9g}}}\n", runs,
               millisecondsSince(begin) / double(runs));
    std::fflush(stdout);
  }
  return true;
}
