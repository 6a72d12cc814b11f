//===- Worker.h - one CPU thread that runs blocks ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Threads of a block start one after the other on one fiber. A thread that has
// to wait keeps the fiber, and the next thread gets another one, so a kernel
// without barriers is a plain loop. The last thread to reach a barrier or a
// warp's meeting computes the outcome for all, so that a meeting costs one
// switch per thread. Switches go from fiber to fiber; control returns to the
// worker's own stack when the block is done or has failed. Of a persistent
// kernel, one worker runs all blocks: it turns to another block when a thread
// polls memory and no other thread of its block can continue.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_WORKER_H
#define SINTER_BACKENDS_SIM_DEVICE_WORKER_H

#include "backends/sim/device/AccessCheck.h"
#include "backends/sim/device/Engine.h"
#include "backends/sim/device/Fiber.h"
#include "backends/sim/device/Schedule.h"
#include "backends/sim/device/WarpCall.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace sinter::sim {

/// The state that the workers of a launch share; constant while it runs.
struct LaunchContext {
  const Launch *launch = nullptr;
  const sinter_sim_kernel_info *info = nullptr;
  uint64_t seed = 0;
  uint32_t dropSite = ~0u;        // no site has this number
  RaceShadow *races = nullptr;    // null: races are not checked
  AccessRanges *ranges = nullptr; // null: no limit; only with one worker
  bool failsOnRaces = true;
};

class Worker {
public:
  Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;
  ~Worker();

  /// Allocates memory for shared variables; fails if there is none.
  rt::Status prepare();

  /// Resets the counters.
  void beginLaunch(const LaunchContext &context);

  /// Runs block `block` of the launch; false if it failed, which error() then
  /// describes.
  bool runBlock(uint64_t block);
  /// Runs all blocks of the launch side by side; false if one failed.
  bool runTogether(uint64_t numBlocks);

  const std::string &error() const { return error_; }
  const LaunchReport &counts() const { return counts_; }

private:
  friend struct TableFunctions;

  enum class State : uint8_t { Unstarted, Running, Ready, Waiting, Exited };

  struct Thread {
    State state = State::Unstarted;
    uint32_t site = 0;  // where it waits
    uint32_t value = 0; // the result of a barrier
    Context *fiber = nullptr;
    WarpCall *call = nullptr; // while it waits for its warp
  };

  /// Lanes that wait for the rest of `mask`.
  struct Meeting {
    bool isOpen = false;
    uint32_t site = 0, mask = 0, arrived = 0;
  };

  struct Warp {
    uint32_t exited = 0; // mask of lanes; absent lanes count as exited
    uint32_t epoch = 0;  // advances when all lanes synchronise
    uint32_t numOpen = 0;
    std::array<Meeting, 32> meetings;
  };

  struct BlockBarrier {
    uint32_t site = 0, expected = 0;
    uint32_t sum = 0; // the number of given values that are not 0
    std::vector<uint32_t> waiting;
  };

  /// A copy that cp.async started but has not done yet.
  struct PendingCopy {
    void *to;
    const void *from;
    uint32_t sizeBytes, sourceBytes;
    uint32_t group, site;
  };

  struct ThreadCopies {
    uint32_t openGroup = 0;
    std::vector<PendingCopy> pending;
  };

  static constexpr uint32_t kNoSite = ~0u;

  struct UnmapShared {
    void operator()(uint8_t *memory) const;
  };

  /// A block that has begun and has not ended.
  struct Block {
    uint64_t number = 0;
    uint32_t id[3] = {};
    uint32_t current = 0; // the running thread
    uint32_t numExited = 0;
    uint32_t epoch = 1; // advances at barriers of the whole block
    uint64_t numIdleYields = 0;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::array<BlockBarrier, 16> barriers;
    std::vector<ThreadCopies> copies; // by thread; empty: no copies yet
    std::vector<bool> hasWaited; // by thread, if the launch may begin early
    Schedule schedule;
    Context *fiber = nullptr; // the running fiber
    /// An arena and a margin after it.
    std::unique_ptr<uint8_t, UnmapShared> shared;
  };

  struct Table {
    sinter_sim_functions functions; // first: generated code gets its address
    Worker *worker;
  };

  static Worker &of(const sinter_sim_functions *functions) {
    return *reinterpret_cast<const Table *>(functions)->worker;
  }

  // Blocks.
  static rt::Status allocateShared(Block &block);
  uint32_t sharedBytes() const;
  bool beginBlock(uint64_t block);
  /// Runs threads of block_ until it has ended or failed, or until another
  /// block shall continue.
  void continueBlock();
  /// Checks what an ended block has left.
  bool endBlock();

  // Threads and fibers.
  static void fiberMain(void *worker);
  void runThreads();
  void placeThread(uint32_t thread);
  void switchTo(Context *target);
  void goOnWith(uint32_t next);
  void wait();
  void yield();
  [[noreturn]] void leave();
  /// False if the thread should not have ended.
  bool endThread();
  bool checkLaunchWait();

  /// Whether the current thread may access global memory.
  bool isAfterLaunches() const {
    return !context_.launch->isEarly || block_.hasWaited[block_.current];
  }

  // Meetings.
  uint32_t meetAtBarrier(uint32_t site, uint32_t barrier, uint32_t count,
                         uint32_t value, sinter_sim_combine combine);
  void meetInWarp(WarpCall &call, uint32_t site, uint32_t mask);
  void release(uint32_t thread);

  // Copies.
  ThreadCopies &copiesOfThread();
  void startCopy(PendingCopy copy);
  void finishCopies(uint32_t pendingGroups);
  void doCopy(const PendingCopy &copy);

  const MemoryRange *bufferOfSite(uint32_t site) const;
  void checkAccess(uint32_t site, const void *address, uint64_t sizeBytes,
                   uint32_t alignment, uint32_t flags);

  // After setError, the thread is abandoned: objects on its stack are not
  // destroyed.
  void setError(const std::string &what, uint32_t site);
  void describeDeadlock();
  std::string threadText(uint32_t thread) const;
  std::string siteText(uint32_t site) const;

  Table table_;
  LaunchContext context_;
  uint32_t numThreads_ = 0;
  uint64_t numPredicates_ = 0;
  Block block_;               // the one that runs
  std::vector<Block> others_; // the others of a persistent kernel
  bool hasOthers_ = false;
  FiberPool fibers_;
  Context self_; // the worker's own stack
  std::string error_;
  LaunchReport counts_;
};

/// "3,7-9": the lanes of a mask.
std::string lanesText(uint32_t mask);

/// "(3,0,0)".
std::string tripleText(const uint32_t (&triple)[3]);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_WORKER_H
