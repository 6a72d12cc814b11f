//===- DeviceData.h - a dataset in a device's memory ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Holds the rows of every input of an entry. A run gathers its batch from them
// by row numbers, which travel with its control block. Runs whose results the
// host need not see in between form a series: one upload, one recorded graph,
// one download. Each run of a series has a slot of its own (Place.h); the slots
// share the memory into which batches are gathered.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_DEVICEDATA_H
#define SINTER_RUNTIME_EXEC_DEVICEDATA_H

#include "runtime/exec/Executor.h"

#include <memory>
#include <span>
#include <vector>

namespace sinter::rt {

class DeviceData {
public:
  struct Options {
    int64_t rows = 0;
    /// The longest series, at least 1.
    uint32_t mostRuns = 1;
    /// The input that has a row of its own, after the others, which stands for
    /// rows that pad a batch.
    std::optional<uint32_t> paddedInput;
    /// Of device memory, for all that is allocated here.
    uint64_t mostBytes = UINT64_MAX;
  };

  /// Bytes of device memory for the rows alone, saturated.
  static uint64_t bytesOf(const sinter_entry &entry, int64_t rows);

  /// Allocates the memory for inputs of `executor`'s entry and adds the slots
  /// of series to `place`, the only one of its program, which has memory of its
  /// own and staging. Both outlive the result.
  static Result<std::unique_ptr<DeviceData>>
  create(const sinter_artifact &artifact, Place &place, Executor &executor,
         const Options &options);
  ~DeviceData();
  DeviceData(const DeviceData &) = delete;
  DeviceData &operator=(const DeviceData &) = delete;

  /// Queues copies of rows [first, first + count) on the place's stream.
  /// `inputs` has an array for each input. They stay in place until the stream
  /// is synchronised.
  Status upload(int64_t first, int64_t count, const void *const *inputs);
  /// The same for the row that pads.
  Status uploadPadding(const void *const *inputs);

  Executor &executor() { return executor_; }
  uint32_t mostRuns() const { return options_.mostRuns; }
  int64_t batch() const { return batch_; }

  //===--------------------------------------------------------------------===//
  // For Staging, which alternates between two series
  //===--------------------------------------------------------------------===//

  /// Writes what the next upload brings to run `run` of series `series`.
  void write(uint32_t series, uint32_t run, const sinter_control &control,
             const int64_t *rows);
  /// Both sides of the upload of the first `runs` runs.
  struct Transfer {
    uint8_t *to;
    const uint8_t *from;
    uint64_t sizeBytes;
  };
  Transfer transfer(uint32_t series, uint32_t runs) const;
  uint32_t firstSlot(uint32_t series) const {
    return firstSlot_ + series * options_.mostRuns;
  }

private:
  DeviceData(Place &place, Executor &executor, const Options &options)
      : place_(place), executor_(executor), options_(options),
        firstSlot_(static_cast<uint32_t>(place.slots.size())) {}
  Result<uint8_t *> allocate(uint64_t sizeBytes, const char *purpose);
  Result<uint8_t *> allocateHost(uint64_t sizeBytes, const char *purpose);
  Status allocateColumns();
  Status addSlots(const sinter_artifact &artifact);
  std::vector<RowGather> gathersInto(uint8_t *inputs, const int64_t *rows);
  uint64_t rowBytes(uint32_t input) const;

  static constexpr uint32_t numSeries = 2;

  Place &place_;
  Executor &executor_;
  const Options options_;
  const uint32_t firstSlot_; // that this object adds
  int64_t batch_ = 0;
  std::vector<uint8_t *> columns_; // by input; null if its rows are empty
  uint64_t runBytes_ = 0;          // of an upload: control block, row numbers
  uint8_t *blocks_[numSeries] = {}, *hostBlocks_[numSeries] = {};
  std::vector<std::vector<RowGather>> gathers_; // by slot of a series
  uint64_t allocatedBytes_ = 0;                 // of device memory
  std::vector<void *> allocations_, hostAllocations_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_DEVICEDATA_H
