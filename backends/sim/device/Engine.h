//===- Engine.h - runs CUDA kernels on the CPU ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Executes launches of kernels that were compiled for the simulated device:
// blocks on the workers of the shared pool, the threads of a block on fibers of
// one worker. The semantics are strict: what CUDA leaves undefined (a barrier
// that not all threads reach, a shuffle from an absent lane, an access outside
// the launch's buffers) is an error that names kernel, block, thread and
// instruction in one line. Speed is not simulated, nor is the memory model
// beyond the order of threads, which a seed chooses.
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

/// Limits of the simulated device, those of compute capability 9.0.
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
  void *const *buffers = nullptr;
  /// What accesses of a checked kernel must stay inside; empty: anywhere.
  std::vector<MemoryRange> ranges;
};

/// What the device saw of one launch.
struct LaunchReport {
  std::string kernel;
  uint32_t grid[3] = {}, block[3] = {};
  uint64_t threads = 0;  // that ran
  uint64_t barriers = 0; // of blocks, passed
  uint64_t shuffles = 0; // and votes and other meetings of warps
  uint64_t races = 0;
};

/// What is left out or forced: the mutation check.
struct Drop {
  enum Kind { Nothing, Barrier, Predicate };
  Kind kind = Nothing;
  std::string kernel;  // "": every kernel
  uint32_t number = 0; // among the kernel's sites of that kind
};

struct EngineOptions {
  int threads = 1;   // workers at most
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

  /// Runs the launch to its end. Fails with SINTER_DEVICE_FAILED and one line;
  /// memory then holds what the threads wrote so far. `report` may be null.
  rt::Status launch(const Launch &launch, LaunchReport *report);

  /// The table of sites of a kernel; owned by its code.
  const sinter_sim_kernel_info *describe(sinter_sim_kernel kernel);

private:
  rt::Status check(const Launch &launch, const sinter_sim_kernel_info &info);
  rt::Status reserveWorkers(int count);

  EngineOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<RaceShadow> races_;
  std::unordered_map<sinter_sim_kernel, const sinter_sim_kernel_info *> infos_;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_ENGINE_H
