//===- Engine.h - runs CUDA kernels on the CPU ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Executes launches of kernels that were compiled for the simulated device:
// blocks run on the workers of the shared pool, and the threads of a block on
// fibers of one worker. Semantics are strict: undefined behavior in CUDA (a
// barrier that not all threads reach, a shuffle from an absent lane, an access
// outside the launch's buffers) is an error that names kernel, block, thread
// and instruction in one line. Neither speed nor the memory model is simulated,
// except for the order of threads, which a seed determines.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_ENGINE_H
#define SINTER_BACKENDS_SIM_DEVICE_ENGINE_H

#include "runtime/base/Status.h"
#include "sinter/sim.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sinter::sim {

class Worker;
class RaceShadow;

/// Limits of the simulated device; they are those of compute capability 9.0.
struct Limits {
  static constexpr uint32_t threadsOfBlock = 1024;
  static constexpr uint32_t blockDim[3] = {1024, 1024, 64};
  static constexpr uint32_t gridDim[3] = {2147483647, 65535, 65535};
  static constexpr uint32_t staticSharedBytes = 48 << 10;
  static constexpr uint32_t sharedBytes = 227 << 10;
};

/// Memory that a launch may use.
struct MemoryRange {
  const void *begin = nullptr;
  uint64_t sizeBytes = 0;
  bool isWritable = true;
};

struct Launch {
  sinter_sim_kernel kernel = nullptr;
  const char *name = ""; // for errors
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0; // dynamic
  /// All blocks run at once: a part of the grid, as on a GPU.
  bool isPersistent = false;
  /// It may begin before the launches before it on its stream have ended: each
  /// thread has to wait for them.
  bool isEarly = false;
  void *const *buffers = nullptr;
  /// Accesses of a checked kernel must stay inside these; empty: no limit.
  std::vector<MemoryRange> ranges;
  /// Only these blocks of the grid run, for tests of grids that are too large
  /// to run; 0: all.
  uint64_t firstBlock = 0, numBlocks = 0;
};

/// What the device counted in one launch.
struct LaunchReport {
  std::string kernel;
  uint32_t grid[3] = {}, block[3] = {};
  uint64_t threads = 0;  // that ran
  uint64_t barriers = 0; // barriers of blocks that were passed
  uint64_t shuffles = 0; // including votes and other meetings of warps
  uint64_t races = 0;
};

/// A barrier that is left out or a predicate that is forced, for the mutation
/// check.
struct Drop {
  enum Kind { Nothing, Barrier, Predicate };
  Kind kind = Nothing;
  std::string kernel;  // "": every kernel
  uint32_t number = 0; // among the kernel's sites of that kind
};

struct EngineOptions {
  int threads = 1;   // the largest number of workers
  uint64_t seed = 0; // of the schedule
  bool failsOnRaces = true;
  Drop drop;
};

/// Runs one launch at a time.
class Engine {
public:
  explicit Engine(const EngineOptions &options);
  ~Engine();

  EngineOptions &options() { return options_; }

  /// Runs the launch to its end. On failure, returns SINTER_DEVICE_FAILED and
  /// one line; memory then holds what the threads have written so far. `report`
  /// may be null.
  rt::Status launch(const Launch &launch, LaunchReport *report);

  /// The table of sites of a kernel; owned by its code.
  const sinter_sim_kernel_info *describe(sinter_sim_kernel kernel);

private:
  rt::Status check(const Launch &launch, const sinter_sim_kernel_info &info);
  rt::Status reserveWorkers(int count);
  /// Runs `numBlocks` blocks from `first` on, one after the other on each
  /// worker.
  rt::Status runApart(uint64_t first, uint64_t numBlocks, int threads);

  EngineOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<RaceShadow> races_;
  std::unordered_map<sinter_sim_kernel, const sinter_sim_kernel_info *> infos_;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_ENGINE_H
