//===- Library.h - contractions that a library computes ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A MATMUL or CONV command is prepared once, when a program is loaded: the
// library chooses algorithms and slices from the shape, packs constant operands
// and says how much scratch it wants. The executor provides the scratch once
// (bind) and then runs the call with addresses only. What must stay true:
// slices and the order of every sum depend on the shape alone, never on the
// thread count.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_LIBRARY_H
#define SINTER_RUNTIME_DEVICE_LIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/device/Stream.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace sinter::rt {

/// What a prepared call may use while it runs. Scratch is shared by all calls
/// of a program, which run one after the other, so its content does not
/// survive.
struct Scratch {
  uint8_t *shared = nullptr;    // the device's, aligned as its allocations;
                                // sharedBytes() at least
  uint8_t *perWorker = nullptr; // worker w owns [w * stride, (w + 1) * stride)
  uint64_t perWorkerStride = 0; // a multiple of 64
};

/// Where a call runs: on the workers of a CPU, or on a stream of a device with
/// memory of its own.
struct CallContext {
  ThreadPool *pool = nullptr; // CPU
  int threads = 1;            // at most those of bind()
  Stream *stream = nullptr;   // null on the CPU

  /// On the CPU: ThreadPool::parallelFor with the context's threads.
  template <typename Body>
  void parallelFor(int64_t count, int64_t grain, Body &&body) const {
    pool->parallelFor(threads, count, grain, std::forward<Body>(body));
  }
};

/// One contraction, ready to run.
class LibraryCall {
public:
  virtual ~LibraryCall();

  /// Bytes of scratch, known after preparation.
  virtual uint64_t sharedBytes() const = 0;
  virtual uint64_t perWorkerBytes() const = 0;

  /// Called once, before the first run, with scratch that stays where it is.
  virtual Status bind(const Scratch &scratch, int threads) = 0;

  /// Computes, or queues it on the context's stream. `buffers[i]` is the
  /// address of slice i of the command; it and the array must stay in place
  /// until the stream is synchronised. Allocates nothing and waits for nothing:
  /// the stream may be recording a graph.
  virtual Status run(void *const *buffers, const CallContext &context) = 0;

  /// How many ways to compute it should be compared before the first run; fewer
  /// than 2: the choice is made. The executor times each way on the call's own
  /// buffers, which hold random numbers.
  virtual int alternatives();
  /// Makes run() compute in way `index` from now on.
  virtual void select(int index);
  /// Selects one way for as long as the program lives. `leastUs[i]` is the time
  /// of way i, infinity if it failed; at least one did not fail.
  virtual void choose(std::span<const double> leastUs);

  /// Called at load if several commands of a run share the call, as the trips
  /// of a scan do: what it reads may still be in a cache when it runs again.
  /// Does nothing by default.
  virtual void expectRepeats();

  /// What was chosen, for plans and tests: "matmul 512x256 slices, brg:avx512".
  virtual std::string description() const = 0;
};

/// Convolutions of which each alone reads the result of the one before it.
/// run() computes all of them, part by part: its `buffers` are the slices of
/// the first, then those of the second, and so on. Results of all but the last
/// stay in scratch; their own memory keeps what it has.
class LibraryChain : public LibraryCall {
public:
  /// Convolution `index` by itself, from memory to memory, with the same bits.
  /// It belongs to the chain, and what binds the chain binds it, too.
  virtual LibraryCall &member(size_t index) = 0;
};

/// What a call is prepared with.
struct CallMeans {
  /// The artifact's constant section in host memory: operands in
  /// SINTER_SPACE_CONSTANT may be packed now. Null: there are none.
  const uint8_t *constants = nullptr;
  int threads = 1;
  /// Bytes of scratch that the call may take, fixed when the program was
  /// compiled. On the CPU, each thread takes some, so fewer may run the call.
  uint64_t workspaceBytes = 0;
  /// Whether the call must add in the same order in each run.
  bool isOrdered = true;
  /// Whether NaN must stay NaN in what the library does to a result, as the
  /// ops say. Only tests of a library's own ReLU allow it not to.
  bool keepsNan = true;
  /// The bytes of all constants of the program, about what a run reads before
  /// the call runs again.
  uint64_t constantBytes = UINT64_MAX;
};

class Library {
public:
  virtual ~Library();

  /// "oneDNN 2.6.3": what `trainer doctor` prints.
  virtual std::string version() const = 0;

  /// Prepares a MATMUL, CONV or ATTENTION whose slices, sizes and strides were
  /// validated.
  /// Fails with SINTER_UNSUPPORTED, naming dtype or shape, when the library
  /// cannot do it.
  virtual Result<std::unique_ptr<LibraryCall>>
  prepare(const sinter_command &command, const CallMeans &means) = 0;

  /// Prepares a chain of CONV commands (SINTER_SPACE_CHAIN). Null if
  /// computing them together is not faster; so it is by default. Then each is
  /// prepared by itself.
  virtual Result<std::unique_ptr<LibraryChain>>
  prepareChain(std::span<const sinter_command> commands,
               const CallMeans &means);

  /// Called when all calls of a program are prepared: the time to tell users
  /// about them. Does nothing by default.
  virtual void endLoading();
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_LIBRARY_H
