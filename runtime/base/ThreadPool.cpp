//===- ThreadPool.cpp - the workers that all programs of a process share --===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ThreadPool.h"

#include "runtime/base/ControlGroup.h"
#include "runtime/base/FloatMode.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <linux/futex.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sinter::rt;

namespace {

constexpr uint64_t insideMask = 0xffff;
constexpr int limitShift = 16;
constexpr uint64_t openBit = uint64_t(1) << 32;
constexpr int epochShift = 33;

uint64_t insideOf(uint64_t state) { return state & insideMask; }
int limitOf(uint64_t state) {
  return static_cast<int>((state >> limitShift) & 0xffff);
}
uint64_t epochOf(uint64_t state) { return state >> epochShift; }

/// How many times a waiting thread looks before it parks: about 20-60 us,
/// longer than the gap between two commands of a run, shorter than a time
/// slice.
constexpr int spinsBeforeParking = 2000;

/// How long a worker runs before it offers its CPU to others: less than the
/// time slices of Linux, which end at the first tick (every 1 to 10 ms) after
/// 1.4 to 3 ms.
constexpr std::chrono::milliseconds maxTurn(2);
/// A yield that takes at least this long has let another thread run.
constexpr std::chrono::microseconds leastYield(2);
/// How many times a worker on the caller's CPU yields before it works there:
/// others than the caller may use the CPU.
constexpr int mostYields = 16;

void spinOnce() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          expected, nullptr, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE,
          count, nullptr, nullptr, 0);
}

/// The index of this thread while it runs a body, else -1. A nested call does
/// all its work itself under that index: it must not wait for workers that may
/// be waiting for it.
thread_local int currentWorker = -1;

struct ThreadStart {
  ThreadPool *pool;
  int worker;
};

/// Keeps the code of the workers mapped when the library that holds the runtime
/// is closed.
void pinThisLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&pinThisLibrary), &info) &&
      info.dli_fname)
    (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

} // namespace

/// A time during which a worker has its CPU.
class ThreadPool::Turn {
public:
  /// Called before each piece. Reads the clock once for several short pieces,
  /// so that it costs little.
  bool isOver() {
    if (--piecesToCheck_ > 0)
      return false;
    const Clock::time_point now = Clock::now();
    piecesToCheck_ = now - checked_ < shortPieces ? manyPieces : 1;
    checked_ = now;
    return now - begin_ >= maxTurn;
  }
  /// Lets others run on this CPU; false if none was waiting. The caller must
  /// not wait for this worker meanwhile.
  bool end() {
    const Clock::time_point end = Clock::now();
    sched_yield();
    begin();
    return begin_ - end >= leastYield;
  }
  void begin() {
    begin_ = checked_ = Clock::now();
    piecesToCheck_ = 1;
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr int manyPieces = 8;
  /// The clock is read for each piece if those since the last read took longer.
  static constexpr std::chrono::microseconds shortPieces{100};

  Clock::time_point begin_ = Clock::now(), checked_ = begin_;
  int piecesToCheck_ = 1;
};

int sinter::rt::availableCpus() {
  // The fixed-size set covers 1024 CPUs; the kernel refuses it on larger
  // machines, where the online count is the answer.
  cpu_set_t set;
  CPU_ZERO(&set);
  long count = sched_getaffinity(0, sizeof(set), &set) == 0
                   ? CPU_COUNT(&set)
                   : sysconf(_SC_NPROCESSORS_ONLN);
  if (std::optional<double> quota = cpuQuota())
    count = std::min(count, static_cast<long>(std::ceil(*quota)));
  return static_cast<int>(std::clamp<long>(count, 1, ThreadPool::maxThreads));
}

std::string sinter::rt::threadsNote(int threads) {
  int cpus = availableCpus();
  if (threads <= cpus)
    return "";
  return "note: --threads=" + std::to_string(threads) +
         " exceeds the number of CPUs available to this process: " +
         std::to_string(cpus);
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  workerSignal_.fetch_add(1);
  futexWake(workerSignal_, INT_MAX);
  while (numAlive_.load() != 0)
    sched_yield();
}

void *ThreadPool::threadEntry(void *start) {
  std::unique_ptr<ThreadStart> owned(static_cast<ThreadStart *>(start));
  ThreadPool *pool = owned->pool;
  int worker = owned->worker;
  owned.reset();
  pool->workerMain(worker);
  pool->numAlive_.fetch_sub(1);
  return nullptr;
}

Status ThreadPool::reserve(int threads) {
  if (threads < 1 || threads > maxThreads)
    return Status::invalid("the number of threads is " +
                           std::to_string(threads) + "; it must be 1 to " +
                           std::to_string(maxThreads));
  std::lock_guard<std::mutex> lock(growing_);
  if (numWorkers_.load() == 0 && threads > 1)
    pinThisLibrary();
  while (numWorkers_.load() + 1 < threads) {
    auto start =
        std::make_unique<ThreadStart>(ThreadStart{this, numWorkers_ + 1});
    // Signals belong to the host's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    numAlive_.fetch_add(1);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, threadEntry, start.get());
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) {
      numAlive_.fetch_sub(1);
      return Status::failed(
          "cannot start worker thread " + std::to_string(numWorkers_ + 1) +
          " of " + std::to_string(threads - 1) + ": " + std::strerror(error));
    }
    (void)start.release(); // threadEntry owns it now
    pthread_setname_np(thread, "sinter-worker");
    numWorkers_.fetch_add(1);
  }
  return {};
}

int ThreadPool::callingWorker() { return std::max(currentWorker, 0); }

void ThreadPool::run(int threads, int64_t numTiles, int64_t grain,
                     Invoke invoke, void *context) {
  threads = std::min(threads, numWorkers_.load(std::memory_order_relaxed) + 1);
  // A second concurrent caller, or a nested call, does all its work itself:
  // nobody ever waits for the pool.
  if (threads <= 1 || currentWorker >= 0 ||
      busy_.exchange(true, std::memory_order_acquire)) {
    invoke(context, callingWorker(), 0, numTiles);
    return;
  }
  grain = std::max<int64_t>(grain, 1);
  // Eight pieces a thread: small enough to even out a slow worker, few enough
  // that claiming costs nothing.
  pieceTiles_ = std::max(grain, numTiles / (int64_t(threads) * 8));
  numPieces_ = (numTiles - 1) / pieceTiles_ + 1;
  threads = static_cast<int>(std::min<int64_t>(threads, numPieces_));
  numThreads_ = threads;
  invoke_ = invoke;
  context_ = context;
  numTiles_ = numTiles;
  callerCpu_.store(sched_getcpu(), std::memory_order_relaxed);
  for (int i = 0; i < threads; ++i)
    shares_[static_cast<size_t>(i)].claimed.store(0, std::memory_order_relaxed);
  uint64_t epoch = epochOf(state_.load(std::memory_order_relaxed)) + 1;
  // seq_cst with the parked count: either a worker that is about to park sees
  // this, or we see that it is parked.
  state_.store(epoch << epochShift | openBit | uint64_t(threads) << limitShift,
               std::memory_order_seq_cst);
  if (parkedWorkers_.load(std::memory_order_seq_cst) != 0) {
    workerSignal_.fetch_add(1, std::memory_order_seq_cst);
    // Any sleeper may be the one that wakes, so wake all of them if some are
    // above the limit.
    bool anyWillDo = threads == numWorkers_.load() + 1;
    futexWake(workerSignal_, anyWillDo ? threads - 1 : INT_MAX);
  }
  work(0, nullptr);
  state_.fetch_and(~openBit, std::memory_order_seq_cst);
  waitUntilLeft();
  busy_.store(false, std::memory_order_release);
}

bool ThreadPool::work(int worker, Turn *turn) {
  currentWorker = worker;
  const int64_t numTiles = numTiles_, pieceTiles = pieceTiles_,
                numPieces = numPieces_;
  const int threads = numThreads_;
  bool isOver = false;
  for (int i = 0; i < threads && !isOver; ++i) {
    const int owner = (worker + i) % threads;
    const int64_t first = owner * numPieces / threads,
                  count = (owner + 1) * numPieces / threads - first;
    std::atomic<int64_t> &claimed = shares_[static_cast<size_t>(owner)].claimed;
    while (claimed.load(std::memory_order_relaxed) < count) {
      if ((isOver = turn && turn->isOver()))
        break;
      const int64_t piece = claimed.fetch_add(1, std::memory_order_relaxed);
      if (piece >= count)
        break;
      const int64_t begin = (first + piece) * pieceTiles;
      invoke_(context_, worker, begin, std::min(begin + pieceTiles, numTiles));
    }
  }
  currentWorker = -1;
  return !isOver;
}

void ThreadPool::waitUntilLeft() {
  for (int spin = 0; spin < spinsBeforeParking; ++spin) {
    if (insideOf(state_.load(std::memory_order_acquire)) == 0)
      return;
    spinOnce();
  }
  while (true) {
    uint32_t signal = callerSignal_.load(std::memory_order_seq_cst);
    callerParked_.store(1, std::memory_order_seq_cst);
    if (insideOf(state_.load(std::memory_order_seq_cst)) == 0)
      break;
    futexWait(callerSignal_, signal);
  }
  callerParked_.store(0, std::memory_order_relaxed);
}

void ThreadPool::workerMain(int worker) {
  FloatMode mode;
  Turn turn;
  uint64_t lastEpoch = 0; // of the last call of which this worker saw the end
  int spins = 0, yields = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    uint64_t state = state_.load(std::memory_order_seq_cst);
    bool wanted = (state & openBit) && epochOf(state) != lastEpoch &&
                  worker < limitOf(state);
    if (wanted) {
      // A caller that waits for this CPU runs on it meanwhile.
      if (yields < mostYields &&
          sched_getcpu() == callerCpu_.load(std::memory_order_relaxed) &&
          turn.end()) {
        ++yields;
        continue;
      }
      yields = 0;
      if (!state_.compare_exchange_weak(state, state + 1,
                                        std::memory_order_acq_rel,
                                        std::memory_order_relaxed))
        continue;
      const bool isDone = work(worker, &turn);
      if (isDone)
        lastEpoch = epochOf(state);
      uint64_t before = state_.fetch_sub(1, std::memory_order_seq_cst);
      if (insideOf(before) == 1 && !(before & openBit) &&
          callerParked_.load(std::memory_order_seq_cst)) {
        callerSignal_.fetch_add(1, std::memory_order_seq_cst);
        futexWake(callerSignal_, 1);
      }
      if (!isDone)
        turn.end();
      spins = 0;
      continue;
    }
    if (++spins < spinsBeforeParking) {
      spinOnce();
      continue;
    }
    uint32_t signal = workerSignal_.load(std::memory_order_seq_cst);
    parkedWorkers_.fetch_add(1, std::memory_order_seq_cst);
    state = state_.load(std::memory_order_seq_cst);
    bool nothing = !(state & openBit) || epochOf(state) == lastEpoch ||
                   worker >= limitOf(state);
    if (nothing && !stopping_.load(std::memory_order_seq_cst))
      futexWait(workerSignal_, signal);
    turn.begin();
    parkedWorkers_.fetch_sub(1, std::memory_order_seq_cst);
    spins = 0;
  }
}
