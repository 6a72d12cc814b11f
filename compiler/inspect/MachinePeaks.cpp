//===- MachinePeaks.cpp - the limits of a machine -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/MachinePeaks.h"
#include "runtime/base/RecordedCpus.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Runs `work(thread)` on `count` threads at once; returns the seconds until the
// last one has ended.
template <typename Work> static double onThreads(unsigned count, Work work) {
  std::atomic<unsigned> ready = 0;
  std::vector<std::thread> threads;
  std::vector<double> ends(count);
  Clock::time_point begin;
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      if (++ready == count)
        begin = Clock::now();
      while (ready < count || begin == Clock::time_point())
        std::this_thread::yield();
      work(i);
      ends[i] = secondsSince(begin);
    });
  for (std::thread &thread : threads)
    thread.join();
  return *std::max_element(ends.begin(), ends.end());
}

namespace {
typedef float Vector __attribute__((vector_size(64)));
} // namespace

// Independent multiply-adds of vectors, as many as hide their latency. Returns
// a value that depends on all of them.
constexpr int kChains = 12, kLanes = 16;
__attribute__((always_inline)) static inline float
multiplyAddsOf(int64_t rounds, float seed) {
  Vector sums[kChains], factor, term;
  for (int lane = 0; lane < kLanes; ++lane) {
    factor[lane] = 0.5f;
    term[lane] = seed;
  }
  for (Vector &sum : sums)
    sum = term;
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int i = 0; i < kChains; ++i)
      sums[i] = __builtin_elementwise_fma(sums[i], factor, term);
  float result = 0;
  for (Vector &sum : sums)
    for (int lane = 0; lane < kLanes; ++lane)
      result += sum[lane];
  return result;
}

namespace {
// The same with the instructions of a level of the x86-64 psABI.
struct Level {
  StringRef name;
  float (*multiplyAdds)(int64_t rounds, float seed);
};
} // namespace

__attribute__((target("arch=x86-64-v4"))) static float
multiplyAddsOfV4(int64_t rounds, float seed) {
  return multiplyAddsOf(rounds, seed);
}
__attribute__((target("arch=x86-64-v3"))) static float
multiplyAddsOfV3(int64_t rounds, float seed) {
  return multiplyAddsOf(rounds, seed);
}
static float multiplyAddsOfAll(int64_t rounds, float seed) {
  return multiplyAddsOf(rounds, seed);
}

// The highest level first.
static constexpr Level kLevels[] = {{"x86-64-v4", multiplyAddsOfV4},
                                    {"x86-64-v3", multiplyAddsOfV3},
                                    {"x86-64-v2", multiplyAddsOfAll},
                                    {"x86-64", multiplyAddsOfAll}};

static bool runsHere(StringRef level) {
  return level == "x86-64-v4"   ? __builtin_cpu_supports("x86-64-v4")
         : level == "x86-64-v3" ? __builtin_cpu_supports("x86-64-v3")
                                : true;
}

// The best of some runs: a neighbour on the machine only makes it slower.
template <typename Run> static double bestOf(unsigned runs, Run run) {
  double best = run();
  for (unsigned i = 1; i < runs; ++i)
    best = std::min(best, run());
  return best;
}

// Adds the rate of bf16 products if a unit of the CPU multiplies them faster
// than float32. Returns how many times as fast; 1 if none does.
static double addBf16(const rt::CpuRates &rates, MachinePeaks &peaks) {
  const double times = std::max({1.0, rates.timesFp32(rt::CpuRate::Bf16Tiles),
                                 rates.timesFp32(rt::CpuRate::Bf16)});
  if (times > 1)
    peaks.contractionsPerSecond["bfloat16"] = peaks.flopsPerSecond * times;
  return times;
}

// Raises measured peaks to the best rates that a core of this machine was ever
// measured to have, times the threads, as the limits in a profile are: a busy
// machine only makes a measurement lower. The rates of arithmetic are those of
// all instructions that the CPU has.
static void raiseToBest(unsigned threads, bool hasAllInstructions,
                        MachinePeaks &peaks) {
  const rt::CpuRates rates = rt::measureHostCpuAgain();
  auto raise = [&](double &peak, std::initializer_list<rt::CpuRate> from) {
    for (rt::CpuRate rate : from)
      peak = std::max(peak, rates[rate].value_or(0) * threads);
  };
  raise(peaks.bytesPerSecond, {rt::CpuRate::Memory, rt::CpuRate::MemoryFill,
                               rt::CpuRate::MemoryCopy});
  if (!hasAllInstructions)
    return;
  raise(peaks.flopsPerSecond, {rt::CpuRate::Fp32});
  for (auto &[dtype, rate] : peaks.contractionsPerSecond)
    if (dtype == "bfloat16")
      raise(rate, {rt::CpuRate::Bf16, rt::CpuRate::Bf16Tiles});
}

// With the instructions of `level`; "": with all that this machine has.
static MachinePeaks measureCpu(StringRef level) {
  const Level *code = llvm::find_if(kLevels, [&](const Level &each) {
    return level.empty() ? runsHere(each.name) : each.name == level;
  });
  unsigned threads =
      std::max(1u, llvm::hardware_concurrency().compute_thread_count());
  constexpr int64_t kRounds = 1 << 18;
  std::vector<float> results(threads);
  double seconds = bestOf(4, [&] {
    return onThreads(threads, [&](unsigned i) {
      results[i] = code->multiplyAdds(kRounds, 1.0f + i);
    });
  });
  MachinePeaks peaks;
  peaks.flopsPerSecond =
      2.0 * kRounds * kChains * kLanes * threads / std::max(seconds, 1e-9);
  // No level has the units for products of bf16.
  const double times = level.empty() ? addBf16(rt::hostCpuRates(), peaks) : 1.0;
  // More than the last cache of most machines gives to one process.
  size_t size = (size_t(96) << 20) / threads;
  std::vector<std::vector<char>> from(threads), to(threads);
  onThreads(threads, [&](unsigned i) {
    from[i].assign(size, 1);
    to[i].assign(size, 0);
  });
  seconds = bestOf(2, [&] {
    return onThreads(threads, [&](unsigned i) {
      std::memcpy(to[i].data(), from[i].data(), size);
    });
  });
  peaks.bytesPerSecond = 2.0 * size * threads / std::max(seconds, 1e-9);
  raiseToBest(threads, level.empty(), peaks);
  peaks.cacheBytes = std::max<double>(sysconf(_SC_LEVEL2_CACHE_SIZE),
                                      sysconf(_SC_LEVEL3_CACHE_SIZE));
  peaks.source =
      "measured on this machine, " + std::to_string(threads) +
      (threads == 1 ? " thread" : " threads") +
      (level.empty() ? "" : " with the instructions of " + level.str()) +
      (times > 1
           ? llvm::formatv("; products of bfloat16 {0:F1} times as fast", times)
                 .str()
           : "");
  return peaks;
}

// What one core does in a second, times the cores.
static MachinePeaks recordedPeaks(const rt::RecordedCpu &cpu) {
  const rt::CpuRates rates = cpu.rates();
  MachinePeaks peaks;
  peaks.bytesPerSecond = cpu.memoryGBps * 1e9;
  peaks.flopsPerSecond = *rates[rt::CpuRate::Fp32] * cpu.cores;
  addBf16(rates, peaks);
  peaks.cacheBytes = cpu.l3MiB * (1 << 20);
  peaks.source = rates.source + ", " + std::to_string(cpu.cores) + " cores";
  return peaks;
}

MachinePeaks compiler::machinePeaks(bool isHost, const std::string &mcpu) {
  if (isHost) {
    if (mcpu.empty() || mcpu == "native")
      return measureCpu("");
    if (const rt::RecordedCpu *cpu = rt::recordedCpu(mcpu))
      return recordedPeaks(*cpu);
    if (llvm::any_of(kLevels, [&](const Level &level) {
          return level.name == mcpu && runsHere(mcpu);
        }))
      return measureCpu(mcpu);
    MachinePeaks unknown;
    unknown.source = "the limits of " + mcpu + " are unknown here";
    return unknown;
  }
  return {4.3e12, 67e12,    {{"float16", 790e12}, {"bfloat16", 790e12}},
          1.3e-6, 50 << 20, "stated for an H200"};
}

double BestTime::best(const MachinePeaks &peaks) const {
  return std::max({memory, arithmetic, peaks.secondsPerLaunch});
}

const char *BestTime::bound(const MachinePeaks &peaks) const {
  if (peaks.secondsPerLaunch > std::max(memory, arithmetic))
    return "launch";
  return memory >= arithmetic ? "memory" : "arithmetic";
}

std::pair<std::string, double>
MachinePeaks::rateOf(const std::string &dtype) const {
  auto found = contractionsPerSecond.find(dtype);
  if (found == contractionsPerSecond.end())
    return {"float32", flopsPerSecond};
  return *found;
}

BestTime compiler::bestTime(const MachinePeaks &peaks, double bytes,
                            const KernelFlops &flops) {
  if (!peaks.isKnown())
    return {};
  double arithmetic = flops.other / peaks.flopsPerSecond;
  for (auto &[dtype, count] : flops.contractions)
    arithmetic += count / peaks.rateOf(dtype).second;
  return {bytes / peaks.bytesPerSecond, arithmetic};
}

std::vector<std::pair<std::string, double>>
compiler::ratesOf(const MachinePeaks &peaks, const KernelFlops &flops) {
  std::map<std::pair<std::string, double>, double> counts;
  counts[{"float32", peaks.flopsPerSecond}] = flops.other;
  for (auto &[dtype, count] : flops.contractions)
    counts[peaks.rateOf(dtype)] += count;
  std::vector<std::pair<std::string, double>> rates;
  for (auto &[rate, count] : counts)
    if (count > 0 || counts.size() == 1)
      rates.push_back(rate);
  llvm::stable_sort(rates, [&](const auto &a, const auto &b) {
    return counts[a] > counts[b];
  });
  return rates;
}

std::string
compiler::ratesText(llvm::ArrayRef<std::pair<std::string, double>> rates) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, rate] : llvm::enumerate(rates))
    os << (i ? ", " : "") << llvm::format("%.4g", rate.second / 1e9)
       << (i ? " in " : " GFLOP/s in ") << rate.first;
  return text;
}
