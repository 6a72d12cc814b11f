//===- Session.h - runs a program on data -----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the trainer's commands share: the program handle with its state table,
// an entry with buffers for its outputs, an evaluation pass, and the errors of
// sinter.h as Status.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_SESSION_H
#define SINTER_RUNTIME_HARNESS_SESSION_H

#include "runtime/data/Loader.h"
#include "runtime/exec/IndexChecks.h"
#include "runtime/exec/Staging.h"
#include "runtime/harness/TrainerOptions.h"
#include "runtime/train/Checkpoint.h"
#include "sinter/sinter.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter::rt {

/// Owns a sinter_program and knows its states by name.
class Session {
public:
  /// Loads `artifact`, which must outlive the session, on the device that
  /// `options` name.
  static Result<std::unique_ptr<Session>>
  create(const sinter_artifact &artifact, const TrainerOptions &options);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const sinter_artifact &artifact() const { return *artifact_; }
  sinter_program *program() const { return program_; }
  const StateTable &states() const { return states_; }
  /// See StateTable::holdParts().
  void holdParts(std::vector<sinter_program *> replicas, uint32_t first) {
    states_.holdParts(std::move(replicas), first);
  }
  /// True if the device is still working when begin() returns.
  bool isAsynchronous() const;
  /// What computes: "2 threads", "cuda:0".
  std::string workers() const;

private:
  Session() = default;
  const sinter_artifact *artifact_ = nullptr;
  sinter_program *program_ = nullptr;
  StateTable states_;
};

/// Runs an entry of the program repeatedly.
class EntryRunner {
public:
  /// SINTER_INVALID if the program has no such entry; fails if the entry of a
  /// training program lacks an output that the trainer reads.
  static Result<EntryRunner> create(const Session &session, const char *entry);

  Status run(const sinter_control &control, const void *const *inputs);

  /// Lets `loading` read batches to where the device uploads them from, in
  /// pinned memory. Changes nothing if the device does not upload them, if they
  /// take more than 1 GiB or if pinned memory cannot be allocated: the host
  /// then copies them. Destroy the loader before the next call and before the
  /// runner.
  Status allocateBatches(Loader::Options &loading);

  /// Starts a run; at most one other may be in flight. The inputs may change
  /// when this returns, unless they are a batch of allocateBatches().
  Status begin(const sinter_control &control, const void *const *inputs);
  /// Copies all rows of `reader` to the device. The order of `loading` says how
  /// batches are padded; its workers and prefetch are used. Series will have at
  /// most `mostRuns` runs. No run may be in flight, and allocateBatches() must
  /// not be in use. SINTER_INTERRUPTED once `interrupted` returns true. After
  /// an error nothing is left on the device.
  Status placeData(const BatchReader &reader, const Loader::Options &loading,
                   uint32_t mostRuns, const std::function<bool()> &interrupted);
  /// Starts a series of runs on that data, one with each control block; at most
  /// one other series or run may be in flight. `rows` has the row numbers of
  /// one batch after the other (RowGather.h).
  Status beginSeries(std::span<const sinter_control> controls,
                     const int64_t *rows);

  /// Waits for the oldest run in flight that finish() was not called for.
  Status finish();

  /// The value of a scalar fp32 output of the run that was finished last;
  /// nothing if there is none of that name.
  std::optional<float> scalar(const char *output) const;
  /// Why the last failed run failed, if an index was out of range.
  const std::optional<IndexFault> &indexFault() const;
  std::span<const sinter_tensor_desc> inputs() const {
    return {entry_->inputs, entry_->numInputs};
  }

private:
  struct FreeBuffer {
    void operator()(void *buffer) const { std::free(buffer); }
  };
  /// The outputs of a run or of a series.
  struct Outputs {
    std::vector<std::unique_ptr<void, FreeBuffer>> buffers;
    /// For each run: what the commands write (writtenOutputs).
    std::vector<void *> addresses;
    uint64_t number = 0; // the program's
    uint32_t runs = 1, finished = 0;
    Status failure; // of all its runs
  };
  Outputs &outputsOf(uint64_t series) { return outputs_[series % 2]; }
  Status allocate(Outputs &outputs, uint32_t runs) const;
  void begun(uint64_t number, size_t runs);
  Status uploadRows(DeviceData &data, const BatchReader &reader,
                    const Loader::Options &loading,
                    const std::function<bool()> &interrupted);

  const Session *session_ = nullptr;
  const sinter_entry *entry_ = nullptr;
  Outputs outputs_[2];
  std::vector<InputBlock> batches_;    // of allocateBatches()
  uint64_t begun_ = 0, finished_ = 0;  // runs and series
  void *const *lastOutputs_ = nullptr; // of the run that was finished last
};

/// The entry called `name`, or null.
const sinter_entry *findEntry(const sinter_artifact &artifact,
                              const char *name);

/// Opens `spec` and binds it to the inputs of `entry`; starts to read ahead.
/// Columns of a table are matched with those of `header`, if it has any.
Result<BatchReader> openData(const sinter_artifact &artifact,
                             const sinter_entry &entry, const std::string &spec,
                             DataUse use, const TrainerOptions &options,
                             const TableHeader &header);

struct Evaluation {
  double loss = 0; // mean over the examples that count
  int64_t rows = 0;
  double counted = 0; // examples
  /// Every label was the ignored one, so there is no loss.
  bool isEmpty() const { return rows > 0 && counted == 0; }
  bool hasAccuracy = false;
  double correct = 0, correctCount = 0;
  double accuracy() const {
    return correctCount > 0 ? correct / correctCount : 0;
  }
};

/// One pass of "eval" over all rows of `reader`. `control` gives seed and step.
/// Calls `interrupted` before each batch; if it returns true, the result is
/// SINTER_INTERRUPTED.
Result<Evaluation> evaluate(EntryRunner &runner, const BatchReader &reader,
                            sinter_control control,
                            const TrainerOptions &options,
                            const std::function<bool()> &interrupted);

/// Loads the weights of the checkpoint that --checkpoint names, whatever
/// optimizer made it, for other uses than training; reports on standard error
/// what was damaged or is missing. `missingSlots`: see CheckpointReading.
Result<Manifest> loadWeights(const Session &session,
                             const TrainerOptions &options,
                             std::vector<std::string> &missingSlots);

/// "accuracy 91.83 %, loss 0.231" (the former only if it has a meaning).
std::string evaluationText(const Evaluation &evaluation);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_SESSION_H
