//===- ThreadPool.h - the workers of a process ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Persistent workers that spin briefly and then park. A call publishes a range
// of independent tiles. Each thread has a share of it, one stretch, from which
// it claims piece after piece: what follows in memory is read by the same
// thread. Then it claims pieces of the others, so a descheduled worker delays
// only the piece it holds (affinity scheduling: Markatos and LeBlanc, Using
// Processor Affinity in Loop Scheduling on Shared-Memory Multiprocessors). The
// caller never waits for a worker that has not started.
//
// Beside a busy process, two rules keep the workers useful. A worker offers its
// CPU to others before its time slice ends and while it has no piece: it is
// then seldom descheduled with one, for which the caller would have to wait a
// whole slice. And where the caller waits for the same CPU, it does no work:
// the system may wake it there when all CPUs are busy, and it would take the
// caller's time. Which CPUs a thread may use is the host's choice and is never
// changed: filters of system calls may forbid that, and a limit would outlast
// its reason.
//
// What must stay true: the hot path (parallelFor) allocates nothing, takes no
// lock and throws nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_THREADPOOL_H
#define SINTER_RUNTIME_BASE_THREADPOOL_H

#include "runtime/base/Status.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>

namespace sinter::rt {

/// Number of CPUs that the calling process may run on: those in its affinity
/// mask, limited by the CPU time of its control group, rounded up; at least 1.
int availableCpus();
/// A note for the user if `threads` is more than that; else empty.
std::string threadsNote(int threads);

class ThreadPool {
public:
  /// More threads than this are never used.
  static constexpr int maxThreads = 1024;

  /// The pool of this process. It starts without workers and is never
  /// destroyed.
  static ThreadPool &shared();

  ThreadPool() = default;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  /// Only for tests' own pools: the caller guarantees that no call is running.
  ~ThreadPool();

  /// Starts workers until `threads` threads, including the caller, can work on
  /// one call. For load time; fails if the system refuses a thread.
  Status reserve(int threads);

  /// Calls body(worker, begin, end) on disjoint ranges that cover [0,
  /// numTiles), from at most `threads` threads, and returns when all are done.
  /// `worker` is in [0, threads); two ranges that run at the same time have
  /// different ones, and 0 is the caller. Ranges have at least `grain` tiles
  /// (the last may have fewer). When another thread is using the pool, the
  /// caller does all the work itself. So does a worker that calls this from
  /// inside a body; it keeps its number there, whatever `threads` is.
  template <typename Body>
  void parallelFor(int threads, int64_t numTiles, int64_t grain, Body &&body) {
    using Function = std::remove_reference_t<Body>;
    if (numTiles <= 0)
      return;
    if (threads <= 1 || numTiles <= grain) {
      body(callingWorker(), int64_t(0), numTiles);
      return;
    }
    run(
        threads, numTiles, grain,
        [](void *context, int worker, int64_t begin, int64_t end) {
          (*static_cast<Function *>(context))(worker, begin, end);
        },
        const_cast<std::remove_const_t<Function> *>(&body));
  }

private:
  using Invoke = void (*)(void *context, int worker, int64_t begin,
                          int64_t end);

  /// The worker whose body the calling thread is in; 0 outside of bodies.
  static int callingWorker();
  void run(int threads, int64_t numTiles, int64_t grain, Invoke invoke,
           void *context);
  class Turn;
  /// Runs the pieces that `worker` can claim; a worker stops when `turn`, null
  /// for the caller, is over. True if no piece is left.
  bool work(int worker, Turn *turn);
  void workerMain(int worker);
  void waitUntilLeft();
  static void *threadEntry(void *start);

  /// {epoch : 31, open : 1, limit : 16, inside : 16}. Workers with an index
  /// below `limit` may enter while `open`; `inside` counts those that have
  /// entered and not left. A single word, so that a late worker can never enter
  /// a call that it did not see.
  alignas(64) std::atomic<uint64_t> state_{0};

  /// The call in progress; written only while nobody is inside.
  alignas(64) Invoke invoke_ = nullptr;
  void *context_ = nullptr;
  int64_t numTiles_ = 0;
  int64_t pieceTiles_ = 1;
  int64_t numPieces_ = 0;
  int numThreads_ = 1;             // that have shares
  std::atomic<int> callerCpu_{-1}; // where the caller was at the beginning
  /// The pieces of a thread's share that have been claimed, and more once all
  /// have been.
  struct alignas(64) Share {
    std::atomic<int64_t> claimed{0};
  };
  std::array<Share, maxThreads> shares_;

  /// Parking: a futex word for the workers and one for the caller.
  alignas(64) std::atomic<uint32_t> workerSignal_{0};
  std::atomic<uint32_t> parkedWorkers_{0};
  std::atomic<uint32_t> callerSignal_{0};
  std::atomic<uint32_t> callerParked_{0};

  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int> numWorkers_{0}; // not counting the caller
  std::atomic<int> numAlive_{0};
  std::mutex growing_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_THREADPOOL_H
