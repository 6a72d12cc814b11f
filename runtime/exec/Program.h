//===- Program.h - a loaded artifact ----------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Owns what an artifact needs to run: its devices with arena, states, constants
// and kernels on each, and one Executor per entry. The C interface of sinter.h
// is a thin layer over this class. Only one thread at a time may use a program.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_PROGRAM_H
#define SINTER_RUNTIME_EXEC_PROGRAM_H

#include "runtime/exec/Executor.h"
#include "runtime/exec/Staging.h"

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sinter::rt {

class ExpandedScans;

class Program {
public:
  /// Checks `artifact` (which must outlive the program) and loads it on
  /// `device`; states have their initial values. Of a chain of artifacts it
  /// takes the one for the device's kind; SINTER_INVALID if there is none.
  static Result<std::unique_ptr<Program>>
  create(const sinter_artifact &artifact, std::unique_ptr<Device> device);
  /// The same for a program that names its devices: one device for each name,
  /// in the same order and of the same kind.
  static Result<std::unique_ptr<Program>>
  create(const sinter_artifact &artifact,
         std::vector<std::unique_ptr<Device>> devices);
  /// The same on a linked device with this name; "" is the first device of the
  /// first artifact's kind. A program that names its devices takes "" or other
  /// names of the same kinds, separated by commas.
  static Result<std::unique_ptr<Program>>
  create(const sinter_artifact &artifact, const std::string &device,
         const DeviceOptions &options);
  /// The artifact of a checked chain that create() would take; the device need
  /// not exist.
  static Result<const sinter_artifact *> choose(const sinter_artifact &artifact,
                                                const std::string &device);
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  /// With scans expanded: its commands are those that run.
  const sinter_artifact &artifact() const { return *artifact_; }
  /// As it was given.
  const sinter_artifact &source() const { return *source_; }
  /// The program's first device.
  Device &device() { return *places_.front().device; }
  const std::vector<Place> &places() const { return places_; }
  /// True if begin() returns while a device works.
  bool isAsynchronous() const { return staging_ != nullptr; }
  /// Bytes of inputs that the host has copied for uploads, in all runs.
  uint64_t copiedInputBytes() const {
    return staging_ ? staging_->copiedInputBytes() : 0;
  }

  /// As sinter_program_run.
  Status run(const char *entry, const sinter_control *control,
             const void *const *inputs, void *const *outputs);

  /// Memory in which the inputs of `entry` can be uploaded without a copy on
  /// the host; nothing if the program does not upload them. Destroy it before
  /// the program.
  Result<std::optional<InputBlock>> allocateInputs(const char *entry);
  /// The same memory in each call, which belongs to the program; ordinary
  /// memory if the program uploads nothing. One address for each input. Wait
  /// for a run with it before the next begin() with it.
  Result<std::span<void *const>> inputMemory(const char *entry);

  /// Starts a run; an asynchronous device is still working when this returns.
  /// The inputs may change then, unless they are in memory from
  /// allocateInputs(): that may change when the run has finished. wait() writes
  /// the outputs, which must stay in place. At most two runs are in flight: a
  /// third one waits for the first.
  Result<RunNumber> begin(const char *entry, const sinter_control *control,
                          const void *const *inputs, void *const *outputs);
  /// Waits for run or series `run` and those before it.
  Status wait(RunNumber run);

  /// Allocates memory for the data of entry `entry` on the program's device;
  /// replaces data that was there. No run may be in flight. SINTER_UNSUPPORTED,
  /// with one line, if the program has several devices, its device has no
  /// memory of its own or cannot gather rows; SINTER_OUT_OF_MEMORY if it does
  /// not fit. The result belongs to the program.
  Result<DeviceData *> allocateData(const char *entry,
                                    const DeviceData::Options &options);
  /// Frees that memory. No run may be in flight.
  void freeData();
  /// As begin(), for a series of runs on that data (Staging::beginSeries). At
  /// most two runs or series are in flight.
  Result<RunNumber> beginSeries(std::span<const sinter_control> controls,
                                const int64_t *rows, void *const *outputs);

  /// For use before the first run: runs all entries on zeros, so that the first
  /// real run takes no longer than others, and then resets the states to their
  /// initial values. Does nothing on simulated devices and in replicas.
  Status warmUp();

  /// Makes this program a replica of the group, before the first run. Returns
  /// once all replicas have called this, each on a thread of its own.
  /// SINTER_INVALID if the program was compiled for another number of replicas.
  Status join(const sinter_rank &rank);
  /// Waits for all runs, destroys the recorded graphs, which refer to the
  /// group, and leaves it. All replicas do so, each on its own thread.
  void leave();
  /// After a failure, from any thread: no replica waits for others any more.
  void abortGroup();

  /// The bytes of state `index` in host memory; null if there is no such state,
  /// it is empty, a device of the program has memory of its own, or the program
  /// has states of role ROUNDED, which it must compute again after a change.
  uint8_t *state(uint32_t index);
  /// Copy all bytes of state `index`, after waiting for every started run.
  /// SINTER_INVALID if there is no such state. writeState() also rejects a
  /// state of role ROUNDED, which the program computes from its parameter.
  Status readState(uint32_t index, void *to);
  Status writeState(uint32_t index, const void *from);

  /// The prepared entry called `name`, or null.
  Executor *find(const char *name);

  /// Gives `sink` the time of every command from now on; null ends that. The
  /// caller keeps ownership.
  void setProfileSink(ProfileSink *sink) { profile_ = sink; }
  /// Reports every command to `watch` from now on; null ends that. The caller
  /// keeps ownership. States of role ROUNDED are computed again, so that the
  /// watch sees what is rounded.
  void setWatch(CommandWatch *watch) {
    isStale_ |= watch != nullptr;
    for (Executor &executor : executors_)
      executor.setWatch(watch);
  }

private:
  Program();
  static Result<std::unique_ptr<Program>>
  load(const sinter_artifact &artifact,
       std::vector<std::unique_ptr<Device>> devices);
  Status load();
  Status loadPlace(uint32_t index);
  Status separateSlices(uint32_t index);
  Status loadQueues(uint32_t index);
  Place &placeOf(const sinter_state_desc &state) {
    return places_[state.place];
  }
  Status initializeStates();
  Status initializeParts(uint32_t replica);
  Status upload(const sinter_state_desc &state, const void *from);
  Status bindScratch(uint32_t index);
  Status bindScratch(uint32_t index, const Stream &stream);
  Result<bool> chooseCalls(uint32_t index);
  Result<uint8_t *> allocate(Place &place, uint64_t sizeBytes,
                             const char *purpose);
  Result<Executor *> check(const char *entry, const void *const *inputs,
                           void *const *outputs);
  Result<RunNumber> begin(Executor &executor, const sinter_control &control,
                          const void *const *inputs, void *const *outputs,
                          ProfileSink *profile);
  Status refresh();
  Status finishRuns();
  Status runOnZeros(Executor &executor);

  struct Allocation {
    Device *device;
    void *address;
  };
  /// Of inputMemory(), of one entry.
  struct InputMemory {
    const Executor *executor;
    std::optional<InputBlock> block;
    std::vector<void *> inputs;
  };

  const sinter_artifact *source_ = nullptr; // as given
  std::unique_ptr<ExpandedScans> expanded_; // of it; null: it has no scans
  const sinter_artifact *artifact_ = nullptr;
  std::vector<Place> places_; // by sinter_command.place
  std::vector<Allocation> allocations_;
  std::unique_ptr<Staging> staging_; // null if host memory is shared
  std::vector<Executor> executors_;
  std::unique_ptr<DeviceData> data_;
  std::vector<InputMemory> inputMemory_;
  std::vector<Allocation> hostAllocations_; // of inputMemory_
  // What computes the states of role ROUNDED; null if there are none.
  Executor *refresh_ = nullptr;
  bool isStale_ = false; // a parameter was written since refresh_ ran
  bool refreshesAlways_ = false;
  ProfileSink *profile_ = nullptr;
};

} // namespace sinter::rt

/// The handle of sinter.h.
struct sinter_program {
  std::unique_ptr<sinter::rt::Program> program;
  std::atomic<bool> isBusy{false}; // a thread is in a call
};

#endif // SINTER_RUNTIME_EXEC_PROGRAM_H
