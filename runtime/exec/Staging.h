//===- Staging.h - inputs to a device's memory, outputs back ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Two slots of pinned host memory and of device memory: one copy uploads the
// control block and the inputs of a run while the previous run computes, and
// one copy downloads its outputs. Addresses never change, so recorded graphs
// serve all runs. Each of several devices gets the control block, and the
// inputs if it reads any; the CPU uses the host's side. A series of runs on
// data that is on the device (DeviceData.h) takes the place of one run.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_STAGING_H
#define SINTER_RUNTIME_EXEC_STAGING_H

#include "runtime/exec/DeviceData.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sinter::rt {

/// Number of a started run, counted from 1.
using RunNumber = uint64_t;

class Staging;

/// Pinned host memory for the control block and the inputs of one run, as an
/// upload copies them. A run that is given these inputs copies nothing on the
/// host. The staging must outlive it.
class InputBlock {
public:
  InputBlock() = default;
  InputBlock(Staging &staging, uint8_t *block, const sinter_entry &entry);
  InputBlock(InputBlock &&other) noexcept { *this = std::move(other); }
  InputBlock &operator=(InputBlock &&other) noexcept;
  ~InputBlock();

  /// The address of each input; aligned as allocations of the device are.
  const std::vector<void *> &inputs() const { return inputs_; }

private:
  Staging *staging_ = nullptr;
  uint8_t *block_ = nullptr;
  std::vector<void *> inputs_;
};

class Staging {
public:
  /// Fills in the slots of `places`, which must not move and must outlive the
  /// staging. At least one of them has memory of its own.
  static Result<std::unique_ptr<Staging>>
  create(const sinter_artifact &artifact, std::span<Place> places);
  /// Bytes of a device's memory that this takes.
  static uint64_t deviceBytes(const sinter_artifact &artifact);
  ~Staging();
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;

  /// Memory for the inputs of a run of `entry`; nothing if a device of the
  /// program works in host memory.
  Result<std::optional<InputBlock>> allocateInputs(const sinter_entry &entry);
  /// Frees that memory, after what may still read it.
  void freeInputs(uint8_t *block);

  /// Starts a run. The inputs may change when this returns, unless they are in
  /// memory from allocateInputs(): then they may change after finish(), or
  /// after the begin() after the next. Those write the outputs, too.
  Result<RunNumber> begin(Executor &executor, const sinter_control &control,
                          const void *const *inputs, void *const *outputs,
                          ProfileSink *profile);
  /// Starts a series of runs on data on the device: one with each control
  /// block, on the next data.batch() of `rows`. RowGather says what a row
  /// number may be. `outputs` has writtenOutputs() addresses for each run. If
  /// there are several runs, the caller checks the indices of each
  /// (Executor::checkIndices).
  Result<RunNumber> beginSeries(DeviceData &data,
                                std::span<const sinter_control> controls,
                                const int64_t *rows, void *const *outputs,
                                ProfileSink *profile);
  /// Waits for run or series `run` and those before it, and writes their
  /// outputs. Returns an error only once, to the first caller that waits.
  Status finish(RunNumber run);
  /// Waits for all started runs.
  Status finishAll() { return finish(begun_); }
  /// Bytes of inputs that the host has copied for uploads, in all runs.
  uint64_t copiedInputBytes() const { return copiedInputBytes_; }

private:
  static constexpr uint32_t numSlots = 2;

  struct Pending {
    uint8_t *hostInputs = nullptr; // control block first
    Executor *executor = nullptr;
    std::vector<void *> outputs; // the caller's
    uint32_t firstSlot = 0;      // of the places
    uint32_t runs = 1;
    bool isBusy = false;
  };

  /// A place with memory of its own.
  struct Lane {
    Place *place;
    std::unique_ptr<Stream> uploads;
    std::unique_ptr<Event> uploaded[numSlots], done[numSlots];
    bool readsInputs = false; // besides the control block
  };

  explicit Staging(std::span<Place> places) : places_(places) {}
  struct Sizes {
    uint64_t inputBytes, outputBytes; // of a slot
    size_t mostOutputs;               // of an entry
  };
  static Sizes sizesOf(const sinter_artifact &artifact);
  Status allocate(const sinter_artifact &artifact);
  Status allocateHost(const sinter_artifact &artifact);
  Status allocateLane(const sinter_artifact &artifact, Lane &lane);
  Status upload(Lane &lane, uint32_t slot, const DeviceData::Transfer &what);
  Status waitForSlot();
  Result<RunNumber> start(Status uploaded, ProfileSink *profile);
  uint8_t *blockOf(const sinter_entry &entry, const void *const *inputs) const;
  void synchronizeAll();
  Status deliver(uint32_t slot);

  std::span<Place> places_;
  std::vector<Lane> lanes_;
  std::vector<std::pair<Device *, void *>> blocks_, hostBlocks_;
  Pending pending_[numSlots];
  std::vector<uint8_t *> inputBlocks_; // of allocateInputs()
  uint64_t copiedInputBytes_ = 0;
  RunNumber begun_ = 0, finished_ = 0;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_STAGING_H
