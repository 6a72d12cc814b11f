//===- Replicas.h - the replicas of a training program ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Those of this process; a job may have others. Each has a device, a copy of
// all states, a loader for its rows of every batch and, if there are several, a
// thread of its own. What must stay true: their states hold the same bytes
// after every step, which checkEqual() checks.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_REPLICAS_H
#define SINTER_RUNTIME_HARNESS_REPLICAS_H

#include "runtime/base/AlignedBlock.h"
#include "runtime/harness/Job.h"
#include "runtime/harness/Session.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sinter::rt {

/// How many micro-batches a step of `artifact` has.
int64_t microBatchesOf(const sinter_artifact &artifact);
/// The entry that takes the data of a step, or null.
const sinter_entry *trainingEntry(const sinter_artifact &artifact);

/// The devices of `count` replicas: `device` is a list with commas, or "" for
/// those of the artifact's kind from number `first` on. SINTER_INVALID if their
/// number is wrong, their kinds differ, or a numbered one is named twice.
Result<std::vector<std::string>> replicaDevices(const sinter_artifact &artifact,
                                                const std::string &device,
                                                size_t count, size_t first = 0);

/// The number of the first device of a process with `count` replicas that is
/// process `localRank` of its host and sees `visible` devices. Launchers may
/// show each process its own devices alone; their numbers begin with 0.
size_t firstDevice(size_t visible, size_t count, size_t localRank);

/// One line if two processes use the same device, else "". Process i gives
/// devices[i]: a line "cuda:0 GPU-..." (name, Device::uniqueName()) for each of
/// its devices that has such a name.
std::string sharedDevice(const std::vector<std::string> &devices);

class Replicas {
public:
  /// Loads the program on each device, and makes one group of them and of those
  /// of the job's other processes. The arguments outlive the result.
  static Result<std::unique_ptr<Replicas>>
  create(const sinter_artifact &artifact, const TrainerOptions &options,
         Job &job);
  ~Replicas();
  Replicas(const Replicas &) = delete;
  Replicas &operator=(const Replicas &) = delete;

  /// How many the job has.
  size_t size() const { return job_->replicas(); }
  /// The session whose states are saved and which evaluates.
  Session &first() { return *replicas_.front()->session; }
  /// "2 threads", "4 replicas of 1 thread", "cuda:0 and cuda:1".
  std::string workers() const;

  /// Copies the states of the first to all others of this process.
  Status spreadStates();
  /// Reads what this process holds of state `index`: the whole, or the parts of
  /// its replicas, which are the bytes of the whole from firstByte() on.
  Status readState(uint32_t index, std::vector<uint8_t> &bytes);
  uint64_t firstByte(uint32_t index);
  /// Writes what readState() has read, to all replicas of this process.
  Status writeState(uint32_t index, std::span<const uint8_t> bytes);
  /// SINTER_MISMATCH, naming the state, if two replicas of this process differ
  /// in one.
  Status checkEqual();
  /// The same for the first replicas of all processes, which all call this.
  Status checkProcesses();

  /// Prepares the batches of the steps in `options`, whose order has one part.
  /// `reader` outlives this.
  Status load(const BatchReader &reader, const Loader::Options &options);
  /// The first device of the replica that has the least memory left.
  const Device &fullestDevice() const;
  /// Instead of load(): copies the data to the device of each replica
  /// (EntryRunner::placeData). Series will have at most `mostSteps` steps: 1 if
  /// a step has micro-batches. After an error it is on no device.
  Status placeData(const BatchReader &reader, const Loader::Options &options,
                   uint32_t mostSteps,
                   const std::function<bool()> &interrupted);
  /// The most steps that begin() takes: 1 unless data is on the device.
  int64_t mostSteps() const { return mostSteps_; }
  /// Lowers that, before the first series of several steps.
  void shortenSeries(int64_t mostSteps) { mostSteps_ = mostSteps; }
  /// Waits for the batch (the first micro-batch) of the next step, on all
  /// replicas. After an error the step has not begun, and those before it go
  /// on.
  Status read();
  /// Begins the steps after those that were begun, with their batches or
  /// micro-batches, on all replicas. read() has succeeded.
  Status begin(std::span<const sinter_control> controls);
  /// Waits for the oldest step in flight.
  Status finish();
  uint64_t underWay() const { return begun_ - finished_; }
  /// The data of a step, by replica and micro-batch.
  struct StepData {
    std::vector<std::vector<AlignedBlock>> inputs; // [part][input]
    std::vector<int64_t> validRows;                // [part]
  };
  /// Of `count` replicas of the job, from `first` on.
  Result<StepData> dataOf(const BatchReader &reader, const RowOrder &order,
                          int64_t step, uint32_t first, uint32_t count) const;
  /// Runs one step on `data`, of this process, and waits for it; no other may
  /// be in flight.
  Status run(const sinter_control &control, const StepData &data);

  /// Why the oldest step that is not finished failed, if an index was out of
  /// range: "node 'x': index ..., row 7 of the data"; else nothing. `order` and
  /// `step` are those of the step.
  std::optional<std::string> indexFault(RowOrder order, int64_t step) const;

  /// Makes a finder of values that are not finite for each replica.
  Status makeFinders(const std::optional<Injection> &injection);
  /// Starts or stops reporting all commands to the finders.
  void setWatching(bool isWatching);
  /// Call beginStep() or learn() of every finder.
  void beginWatched(int64_t step);
  void learn();
  /// The first one of the replicas of this process.
  std::optional<Finding> finding() const;

  /// An output of the step that was finished last; the same on all replicas.
  std::optional<float> scalar(const char *output) const {
    return replicas_.front()->step->scalar(output);
  }

private:
  struct Replica {
    uint32_t rank = 0; // among those of the job
    std::unique_ptr<Session> session;
    std::optional<EntryRunner> step;      // "apply" with micro-batches
    std::optional<EntryRunner> grad;      // only with micro-batches
    std::unique_ptr<Loader> loader;       // null if data is on the device
    Batch batch;                          // of the loader, the next to begin
    std::vector<sinter_control> controls; // of the steps that begin
    std::vector<int64_t> rows;            // of these steps
    std::optional<NonFiniteFinder> finder;
    Status status; // of the last task
    Status fault;  // of the last step to finish: an index out of range
    std::thread thread;

    /// What reads batches.
    EntryRunner &reading() { return grad ? *grad : *step; }
  };
  using Task = std::function<Status(Replica &)>;

  Replicas() = default;
  /// SINTER_INVALID, in all processes, if two of them use the same device.
  Status checkDevices();
  /// Runs `job` for every replica, each on its own thread. Returns the first
  /// error that is not about another replica.
  Status onAll(const Task &task);
  Status runTask(const Task &task, Replica &replica);
  void threadMain(Replica &replica);
  Status beginOnDevice(Replica &replica,
                       std::span<const sinter_control> controls) const;

  Job *job_ = nullptr;
  std::vector<std::unique_ptr<Replica>> replicas_; // of this process
  int64_t microBatches_ = 1;
  std::optional<RowOrder> orderOnDevice_; // of part 0, if the data is there
  int64_t mostSteps_ = 1;
  bool isJoined_ = false;
  uint64_t begun_ = 0, finished_ = 0;

  std::mutex mutex_; // guards what follows
  std::condition_variable changed_;
  const Task *task_ = nullptr;
  uint64_t tasks_ = 0; // begun
  size_t running_ = 0;
  bool stop_ = false;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_REPLICAS_H
